"""Workers, nodes and drivers die in the middle; every run ends with the same result."""

import json
import os
import re
import signal
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cochef.experiments import claims
from cochef.experiments.shared_store import SharedStore
from tests.cluster.conftest import add_node
from tests.cluster.driver import training
from tests.cluster.processes import driver, finish, output, smoke, smoke_process, wait_until
from tests.cluster.test_ray import artefacts
from tests.learning.small_runs import outcome

pytestmark = pytest.mark.long

JOBS = 8
PARTS = 4  # of the test with many losses, so that each takes a few minutes
ROUNDS = 5  # in each of them
RESULT = "".join(f"{number:03}" for number in range(JOBS)) + "end"
TRAINING_STEPS = 800_000  # some 20 seconds on two idle cores


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
    def begun():
        return len(attempts(settings)) >= number

    wait_until(begun, process, f"{number} jobs have begun")


@pytest.fixture(scope="module")
def own_cluster(new_cluster):
    """A cluster whose nodes may be lost."""
    return new_cluster()


@pytest.mark.parametrize("part", range(PARTS))
def test_killed_workers_and_lost_nodes_are_replaced(own_cluster, tmp_path, part):
    moments = np.random.default_rng(part)
    repeated = 0
    started = time.monotonic()
    for number in range(part * ROUNDS, (part + 1) * ROUNDS):
        directory = tmp_path / str(number)
        directory.mkdir()
        settings = settings_in(directory, own_cluster)
        process = driver(settings)
        wait_for(settings, int(moments.integers(1, JOBS)), process)
        time.sleep(moments.uniform(0, 0.8))
        if number % 2:
            lose_a_node(own_cluster)
        else:
            os.kill(int(attempts(settings)[-1][1]), signal.SIGKILL)
        printed = output(process)[0]
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
        lost = "a node" if number % 2 else "a worker"
        print(f"run {number}, {lost} lost: {sum(counts.values())} attempts, {claimed} claims")
    print(
        f"{ROUNDS} runs of {JOBS + 1} jobs: {repeated} jobs repeated, "
        f"{time.monotonic() - started:.0f} seconds"
    )


def lose_a_node(cluster):
    """Kill a node that takes jobs, and start another one."""
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
    add_node(cluster, num_cpus=2)


def test_a_driver_does_without_a_node_that_was_lost_before_it_came(own_cluster, tmp_path):
    """Ray may take some seconds to see that a node is gone."""
    lose_a_node(own_cluster)
    last, _ = finish(settings_in(tmp_path, own_cluster))
    assert last == RESULT


def test_a_job_that_is_killed_for_want_of_memory_is_not_tried_without_end(new_cluster, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_memory_usage_threshold", "0.01")  # there is never enough
        patch.setenv("RAY_memory_monitor_refresh_ms", "5000")  # between two looks, kills the rest
        cluster = new_cluster(head_cpus=1, nodes=0)
    settings = settings_in(tmp_path, cluster) | {"many": 1, "seconds": 15.0, "retries": 1}
    last, _ = finish(settings)
    assert re.search(
        r"were killed due to the node running low on memory, also when .*--job-mem", last
    )
    assert len(attempts(settings)) <= 2


def test_a_killed_driver_continues_when_it_is_started_again(own_cluster, tmp_path):
    settings = settings_in(tmp_path, own_cluster)
    first = driver(settings)
    wait_for(settings, 5, first)
    first.kill()
    output(first)
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
    printed = output(process)[0]
    ended = time.monotonic()
    assert printed.splitlines()[-1].endswith("099end")
    print(
        f"\n100 jobs of a second on two cores: {ended - first:.1f} seconds after the first began, "
        f"{ended - started:.1f} with the driver's start; ideal 50"
    )
    assert ended - first <= 1.25 * 50


def test_a_training_whose_worker_is_killed_ends_with_the_same_bits(
    own_cluster, local, narrow, tmp_path
):
    """Two trainings of a whole run, whose workers are killed as soon as they have them."""
    out = tmp_path / "out"
    scratch = tmp_path / "scratch"
    where = ("--engine", "ray", "--address", own_cluster.address, "--scratch", scratch)
    process = smoke_process(narrow, out, *where)
    for kind in ("shard-population", "shard-agents"):
        wait_until(partial(kill_holder, out / "store", kind), process, f"{kind} was killed")
    logged = output(process)[1]
    assert process.returncode == 0, logged
    assert artefacts(out) == artefacts(local)


def test_a_killed_training_resumes_from_its_last_copy_in_the_store(own_cluster, tmp_path):
    settings = settings_in(tmp_path, own_cluster)
    settings |= {"training": TRAINING_STEPS, "progress_seconds": 2.0, "cpus": 2}
    job = training(TRAINING_STEPS)
    process = driver(settings)
    stored = tmp_path / "out" / "store" / "jobs" / job.name

    def has_checkpoint():
        lists = stored.glob("progress/*/complete.json")
        return any("checkpoints/" in path.read_text() for path in lists)

    wait_until(has_checkpoint, process, "a checkpoint is in the store")
    assert kill_holder(tmp_path / "out" / "store", job.name)
    printed = output(process)[0]
    assert "resuming after iteration" in printed
    assert claims.attempts(SharedStore(str(stored.parents[1])), job.name) == 2
    del settings["address"]
    finish(settings, out=str(tmp_path / "local"))
    found, expected = (tmp_path / name / "jobs" / job.name for name in ("out", "local"))
    assert outcome(found) == outcome(expected)
    print(re.findall("resuming after iteration .*", printed)[0])


def kill_holder(store, kind):
    """Kill the process that works at a job of some kind that is not done; whether there was one."""
    for claim in sorted(store.glob(f"jobs/{kind}*/claims/*")):
        if not (claim.parents[1] / "complete.json").exists():
            # It may be being written, or its process may just have ended.
            with suppress(ValueError, ProcessLookupError):
                os.kill(json.loads(claim.read_text())["process"], signal.SIGKILL)
                return True
    return False


def test_a_smoke_run_takes_little_longer_than_a_local_one(new_cluster, narrow, tmp_path):
    """On the same cores, without the start of the cluster; the programs are compiled before."""
    cluster = new_cluster(nodes=1)
    smoke(narrow, tmp_path / "warm")
    times = {"local": [], "ray": []}
    for number in range(3):
        for name, where in (
            ("local", ()),
            ("ray", ("--engine", "ray", "--address", cluster.address)),
        ):
            started = time.monotonic()
            smoke(narrow, tmp_path / f"{name}{number}", *where)
            times[name].append(time.monotonic() - started)
    print(f"\na smoke run: local {min(times['local']):.1f} s, on Ray {min(times['ray']):.1f} s")
    assert min(times["ray"]) <= 1.5 * min(times["local"])
