"""Training on disk: what a run leaves behind, and that no accident changes what it ends with."""

import os
import resource
import shutil
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from cochef.agents import storage
from cochef.agents.actor_critic import Trained
from cochef.agents.names import load
from cochef.errors import InputError
from cochef.experiments.populations import population
from cochef.kitchen.constants import Event
from cochef.learning import runs, snapshots
from cochef.learning.config import Schedule
from cochef.methods.fcp import skill_levels
from tests.learning.small_runs import LAYOUT, outcome

ITERATIONS = 12


class StoppedError(Exception):
    """What a run was stopped with."""


class At:
    """A sink that does something at an iteration."""

    def __init__(self, iteration, act):
        self.iteration, self.act = iteration, act

    def begin(self, about):
        pass

    def write(self, line):
        if line["iteration"] == self.iteration:
            self.act()

    def end(self):
        pass


def stop():
    raise StoppedError


def members(method="hsp", seed=0, **changes):
    found = population(method, LAYOUT, "smoke", seed, members=2)
    return replace(found, config=replace(found.config, **changes))


def train(directory, who=None, sinks=(), told=None, checkpoint_seconds=0.0):
    who = who or members()
    tell = (lambda text: None) if told is None else told.append
    return runs.train(who.trainer, directory, who.about, sinks, checkpoint_seconds, tell)


def stopped(directory, iteration, who=None):
    """A run that was stopped in an iteration; the ones before are checkpointed."""
    with pytest.raises(StoppedError):
        train(directory, who, [At(iteration, stop)])
    return directory


def newest(directory):
    return max((directory / "checkpoints").iterdir())


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run that nothing disturbed."""
    directory = tmp_path_factory.mktemp("undisturbed") / "run"
    train(directory, checkpoint_seconds=1e9)
    return directory


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """A run that was stopped in its seventh iteration."""
    return stopped(tmp_path_factory.mktemp("interrupted") / "run", 7)


@pytest.fixture
def halfway(interrupted, tmp_path):
    """A copy of it."""
    return shutil.copytree(interrupted, tmp_path / "run")


def test_a_run_leaves_its_configuration_metrics_snapshots_and_agents(finished):
    there = sorted(str(path.relative_to(finished)) for path in finished.rglob("*") if path.is_file())
    agents = [f"agents/{member}-{learner}.safetensors" for member in ("00", "01") for learner in ("biased", "partner")]
    shots = [f"snapshots/{number:07}.safetensors" for number in (1, 5, 8, 12)]
    rest = [".lock", "checkpoints/0000012.safetensors", "config.json", "metrics.jsonl"]
    assert there == sorted([*agents, *shots, *rest])


def test_the_configuration_is_resolved(finished):
    about = runs.configuration(finished)
    assert about == members().about
    assert about["training"]["network"]["eyes"] == "compact"
    assert about["fingerprint"] == LAYOUT.fingerprint
    assert len(about["hidden"]) == about["members"] == 2


def test_metrics_have_a_line_an_iteration(finished):
    lines = runs.metrics(finished)
    assert [line["iteration"] for line in lines] == list(range(1, ITERATIONS + 1))
    assert [line["steps"] for line in lines[:2]] == [320, 640]
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds)
    for line in lines:
        assert np.shape(line["task"]) == (2,)
        assert np.shape(line["reward"]) == (2, 2)
        assert np.shape(line["events"]) == (2, 2, len(Event))
        assert np.isfinite(list(line["update"].values())).all()
        assert line["update"]["entropy"] > 1.0


def test_a_snapshot_says_what_was_earned_since_the_one_before(finished):
    lines, shots = runs.metrics(finished), snapshots.read(finished / runs.SNAPSHOTS)
    assert [shot.iteration for shot in shots] == [1, 5, 8, 12]
    for before, shot in zip((0, 1, 5, 8), shots, strict=True):
        since = lines[before : shot.iteration]
        np.testing.assert_allclose(shot.returns, np.mean([line["task"] for line in since], axis=0))
        np.testing.assert_allclose(shot.events, np.mean([line["events"] for line in since], axis=0))
        assert shot.steps == 320 * shot.iteration


def test_agents_of_a_run_are_loaded_by_name_and_are_those_of_the_last_snapshot(finished):
    last = snapshots.read(finished / runs.SNAPSHOTS)[-1]
    for learner, name in enumerate(runs.LEARNERS):
        agent = load(str(finished / "agents" / f"01-{name}"), LAYOUT)
        assert isinstance(agent, Trained)
        kept = snapshots.load(last.path, LAYOUT, 1, learner)
        np.testing.assert_array_equal(agent.network.layers[0].weight, kept.network.layers[0].weight)


def test_an_agent_says_who_it_is(finished):
    card, _ = storage.read(finished / "agents" / "01-biased.safetensors")
    about = runs.configuration(finished)
    last = snapshots.read(finished / runs.SNAPSHOTS)[-1]
    assert card.about == {
        "method": "hsp",
        "preset": "smoke",
        "seed": 0,
        "member": 1,
        "learner": "biased",
        "hidden": about["hidden"][1],
        "return": last.returns[1],
    }


def test_a_member_that_is_not_there_is_an_error(finished):
    path = snapshots.read(finished / runs.SNAPSHOTS)[0].path
    with pytest.raises(InputError, match="no learner 0 of member 2; it has 2 of 2 members"):
        snapshots.load(path, LAYOUT, 2)
    with pytest.raises(InputError, match="not a snapshot"):
        snapshots.load(finished / "agents" / "00-biased.safetensors", LAYOUT, 0)


def test_a_finished_run_is_left_alone(finished):
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*") if path.is_file() and path.name != ".lock"}
    told = []
    train(finished, told=told)
    assert told == [f"{finished}: finished already, nothing to do"]
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_the_same_seed_gives_the_same_run_and_another_seed_another(finished, tmp_path):
    train(tmp_path / "same")
    assert outcome(tmp_path / "same") == outcome(finished)
    train(tmp_path / "other", members(seed=1))
    assert outcome(tmp_path / "other")[1] != outcome(finished)[1]


def test_the_last_two_checkpoints_are_kept(interrupted):
    assert sorted(path.name[:7] for path in (interrupted / "checkpoints").iterdir()) == ["0000005", "0000006"]


@pytest.mark.parametrize("iteration", [1, 2, ITERATIONS])
def test_a_stopped_run_ends_as_if_it_had_not_been_stopped(finished, tmp_path, iteration):
    told = []
    train(stopped(tmp_path, iteration), told=told)
    assert told == ([f"{tmp_path}: going on after iteration {iteration - 1}"] if iteration > 1 else [])
    assert outcome(tmp_path) == outcome(finished)


def test_agents_that_were_not_written_any_more_are_written_later(finished, tmp_path):
    again = shutil.copytree(finished, tmp_path / "run")
    (again / "agents" / "01-partner.safetensors").unlink()
    train(again)
    assert outcome(again) == outcome(finished)


def cut(content):
    return content[: len(content) // 2]


def flip(content):
    return content[:-100] + bytes([content[-100] ^ 4]) + content[-99:]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (cut, "cut short"),
        (flip, "damaged, its checksum does not match"),
        (lambda content: b"", "not an agent file"),
    ],
)
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_is_used(finished, halfway, damage, reason):
    path = newest(halfway)
    path.write_bytes(damage(path.read_bytes()))
    told = []
    train(halfway, told=told)
    assert str(path) in told[0]
    assert reason in told[0]
    assert told[1] == f"{halfway}: going on after iteration 5"
    assert outcome(halfway) == outcome(finished)


def test_without_any_good_checkpoint_a_run_begins_anew(finished, halfway):
    for path in (halfway / "checkpoints").iterdir():
        path.write_bytes(flip(path.read_bytes()))
    told = []
    train(halfway, told=told)
    assert len(told) == 2
    assert outcome(halfway) == outcome(finished)


def test_after_beginning_anew_what_is_checkpointed_is_kept(finished, halfway):
    for path in (halfway / "checkpoints").iterdir():
        path.write_bytes(flip(path.read_bytes()))
    stopped(halfway, 4)
    assert sorted(path.name[:7] for path in (halfway / "checkpoints").iterdir()) == ["0000002", "0000003"]
    told = []
    train(halfway, told=told)
    assert told == [f"{halfway}: going on after iteration 3"]
    assert outcome(halfway) == outcome(finished)


def test_a_checkpoint_beyond_the_metrics_is_not_used(finished, halfway):
    path = halfway / "metrics.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:5]) + '{"iteration": 6, "st')
    told = []
    train(halfway, told=told)
    assert "after 6 iterations, of which only 5 are in the metrics" in told[0]
    assert outcome(halfway) == outcome(finished)


def test_what_a_killed_process_left_half_written_is_swept_away(halfway):
    partial = halfway / "checkpoints" / ".0000007.safetensors.17.part"
    partial.write_bytes(b"half")
    with pytest.raises(StoppedError):
        train(halfway, sinks=[At(7, stop)])
    assert not partial.exists()


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        (lambda: members(seed=3), "seed 0, not 3"),
        (lambda: members("mep"), "method 'hsp', not 'mep'"),
        (lambda: members(clip=0.3), r"training\.clip 0\.2, not 0\.3"),
    ],
)
def test_a_directory_holds_one_run(finished, other, complaint):
    with pytest.raises(InputError, match=complaint):
        train(finished, other())


def test_a_configuration_that_is_not_readable_is_an_error(tmp_path):
    (tmp_path / "config.json").write_text('{"method": ')
    with pytest.raises(InputError, match=r"config\.json: not JSON"):
        train(tmp_path)


def test_only_one_process_trains_in_a_directory(halfway):
    def try_too():
        with pytest.raises(InputError, match="another process trains here"):
            train(halfway)
        raise StoppedError

    with pytest.raises(StoppedError):
        train(halfway, sinks=[At(8, try_too)])


@pytest.fixture
def as_nobody():
    """Without the powers of an administrator, who may write anywhere."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    yield
    os.seteuid(before)


def test_a_read_only_directory_is_an_error_before_any_work(tmp_path, as_nobody):
    if os.geteuid() == os.getuid():
        tmp_path.chmod(0o555)
    with pytest.raises(InputError, match=r"cannot be written \(Permission denied\)"):
        train(tmp_path / "run")


def limit_files(size):
    """Let no file become larger, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


@contextmanager
def limits_lifted_afterwards():
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_is_full_from_the_beginning_is_an_error_before_any_work(tmp_path):
    with limits_lifted_afterwards(), pytest.raises(InputError, match=r"config\.json: cannot be written"):
        limit_files(100)
        train(tmp_path)


@pytest.mark.parametrize(("seconds", "what", "kept"), [(0.0, "0000009.safetensors", 8), (1e9, "metrics.jsonl", 6)])
def test_a_disk_that_becomes_full_stops_the_run_and_keeps_the_last_checkpoint(finished, halfway, seconds, what, kept):
    with limits_lifted_afterwards(), pytest.raises(InputError, match=f"{what}: cannot be written"):
        train(halfway, sinks=[At(9, lambda: limit_files(100))], checkpoint_seconds=seconds)
    told = []
    train(halfway, told=told)
    assert told == [f"{halfway}: going on after iteration {kept}"]
    assert outcome(halfway) == outcome(finished)


def late_event(directory):
    """The event that the biased policy of member 1 first caused latest."""
    counts = np.array([line["events"] for line in runs.metrics(directory)])[:, 1, 0]
    return max(Event, key=lambda event: (counts[:, event] > 0).argmax())


def test_a_reward_beyond_all_numbers_stops_the_run_with_its_member_and_the_checkpoint_before_stays(finished, tmp_path):
    who = members()
    trainer = who.trainer
    events = trainer.utility.events.at[1, 0, late_event(finished)].set(3e38)
    endless = replace(trainer, utility=replace(trainer.utility, events=events))
    with pytest.raises(InputError, match=r"^iteration \d+: .* of member 1 is not a finite number") as complaint:
        runs.train(endless, tmp_path, who.about, checkpoint_seconds=0.0)
    iteration = int(str(complaint.value).split()[1].rstrip(":"))
    assert iteration > 1
    assert int(newest(tmp_path).name[:7]) == iteration - 1


def test_parameters_that_are_not_finite_are_not_written(tmp_path):
    no_number = Schedule(1e-3, float("inf"), 10**9)
    with pytest.raises(InputError, match=r"iteration 1: learners\.actor\.\S+ of member 0, 1 is not a finite number"):
        train(tmp_path, members(learning_rate=no_number, epochs=1, minibatches=1))
    assert not [*tmp_path.glob("checkpoints/*"), *tmp_path.glob("snapshots/*")]


def test_three_skill_levels_of_every_member(finished):
    shots = snapshots.read(finished / runs.SNAPSHOTS)
    for member, levels in enumerate(skill_levels(finished)):
        assert (levels.init.iteration, levels.final.iteration) == (1, ITERATIONS)
        half = shots[-1].returns[member] / 2
        assert abs(levels.mid.returns[member] - half) == min(abs(shot.returns[member] - half) for shot in shots)


def test_a_directory_without_snapshots_has_no_skill_levels(tmp_path):
    with pytest.raises(InputError, match="no snapshots"):
        skill_levels(tmp_path)
