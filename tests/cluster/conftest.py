"""Ray clusters on this machine, on loopback, with a token; and a local run to compare with."""

import os
from pathlib import Path

import fsspec
import pytest

from tests.cluster.bucket import BucketFileSystem
from tests.cluster.processes import REPOSITORY, Drivers
from tests.narrow_layout import NARROW

ENTRY = "[fsspec.specs]\nbucket = tests.cluster.bucket:BucketFileSystem\n"
METADATA = "Metadata-Version: 2.1\nName: bucket\nVersion: 1.0\n"
NODE = {"node_ip_address": "127.0.0.1", "include_log_monitor": False}


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """Variables that drivers and nodes share."""
    directory = tmp_path_factory.mktemp("environment")
    # As if a package with this file system were installed.
    installed = directory / "bucket-1.0.dist-info"
    installed.mkdir()
    (installed / "entry_points.txt").write_text(ENTRY)
    (installed / "METADATA").write_text(METADATA)
    paths = [str(directory), str(REPOSITORY), str(REPOSITORY / "src")]
    changes = {
        "PYTHONPATH": os.pathsep.join(paths),
        "BUCKET": str(directory / "bucket.sqlite"),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": "a token for tests, longer than thirty-two letters",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_worker_niceness": "0",  # else everything else on this machine goes first
        "RAY_prestart_worker_first_driver": "0",  # only the workers that are needed
        "RAY_num_workers_soft_limit": "8",  # those stay, with what they have compiled
        # Else workers are killed when other tests need the machine's memory.
        "RAY_memory_monitor_refresh_ms": "0",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in changes.items():
            patch.setenv(name, value)
        patch.syspath_prepend(str(directory))
        # This process may have read the entry points of file systems already.
        fsspec.register_implementation(BucketFileSystem.protocol, BucketFileSystem, clobber=True)
        yield changes


@pytest.fixture
def bucket_failure(environment):
    """What the bucket does wrong from now on; the nodes see it, too."""
    path = Path(f"{environment['BUCKET']}.failure")
    yield path
    path.unlink(missing_ok=True)


def add_node(cluster, **settings):
    """Add a node; on a busy machine Ray may give up after 30 seconds."""
    for _ in range(3):
        try:
            return cluster.add_node(**NODE, **settings)
        except Exception as error:  # Ray has no type of its own for it
            if "timed out during startup" not in str(error):
                raise
            failure = error
    raise failure


@pytest.fixture(scope="session")
def new_cluster(environment):
    """Start clusters: a head, and nodes."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415  (the variables come first)

    started = []

    def start(head_cpus=0, nodes=2, cpus=2):
        cluster = Cluster()
        started.append(cluster)
        add_node(cluster, num_cpus=head_cpus, include_dashboard=False, no_monitor=True)
        for _ in range(nodes):
            add_node(cluster, num_cpus=cpus)
        return cluster

    yield start
    for cluster in started:
        cluster.shutdown()


@pytest.fixture(scope="session")
def cluster(new_cluster):
    """The two nodes that tests share which leave them as they are."""
    return new_cluster(head_cpus=2, nodes=1)


@pytest.fixture(scope="session")
def drivers(new_cluster):
    """One driver after the other; they end before the clusters."""
    with Drivers() as started:
        yield started


@pytest.fixture(scope="session")
def narrow(tmp_path_factory):
    """The file of a tiny layout."""
    path = tmp_path_factory.mktemp("layout") / "narrow.toml"
    path.write_text(NARROW)
    return path


@pytest.fixture(scope="session")
def local(drivers, narrow, tmp_path_factory):
    """Where a local run has all its jobs."""
    root = tmp_path_factory.mktemp("local")
    drivers.smoke(narrow, root, "--job-cpus", 2)
    return root
