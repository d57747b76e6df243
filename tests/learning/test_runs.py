"""Training on disk: what a run leaves behind, and that no accident changes what it ends with."""

import os
import resource
import shutil
import signal
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from cochef.agents import storage
from cochef.agents.actor_critic import TrainedAgent
from cochef.agents.names import load
from cochef.errors import InputError
from cochef.experiments.pipeline import population
from cochef.experiments.pools import PopulationFiles
from cochef.kitchen.events import Event
from cochef.learning import runs, snapshots
from cochef.learning.config import Schedule
from cochef.learning.writers import read_metrics
from cochef.methods.parts.pools import skill_levels
from tests.learning.small_runs import LAYOUT, outcome

ITERATIONS = 12


class StoppedError(Exception):
    """What a run was stopped with."""


class At:
    """A writer that does something at an iteration."""

    def __init__(self, iteration, act):
        self.iteration = iteration
        self.act = act

    def begin(self, run_config):
        pass

    def write(self, line):
        if line["iteration"] == self.iteration:
            self.act()

    def end(self):
        pass


def stop():
    raise StoppedError


def two_members(method="hsp", seed=0, **changes):
    stage = population(method, LAYOUT, "smoke", seed, members=2)
    return replace(stage, training=replace(stage.training, **changes))


def train(directory, stage=None, writers=(), log=None, checkpoint_seconds=0.0):
    """Train the members of a stage; messages are appended to `log`."""
    stage = stage or two_members()
    messages = [] if log is None else log
    return runs.train(
        stage.trainer, directory, stage.config, writers, checkpoint_seconds, messages.append
    )


def stopped(directory, iteration):
    """A run that was stopped in an iteration; the ones before are checkpointed."""
    with pytest.raises(StoppedError):
        train(directory, writers=[At(iteration, stop)])
    return directory


def checkpointed(directory):
    """The iterations of all checkpoints."""
    return sorted(int(path.name.split(".")[0]) for path in (directory / "checkpoints").iterdir())


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
    there = sorted(
        str(path.relative_to(finished)) for path in finished.rglob("*") if path.is_file()
    )
    names = ("00-biased", "00-partner", "01-biased", "01-partner")
    agents = [f"agents/{name}.safetensors" for name in names]
    shots = [f"snapshots/{number:07}.safetensors" for number in (1, 5, 8, 12)]
    rest = [".lock", "checkpoints/0000012.safetensors", "config.json", "metrics.jsonl"]
    assert there == sorted([*agents, *shots, *rest])


def test_the_configuration_is_resolved(finished):
    config = runs.read_config(finished)
    assert config == two_members().config
    assert config["training"]["network"]["observation"] == "compact"
    assert config["fingerprint"] == LAYOUT.fingerprint
    assert len(config["hidden_rewards"]) == config["members"] == 2


def test_metrics_have_a_line_an_iteration(finished):
    lines = read_metrics(finished)
    assert [line["iteration"] for line in lines] == list(range(1, ITERATIONS + 1))
    assert [line["steps"] for line in lines[:2]] == [320, 640]
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds)
    for line in lines:
        assert np.shape(line["task_return"]) == (2,)
        assert np.shape(line["objective_return"]) == (2, 2)
        assert np.shape(line["events"]) == (2, 2, len(Event))
        assert np.isfinite(list(line["update"].values())).all()
        assert line["update"]["entropy"] > 1.0


def test_a_snapshot_has_the_mean_return_and_events_since_the_one_before(finished):
    lines = read_metrics(finished)
    shots = snapshots.read(finished / runs.SNAPSHOTS)
    assert [shot.iteration for shot in shots] == [1, 5, 8, 12]
    for before, shot in zip((0, 1, 5, 8), shots, strict=True):
        since = lines[before : shot.iteration]
        np.testing.assert_allclose(
            shot.returns, np.mean([line["task_return"] for line in since], axis=0)
        )
        np.testing.assert_allclose(shot.events, np.mean([line["events"] for line in since], axis=0))
        assert shot.steps == 320 * shot.iteration


def test_agents_of_a_run_are_loaded_by_name_and_are_those_of_the_last_snapshot(finished):
    last = snapshots.read(finished / runs.SNAPSHOTS)[-1]
    for learner, name in enumerate(runs.LEARNERS):
        agent = load(str(finished / "agents" / f"01-{name}"), LAYOUT)
        assert isinstance(agent, TrainedAgent)
        kept = snapshots.load(last.path, LAYOUT, 1, learner)
        np.testing.assert_array_equal(agent.network.layers[0].weight, kept.network.layers[0].weight)


def test_an_agent_says_who_it_is(finished):
    card, _ = storage.read(finished / "agents" / "01-biased.safetensors")
    config = runs.read_config(finished)
    last = snapshots.read(finished / runs.SNAPSHOTS)[-1]
    assert card.metadata == {
        "population": "biased",
        "seed": 0,
        "member": 1,
        "learner": "biased",
        "hidden_reward": config["hidden_rewards"][1],
        "task_return": last.returns[1],
    }


def test_a_member_that_is_not_there_is_an_error(finished):
    path = snapshots.read(finished / runs.SNAPSHOTS)[0].path
    with pytest.raises(InputError, match="no learner 0 of member 2; it has 2 of 2 members"):
        snapshots.load(path, LAYOUT, 2)
    with pytest.raises(InputError, match="not a snapshot"):
        snapshots.load(finished / "agents" / "00-biased.safetensors", LAYOUT, 0)


def test_a_finished_run_is_left_alone(finished):
    files = [path for path in finished.rglob("*") if path.is_file() and path.name != ".lock"]
    before = {path: path.stat().st_mtime_ns for path in files}
    log = []
    train(finished, log=log)
    assert log == [f"{finished}: finished already, nothing to do"]
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_the_same_seed_gives_the_same_run_and_another_seed_another(finished, tmp_path):
    train(tmp_path / "same")
    assert outcome(tmp_path / "same") == outcome(finished)
    train(tmp_path / "other", two_members(seed=1))
    assert outcome(tmp_path / "other")[1] != outcome(finished)[1]


def test_the_last_two_checkpoints_are_kept(interrupted):
    assert checkpointed(interrupted) == [5, 6]


@pytest.mark.parametrize("iteration", [1, 2, ITERATIONS])
def test_a_stopped_run_ends_as_if_it_had_not_been_stopped(finished, tmp_path, iteration):
    log = []
    train(stopped(tmp_path, iteration), log=log)
    assert log == (
        [f"{tmp_path}: resuming after iteration {iteration - 1}"] if iteration > 1 else []
    )
    assert outcome(tmp_path) == outcome(finished)


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def _interruptible():
    """Ctrl-C interrupts, also if the tests were started in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
def test_ctrl_c_saves_the_iteration_under_way_and_the_run_resumes_after_it(finished, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, writers=[At(5, press_ctrl_c)], checkpoint_seconds=1e9)
    assert checkpointed(tmp_path) == [5]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    train(tmp_path)
    assert outcome(tmp_path) == outcome(finished)


@pytest.mark.usefixtures("_interruptible")
def test_ctrl_c_in_the_last_iteration_lets_the_run_end(finished, tmp_path):
    train(tmp_path, writers=[At(ITERATIONS, press_ctrl_c)])
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
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_is_used(
    finished, halfway, damage, reason
):
    path = newest(halfway)
    path.write_bytes(damage(path.read_bytes()))
    log = []
    train(halfway, log=log)
    assert str(path) in log[0]
    assert reason in log[0]
    assert log[1] == f"{halfway}: resuming after iteration 5"
    assert outcome(halfway) == outcome(finished)


def test_without_any_good_checkpoint_a_run_starts_again(finished, halfway):
    for path in (halfway / "checkpoints").iterdir():
        path.write_bytes(flip(path.read_bytes()))
    log = []
    train(halfway, log=log)
    assert len(log) == 2
    assert outcome(halfway) == outcome(finished)


def test_after_starting_again_what_is_checkpointed_is_kept(finished, halfway):
    for path in (halfway / "checkpoints").iterdir():
        path.write_bytes(flip(path.read_bytes()))
    stopped(halfway, 4)
    assert checkpointed(halfway) == [2, 3]
    log = []
    train(halfway, log=log)
    assert log == [f"{halfway}: resuming after iteration 3"]
    assert outcome(halfway) == outcome(finished)


def test_a_checkpoint_beyond_the_metrics_is_not_used(finished, halfway):
    path = halfway / "metrics.jsonl"
    path.write_text(
        "".join(path.read_text().splitlines(keepends=True)[:5]) + '{"iteration": 6, "st'
    )
    log = []
    train(halfway, log=log)
    assert "after 6 iterations, of which only 5 are in the metrics" in log[0]
    assert outcome(halfway) == outcome(finished)


def test_what_a_killed_process_left_half_written_is_swept_away(halfway):
    partial = halfway / "checkpoints" / ".0000007.safetensors.17.part"
    partial.write_bytes(b"half")
    with pytest.raises(StoppedError):
        train(halfway, writers=[At(7, stop)])
    assert not partial.exists()


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        (lambda: two_members(seed=3), "seed 0, not 3"),
        (lambda: two_members("mep"), "population 'biased', not 'mep'"),
        (lambda: two_members(clip=0.3), r"training\.clip 0\.2, not 0\.3"),
    ],
)
def test_a_directory_holds_one_run(finished, other, complaint):
    with pytest.raises(InputError, match=complaint):
        train(finished, other())


def test_a_configuration_that_is_not_readable_is_an_error(tmp_path):
    (tmp_path / "config.json").write_text('{"population": ')
    with pytest.raises(InputError, match=r"config\.json: damaged \(.*\); take it from a backup"):
        train(tmp_path)


def test_only_one_process_trains_in_a_directory(halfway):
    def try_too():
        with pytest.raises(InputError, match="another process trains here"):
            train(halfway)
        raise StoppedError

    with pytest.raises(StoppedError):
        train(halfway, writers=[At(8, try_too)])


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
    complaint = r"config\.json: cannot be written"
    with limits_lifted_afterwards(), pytest.raises(InputError, match=complaint):
        limit_files(100)
        train(tmp_path)


@pytest.mark.parametrize(
    ("seconds", "what", "kept"), [(0.0, "0000009.safetensors", 8), (1e9, "metrics.jsonl", 6)]
)
def test_a_disk_that_becomes_full_stops_the_run_and_keeps_the_last_checkpoint(
    finished, halfway, seconds, what, kept
):
    with limits_lifted_afterwards(), pytest.raises(InputError, match=f"{what}: cannot be written"):
        train(halfway, writers=[At(9, lambda: limit_files(100))], checkpoint_seconds=seconds)
    log = []
    train(halfway, log=log)
    assert log == [f"{halfway}: resuming after iteration {kept}"]
    assert outcome(halfway) == outcome(finished)


def late_event(directory):
    """The event that the biased policy of member 1 first caused latest."""
    counts = np.array([line["events"] for line in read_metrics(directory)])[:, 1, 0]
    return max(Event, key=lambda event: (counts[:, event] > 0).argmax())


def test_a_reward_beyond_all_numbers_stops_the_run_and_the_checkpoint_before_stays(
    finished, tmp_path
):
    stage = two_members()
    trainer = stage.trainer
    events = trainer.weights.events.at[1, 0, late_event(finished)].set(3e38)
    endless = replace(trainer, weights=replace(trainer.weights, events=events))
    named = r"^iteration \d+: .* of member 1 is not a finite number"
    with pytest.raises(InputError, match=named) as complaint:
        runs.train(endless, tmp_path, stage.config, checkpoint_seconds=0.0)
    iteration = int(str(complaint.value).split()[1].rstrip(":"))
    assert iteration > 1
    assert int(newest(tmp_path).name[:7]) == iteration - 1


def test_parameters_that_are_not_finite_are_not_written(tmp_path):
    no_number = Schedule(1e-3, float("inf"), 10**9)
    named = r"iteration 1: learners\.actor\.\S+ of member 0, 1 is not a finite number"
    with pytest.raises(InputError, match=named):
        train(tmp_path, two_members(learning_rate=no_number, epochs=1, minibatches=1))
    assert not [*tmp_path.glob("checkpoints/*"), *tmp_path.glob("snapshots/*")]


def test_three_skill_levels_of_every_member(finished):
    shots = snapshots.read(finished / runs.SNAPSHOTS)
    choices = skill_levels("biased", PopulationFiles(finished, LAYOUT, 1, 0).trained)
    assert [(choice.member, choice.level) for choice in choices] == [
        (member, level) for member in range(2) for level in ("init", "mid", "final")
    ]
    for member in range(2):
        init, mid, final = (shots[choice.snapshot] for choice in choices[3 * member :][:3])
        assert (init.iteration, final.iteration) == (1, ITERATIONS)
        half = shots[-1].returns[member] / 2
        nearest = min(abs(shot.returns[member] - half) for shot in shots)
        assert abs(mid.returns[member] - half) == nearest


def test_a_directory_without_snapshots_has_no_skill_levels(tmp_path):
    with pytest.raises(InputError, match="no snapshots"):
        skill_levels("biased", PopulationFiles(tmp_path, LAYOUT, 1, 0).trained)
