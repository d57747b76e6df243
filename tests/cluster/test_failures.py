"""Workers, nodes and drivers die in the middle; every run ends with the same result."""

import json
import os
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from cochef.experiments import claims
from cochef.experiments.shared_store import SharedStore
from tests.cluster.test_ray import artefacts, driver, finish, local, narrow, smoke, smoke_process

__all__ = ["local", "narrow"]  # fixtures

pytestmark = pytest.mark.long

JOBS = 8
ROUNDS = 20
RESULT = "".join(f"{number:03}" for number in range(JOBS)) + "end"


def settings_in(directory, cluster):
    return {
        "address": cluster.address,
        "out": str(directory / "out"),
        "scratch": str(directory / "scratch"),
        "notes": str(directory / "notes"),
        "many": JOBS,
        "seconds": 1.0,
        "lease": 5.0,
    }


def attempts(settings):
    """Words and processes of all attempts so far."""
    path = Path(settings["notes"])
    if not path.exists():
        return []
    return [tuple(line.split()) for line in path.read_text().splitlines() if " " in line]


def wait_for(settings, number, process):
    while len(attempts(settings)) < number:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)


def test_killed_workers_and_lost_nodes_are_replaced(new_cluster, tmp_path):
    cluster = new_cluster()
    nodes = list(cluster.worker_nodes)
    moments = np.random.default_rng(0)
    repeated = 0
    started = time.monotonic()
    for number in range(ROUNDS):
        directory = tmp_path / str(number)
        directory.mkdir()
        settings = settings_in(directory, cluster)
        process = driver(settings)
        wait_for(settings, int(moments.integers(1, JOBS)), process)
        time.sleep(moments.uniform(0, 0.8))
        if number % 2:
            cluster.remove_node(nodes.pop(0), allow_graceful=False)
            nodes.append(cluster.add_node(num_cpus=2, node_ip_address="127.0.0.1"))
        else:
            os.kill(int(attempts(settings)[-1][1]), signal.SIGKILL)
        printed = process.communicate(timeout=180)[0]
        assert printed.splitlines()[-1] == RESULT, printed
        counts = Counter(word for word, _ in attempts(settings))
        assert counts.keys() == {*(f"{word:03}" for word in range(JOBS)), "end"}
        # What died with a node of two cores, or with a worker, was tried once more.
        assert max(counts.values()) <= 2
        assert sum(counts.values()) <= JOBS + 1 + 2
        repeated += sum(counts.values()) - JOBS - 1
        shared = SharedStore(str(directory / "out" / "store"))
        names = [path.name for path in (directory / "out" / "jobs").iterdir()]
        # An attempt may die after its claim and before its work.
        claimed = sum(claims.attempts(shared, name) for name in names)
        assert sum(counts.values()) <= claimed <= JOBS + 1 + 2
        print(f"run {number}: {sum(counts.values())} attempts, {claimed} claims", flush=True)
    print(
        f"\n{ROUNDS} runs of {JOBS + 1} jobs, each with a worker or a node lost: "
        f"{repeated} jobs repeated, {time.monotonic() - started:.0f} seconds"
    )


def test_a_killed_driver_continues_when_it_is_started_again(new_cluster, tmp_path):
    cluster = new_cluster()
    settings = settings_in(tmp_path, cluster)
    first = driver(settings)
    wait_for(settings, 5, first)
    first.kill()
    first.communicate()
    before = attempts(settings)
    last, _ = finish(settings)
    assert last == RESULT
    counts = Counter(word for word, _ in attempts(settings))
    # Only what the killed driver had running was done again: four cores.
    assert sum(counts.values()) <= JOBS + 1 + 4
    assert len(before) < sum(counts.values())


def test_a_hundred_jobs_of_a_second_keep_two_cores_busy(new_cluster, tmp_path):
    cluster = new_cluster(nodes=2, cpus=1)
    settings = settings_in(tmp_path, cluster) | {"many": 100}
    started = time.monotonic()
    process = driver(settings)
    wait_for(settings, 1, process)
    first = time.monotonic()
    printed = process.communicate()[0]
    ended = time.monotonic()
    assert printed.splitlines()[-1].endswith("099end")
    print(
        f"\n100 jobs of a second on two cores: {ended - first:.1f} seconds after the first began, "
        f"{ended - started:.1f} with the driver's start; ideal 50"
    )
    assert ended - first <= 1.25 * 50


def test_a_training_whose_worker_is_killed_ends_with_the_same_bits(
    new_cluster, local, narrow, tmp_path
):
    cluster = new_cluster()
    out = tmp_path / "out"
    where = ("--engine", "ray", "--address", cluster.address, "--scratch", tmp_path / "scratch")
    process = smoke_process(narrow, out, *where)
    killed = 0
    for kind in ("shard-population", "shard-agents"):
        # A claim names the process that holds it.
        found = None
        while found is None:
            assert process.poll() is None, process.communicate()
            found = holder(out / "store", kind)
            time.sleep(0.05)
        time.sleep(1.0)
        with suppress(ProcessLookupError):
            os.kill(found, signal.SIGKILL)
            killed += 1
    logged = process.communicate(timeout=400)[1]
    assert process.returncode == 0, logged
    assert killed
    assert artefacts(out) == artefacts(local)


def holder(store, kind):
    """The process that works at a job of some kind and is not done."""
    for claim in sorted(store.glob(f"jobs/{kind}*/claims/*")):
        if not (claim.parents[1] / "complete.json").exists():
            with suppress(ValueError):  # just being written
                return json.loads(claim.read_text())["process"]
    return None


def test_a_smoke_run_takes_little_longer_than_a_local_one(new_cluster, narrow, tmp_path):
    """On the same cores, without the start of the cluster; the programs are compiled before."""
    cluster = new_cluster(nodes=1)
    smoke(narrow, tmp_path / "warm")
    times = {"local": [], "ray": []}
    for number in range(2):
        for name, where in (
            ("local", ()),
            ("ray", ("--engine", "ray", "--address", cluster.address)),
        ):
            started = time.monotonic()
            smoke(narrow, tmp_path / f"{name}{number}", *where)
            times[name].append(time.monotonic() - started)
    print(f"\na smoke run: local {min(times['local']):.1f} s, on Ray {min(times['ray']):.1f} s")
    assert min(times["ray"]) <= 1.5 * min(times["local"])
