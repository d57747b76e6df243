"""Jobs on a real Ray cluster of two nodes: done once, with the result of a local run."""

import json
import os
import re
import shutil
from pathlib import Path

import psutil
import pytest

from cochef.agents import storage
from cochef.experiments.engines import LocalEngine
from cochef.experiments.jobs import JobStore, in_order
from cochef.experiments.shared_store import SharedStore
from cochef.learning.runs import CHECKPOINTS
from cochef.learning.writers import METRICS, read_metrics
from tests.cluster.processes import (
    REPOSITORY,
    driver,
    finish,
    output,
    smoke_words,
    wait_until,
)
from tests.cluster.writing import diamond
from tests.learning.small_runs import bits

TIMES = ("done.json", "report.html", "report.md")  # files that say how long jobs took


@pytest.fixture
def settings(cluster, tmp_path):
    """What a driver of small jobs needs."""
    return settings_in(tmp_path) | {"address": cluster.address}


def settings_in(directory):
    names = ("out", "scratch", "notes")
    return {name: str(directory / name) for name in names}


def attempts(settings):
    """Words and processes of all attempts."""
    path = Path(settings["notes"])
    return [tuple(line.split()) for line in path.read_text().splitlines()] if path.exists() else []


def words(settings):
    """The words of all attempts."""
    return sorted(word for word, _ in attempts(settings))


def artefacts(root):
    """All that jobs made, without times."""
    found = {}
    for path in sorted((root / "jobs").rglob("*")):
        if not path.is_file() or path.name.startswith(".") or path.name in TIMES:
            continue
        if path.parent.name == CHECKPOINTS and path != max(path.parent.iterdir()):
            continue  # when one is written before the last depends on the time
        name = str(path.relative_to(root))
        if path.name == METRICS:
            lines = read_metrics(path.parent)
            found[name] = [{**line, "seconds": 0} for line in lines]
        elif path.suffix == storage.SUFFIX:
            found[name] = bits(path)
        else:
            found[name] = path.read_bytes()
    return found


def test_two_drivers_on_one_store_do_no_job_twice(drivers, settings, tmp_path):
    store = str(tmp_path / "store")
    other = driver(settings, store=store, seconds=1.0, out=str(tmp_path / "other"))
    wait_until(lambda: attempts(settings), other, "the first job has begun")
    own = drivers.drive(settings, store=store, seconds=1.0)
    printed = output(other)[0].splitlines()
    assert (own.get("last"), printed[-1]) == ("abacd", "abacd"), (own, printed)
    assert words(settings) == ["a", "b", "c", "d"]
    assert [path.name for path in (tmp_path / "scratch").iterdir()] == [".lock"]


def test_jobs_that_were_finished_anywhere_are_not_done_again(drivers, settings, tmp_path):
    LocalEngine().run(
        in_order([diamond(notes=Path(settings["notes"]))]),
        JobStore(tmp_path / "out"),
        lambda _: [],
        lambda _: None,
    )
    store = f"bucket://{tmp_path.name}"
    for out in ("out", "new"):
        found = drivers.drive(settings, store=store, out=str(tmp_path / out))
        assert found == {"last": "abacd", "logged": []}
    assert words(settings) == ["a", "b", "c", "d"]


def test_a_job_for_the_driver_alone_is_given_to_no_node(drivers, settings):
    found = drivers.drive(settings, first_on_driver=True)
    assert found.get("last") == "abacd", found
    places = dict(attempts(settings))
    assert places.pop("a") == str(drivers.pid)
    assert str(drivers.pid) not in places.values()


def test_an_error_in_a_job_names_the_job_and_what_was_wrong(drivers, settings):
    found = drivers.drive(settings, error="the soup is cold")
    assert re.fullmatch(r"write-a-\w+ on \S+: the soup is cold", found["error"])
    assert words(settings) == ["a"]


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        ("read-only", r"the store cannot be written \(PermissionError"),
        ("full", r"the store cannot be written \(OSError: No space left on device\)"),
        ("cut short", r"of \d+ bytes of \S+ only 200 are stored"),
    ],
)
def test_storage_that_fails_is_a_clear_error_and_nothing_of_it_is_read(
    drivers, settings, bucket_failure, tmp_path, failure, reason
):
    store = f"bucket://{tmp_path.name}"
    bucket_failure.write_text(failure)
    found = drivers.drive(settings, store=store)
    assert re.match(rf"write-a-\w+ on \S+: {store}: {reason}.* to resume$", found["error"])
    assert not list((tmp_path / "out" / "jobs").rglob("text"))
    bucket_failure.unlink()
    found = drivers.drive(settings, store=store)
    assert found.get("last") == "abacd", found
    found = drivers.drive(settings, store=store, out=str(tmp_path / "new"))
    assert found == {"last": "abacd", "logged": []}


def test_a_driver_says_that_no_node_is_large_enough_for_a_job(drivers, settings):
    (line,) = drivers.drive(settings, cpus=99, until="WARNING")["logged"]
    assert line.startswith("WARNING: no node has 99 cores and 0.1 GiB of memory, as a job needs")


def test_a_process_that_is_connected_to_one_cluster_uses_no_other(
    drivers, cluster, narrow, tmp_path
):
    words = smoke_words(narrow, tmp_path, "--engine", "ray", "--address", "127.0.0.1:1")
    code, printed = drivers.command(words, cluster.address)
    assert code == 2
    reason = f"this process is connected to {cluster.address} already"
    assert f"address is 127.0.0.1:1, but {reason}" in " ".join(printed.split())


def test_a_driver_without_the_token_is_refused(settings, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "another token that is long enough to be one")
    monkeypatch.setenv("RAY_NUM_REDIS_GET_RETRIES", "2")  # a second apart, if no head answers
    last, _ = finish(settings)
    assert "the token must be that of its nodes" in last


def test_a_cluster_of_ones_own_is_closed_to_others(environment, tmp_path, monkeypatch):
    """It listens on loopback, and has a token that no file holds."""
    monkeypatch.delenv("RAY_AUTH_MODE")
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = settings_in(tmp_path) | {"address": None, "seconds": 1.0}
    process = driver(settings)
    wait_until(lambda: attempts(settings), process, "the first job has begun")
    processes = psutil.Process(process.pid).children(recursive=True)
    (raylet,) = [child for child in processes if child.name() == "raylet"]
    listening = [
        connection.laddr.ip
        for child in processes
        for connection in child.net_connections()
        if connection.status == psutil.CONN_LISTEN
    ]
    variables = raylet.environ()
    printed = output(process)[0]
    assert printed.splitlines()[-1] == "abacd", printed
    assert "WARNING" not in printed
    assert listening
    assert set(listening) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert variables["RAY_AUTH_MODE"] == "token"
    assert len(variables["RAY_AUTH_TOKEN"]) == 64
    assert not (tmp_path / ".ray" / "auth_token").exists()


@pytest.mark.parametrize("kind", ["directory", "bucket"])
def test_a_run_on_two_nodes_gives_the_bits_of_a_local_one(
    cluster, drivers, local, narrow, tmp_path, kind
):
    store = {"directory": str(tmp_path / "store"), "bucket": f"bucket://{tmp_path.name}"}[kind]
    where = ("--store", store, "--job-cpus", 2, "--scratch", tmp_path / "scratch")
    out = tmp_path / "out"
    logged = drivers.smoke(narrow, out, *where, address=cluster.address)
    expected = artefacts(local)
    assert len(expected) > 50
    found = artefacts(out)
    assert found.keys() == expected.keys()
    assert [name for name in found if found[name] != expected[name]] == []
    assert "population-sp-narrow-01: 100%" in logged  # progress of the nodes, as lines
    report = next((out / "jobs").glob("report-*")) / "report.md"
    assert f"--agents {out / 'jobs' / 'agents-'}" in report.read_text()
    shared = SharedStore(store)
    assert shared.is_complete(report.parent.name)
    # A node has room for one of these jobs at a time.
    shards = [path.name for path in (out / "jobs").glob("shard-population-*")]
    claimed = [json.loads(shared.read(shared.path(name, "claims", "000001"))) for name in shards]
    assert len({claim["process"] for claim in claimed}) == len(shards) == 2


@pytest.fixture(scope="module")
def open_cluster(new_cluster, environment, tmp_path_factory):
    """A node with other code, that asks nobody for a token."""
    other = tmp_path_factory.mktemp("other") / "src"
    shutil.copytree(REPOSITORY / "src", other, ignore=shutil.ignore_patterns("data", "*.pyc"))
    (other / "cochef" / "__init__.py").write_text('"""Another one."""\n__version__ = "9.9"\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(other), environment["PYTHONPATH"]]))
        return new_cluster(head_cpus=1, nodes=0)


def test_a_driver_warns_of_an_open_cluster_and_refuses_a_node_with_other_code(
    drivers, open_cluster, tmp_path
):
    settings = settings_in(tmp_path) | {"address": open_cluster.address}
    found = drivers.drive(settings)
    own = r"driver has cochef 0\.\d+\.\d+ \(code"
    assert re.search(rf"node \S+ has cochef 9\.9 \(code .*{own}", found["error"])
    (line,) = found["logged"]
    assert line.startswith("WARNING: the cluster listens on 127.0.0.1 and asks nobody for a token")
    assert not words(settings)
