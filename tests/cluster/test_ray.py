"""Jobs on a real Ray cluster of two nodes: done once, with the result of a local run."""

import re
import shutil
from pathlib import Path

import pytest

from cochef.agents import storage
from cochef.experiments.engines import LocalEngine
from cochef.experiments.jobs import JobStore, in_order
from cochef.experiments.shared_store import SharedStore
from cochef.learning.runs import CHECKPOINTS
from cochef.learning.writers import METRICS, read_metrics
from tests.cluster.conftest import REPOSITORY
from tests.cluster.processes import driver, finish, first_line, output, smoke
from tests.cluster.writing import diamond
from tests.learning.small_runs import bits
from tests.narrow_layout import NARROW

TIMES = ("done.json", "report.html", "report.md")  # files that say how long jobs took


@pytest.fixture
def settings(cluster, tmp_path):
    """What a driver of small jobs needs."""
    return {
        "address": cluster.address,
        "out": str(tmp_path / "out"),
        "scratch": str(tmp_path / "scratch"),
        "notes": str(tmp_path / "notes"),
    }


def words(settings):
    """The words of all attempts."""
    return sorted(line.split()[0] for line in Path(settings["notes"]).read_text().splitlines())


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


def test_two_drivers_on_one_store_do_no_job_twice(settings, tmp_path):
    store = str(tmp_path / "store")
    first = driver(settings, store=store, seconds=1.0)
    second = driver(settings, store=store, seconds=1.0, out=str(tmp_path / "other"))
    printed = [output(process)[0] for process in (first, second)]
    assert [text.splitlines()[-1] for text in printed] == ["abacd", "abacd"], printed
    assert words(settings) == ["a", "b", "c", "d"]
    assert [path.name for path in (tmp_path / "scratch").iterdir()] == [".lock"]


def test_jobs_that_were_finished_anywhere_are_not_done_again(settings, tmp_path):
    LocalEngine().run(
        in_order([diamond(notes=Path(settings["notes"]))]),
        JobStore(tmp_path / "out"),
        lambda _: [],
        lambda _: None,
    )
    store = f"bucket://{tmp_path.name}"
    assert finish(settings, store=store) == ("abacd", [])
    assert finish(settings, store=store, out=str(tmp_path / "new")) == ("abacd", [])
    assert words(settings) == ["a", "b", "c", "d"]


def test_a_job_for_the_driver_alone_is_given_to_no_node(settings):
    process = driver(settings, first_on_driver=True)
    printed = output(process)[0]
    assert printed.splitlines()[-1] == "abacd", printed
    places = dict(line.split() for line in Path(settings["notes"]).read_text().splitlines())
    assert places.pop("a") == str(process.pid)
    assert str(process.pid) not in places.values()


def test_an_error_in_a_job_names_the_job_and_what_was_wrong(settings):
    last, _ = finish(settings, error="the soup is cold")
    assert re.fullmatch(r"write-a-\w+ on \S+: the soup is cold", last)
    assert words(settings) == ["a"]


def test_a_node_with_other_code_is_refused(new_cluster, environment, settings, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(REPOSITORY / "src", other, ignore=shutil.ignore_patterns("data", "*.pyc"))
    (other / "cochef" / "__init__.py").write_text('"""Another one."""\n__version__ = "9.9"\n')
    cluster = new_cluster(nodes=0)
    paths = [str(other), environment["PYTHONPATH"]]
    cluster.add_node(
        num_cpus=1, node_ip_address="127.0.0.1", env_vars={"PYTHONPATH": ":".join(paths)}
    )
    own = r"driver has cochef 0\.\d+\.\d+ \(code"
    last, _ = finish(settings, address=cluster.address)
    assert re.search(rf"node \S+ has cochef 9\.9 \(code .*{own}", last), last
    assert not Path(settings["notes"]).exists()


def test_a_driver_says_that_no_node_is_large_enough_for_a_job(settings):
    line = first_line(driver(settings, cpus=99))
    assert line.startswith("WARNING: no node has 99 cores and 0.1 GiB of memory, as a job needs")


def test_a_driver_without_the_token_is_refused(settings, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "another token that is long enough to be one")
    last, _ = finish(settings)
    assert "the token must be that of its nodes" in last


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    path = tmp_path_factory.mktemp("layout") / "narrow.toml"
    path.write_text(NARROW)
    return path


@pytest.fixture(scope="module")
def local(environment, narrow, tmp_path_factory):
    root = tmp_path_factory.mktemp("local")
    smoke(narrow, root)
    return root


def test_nodes_exchange_what_they_make_through_a_bucket(settings, tmp_path):
    last, _ = finish(settings, store=f"bucket://{tmp_path.name}")
    assert last == "abacd"
    assert words(settings) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("kind", ["directory", pytest.param("bucket", marks=pytest.mark.long)])
def test_a_run_on_two_nodes_gives_the_bits_of_a_local_one(cluster, local, narrow, tmp_path, kind):
    store = {"directory": tmp_path / "store", "bucket": f"bucket://{tmp_path.name}"}[kind]
    where = ("--engine", "ray", "--address", cluster.address, "--store", store)
    logged = smoke(narrow, tmp_path / "out", *where, "--scratch", tmp_path / "scratch")
    expected = artefacts(local)
    assert len(expected) > 50
    found = artefacts(tmp_path / "out")
    assert found.keys() == expected.keys()
    assert [name for name in found if found[name] != expected[name]] == []
    assert "population-sp-narrow-01: 100%" in logged  # progress of the nodes, as lines
    report = next((tmp_path / "out" / "jobs").glob("report-*")) / "report.md"
    assert f"--agents {tmp_path / 'out' / 'jobs' / 'agents-'}" in report.read_text()
    assert SharedStore(str(store)).is_complete(report.parent.name)
