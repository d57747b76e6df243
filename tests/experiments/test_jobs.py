"""Jobs are done once, in order, by one process, and resume where they were."""

import json
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

from cochef import provenance
from cochef.errors import InputError
from cochef.experiments.engines import LocalEngine
from cochef.experiments.jobs import Job, JobStore, in_order, statuses

LOG = []


@dataclass(frozen=True)
class WriteWord:
    """A stage that writes the text of its inputs, and a word, to a file."""

    word: str
    config: dict = field(default_factory=dict)
    fails: bool = False
    kind: str = "write"
    version: int = 1

    def run(self, context):
        LOG.append(self.word)
        before = "".join((path / "text").read_text() for path in context.inputs.values())
        if self.fails:
            raise KeyboardInterrupt
        (context.directory / "text").write_text(before + self.word)


@pytest.fixture(autouse=True)
def log():
    LOG.clear()
    return LOG


def run(goal, root):
    LocalEngine().run(in_order([goal]), JobStore(root), lambda _: [], lambda _: None)


def graph(fails=False, **config):
    first = Job(WriteWord("a", config), "a")
    shared = Job(WriteWord("b", {"of": 1}), "b", {"first": first})
    other = Job(WriteWord("c", {"of": 2}), "c", {"first": first})
    return Job(WriteWord("d", fails=fails), "d", {"left": shared, "right": other})


def test_every_job_is_done_once_after_its_inputs(tmp_path, log):
    run(graph(), tmp_path)
    assert log == ["a", "b", "c", "d"]
    assert (JobStore(tmp_path).directory(graph()) / "text").read_text() == "abacd"


def test_what_is_done_is_not_done_again(tmp_path, log):
    run(graph(), tmp_path)
    run(graph(), tmp_path)
    assert log == ["a", "b", "c", "d"]


def test_another_setting_makes_another_job_of_all_that_depend_on_it(tmp_path, log):
    run(graph(), tmp_path)
    run(graph(x=1), tmp_path)
    assert log == ["a", "b", "c", "d"] * 2
    assert graph().address != graph(x=1).address


def test_another_version_of_the_stage_makes_another_job():
    assert Job(WriteWord("a"), "a").address != Job(WriteWord("a", version=2), "a").address


def test_jobs_that_are_the_same_are_shared_between_goals(log):
    assert [job.stage.word for job in in_order([graph(), graph()])] == ["a", "b", "c", "d"]


def test_after_a_stop_only_what_is_left_is_done(tmp_path, log):
    with pytest.raises(KeyboardInterrupt):
        run(graph(fails=True), tmp_path)
    run(graph(), tmp_path)
    assert log == ["a", "b", "c", "d", "d"]


def test_the_statuses_show_what_is_done_and_what_waits(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(Job(WriteWord("e"), "e", {"before": graph(fails=True)}), tmp_path)
    rows = statuses(tmp_path)
    assert [row.state for row in rows] == ["done", "done", "done", "begun", "waiting"]
    assert [len(row.inputs) for row in rows] == [0, 1, 1, 2, 1]


def test_the_statuses_of_nothing_say_so(tmp_path):
    with pytest.raises(InputError, match="no jobs in it"):
        statuses(tmp_path)


def test_the_end_of_a_job_says_which_commit_ran_it(tmp_path):
    run(graph(), tmp_path)
    end = json.loads((JobStore(tmp_path).directory(graph()) / "done.json").read_text())
    assert end["commit"] == provenance.commit()


def test_a_damaged_end_is_named(tmp_path):
    run(graph(), tmp_path)
    path = JobStore(tmp_path).directory(graph()) / "done.json"
    path.write_text("{")
    with pytest.raises(InputError, match=r"done\.json: damaged"):
        run(graph(), tmp_path)


def test_a_second_process_on_the_same_directory_says_so(tmp_path):
    program = """
import sys, pathlib
from cochef.experiments.jobs import JobStore
JobStore(pathlib.Path(sys.argv[1])).alone().__enter__()
"""
    with JobStore(tmp_path).alone():
        command = [sys.executable, "-c", program, tmp_path]
        other = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "another process runs jobs here" in other.stderr
