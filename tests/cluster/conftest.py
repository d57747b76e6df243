"""A Ray cluster of two nodes on this machine, on loopback, with a token."""

import os
import sys
from pathlib import Path

import fsspec
import pytest

from tests.cluster.bucket import BucketFileSystem

REPOSITORY = Path(__file__).parents[2]

ENTRY = "[fsspec.specs]\nbucket = tests.cluster.bucket:BucketFileSystem\n"
METADATA = "Metadata-Version: 2.1\nName: bucket\nVersion: 1.0\n"


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
    }
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    sys.path.insert(0, str(directory))
    # This process may have read the entry points of file systems already.
    fsspec.register_implementation(BucketFileSystem.protocol, BucketFileSystem, clobber=True)
    yield changes
    sys.path.remove(str(directory))
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


@pytest.fixture(scope="session")
def new_cluster(environment):
    """Start clusters: a head that takes no jobs, and two nodes."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415  (the variables come first)

    started = []

    def start(nodes=2, cpus=2):
        head = {"num_cpus": 0, "include_dashboard": False, "node_ip_address": "127.0.0.1"}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        started.append(cluster)
        for _ in range(nodes):
            cluster.add_node(num_cpus=cpus, node_ip_address="127.0.0.1")
        return cluster

    yield start
    for cluster in started:
        cluster.shutdown()


@pytest.fixture(scope="session")
def cluster(new_cluster):
    """The cluster that tests share which leave it as it is."""
    return new_cluster()
