"""A population in shards, joined: the members draw the same, and the files are those of a whole."""

import numpy as np
import pytest

from cochef.errors import InputError
from cochef.experiments import pipeline
from cochef.experiments.engines import LocalEngine
from cochef.experiments.jobs import Job, JobStore, in_order
from cochef.experiments.shards import split
from cochef.kitchen import layouts
from cochef.learning import snapshots
from cochef.learning.writers import read_metrics
from tests.learning.small_runs import outcome
from tests.narrow_layout import NARROW

LAYOUT = layouts.parse(NARROW, "narrow")


def population(members=4):
    return Job(pipeline.population("hsp", LAYOUT, "smoke", members=members), "biased")


def run(goal, root):
    store = JobStore(root)
    LocalEngine().run(in_order([goal]), store, lambda _: [], lambda _: None)
    return store.directory(goal)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The same population whole, of one shard's size, and in two shards."""
    root = tmp_path_factory.mktemp("runs")
    return {
        "whole": run(population(), root),
        "split": run(split(population(), 2), root),
        "shard": root,
    }


def test_a_joined_population_has_the_files_of_a_whole_one(made):
    whole = {path.relative_to(made["whole"]) for path in made["whole"].rglob("*.*")}
    joined = {path.relative_to(made["split"]) for path in made["split"].rglob("*.*")}
    checkpoints = {path for path in whole if path.parts[0] == "checkpoints"}
    assert joined >= whole - checkpoints
    assert len([path for path in joined if path.parts[0] == "checkpoints"]) == 1


def assert_same_training(directory, other):
    """Two runs ended with the same networks, optimiser states, kitchens and metrics."""
    files, metrics = outcome(directory)
    other_files, other_metrics = outcome(other)
    assert files.keys() == other_files.keys()
    for name, (_, tensors) in files.items():
        assert tensors == other_files[name][1], name
    assert metrics == other_metrics


def test_members_of_shards_have_the_bits_that_they_have_in_the_whole(made):
    """After all iterations, in agents, snapshots and the last checkpoint."""
    assert len(read_metrics(made["whole"])) > 10
    assert_same_training(made["whole"], made["split"])


def test_joined_files_are_the_shards_put_together(made):
    shards = sorted((made["shard"] / "jobs").glob("shard-*"))
    assert len(shards) == 2
    files, metrics = outcome(made["split"])
    parts = [read_metrics(shard) for shard in shards]
    for number, line in enumerate(metrics):
        both = [part[number] for part in parts]
        assert line["task_return"] == both[0]["task_return"] + both[1]["task_return"]
        assert line["events"] == both[0]["events"] + both[1]["events"]
        by_learner = [part["update_by_learner"]["actor_loss"] for part in both]
        mean = np.concatenate([np.array(rows, np.float32) for rows in by_learner]).mean()
        assert line["update"]["actor_loss"] == float(mean)
    joined = snapshots.read(made["split"] / "snapshots")
    for shard_number, shard in enumerate(shards):
        for before, after in zip(snapshots.read(shard / "snapshots"), joined, strict=True):
            assert after.returns[2 * shard_number :][:2] == pytest.approx(before.returns)
            for member in range(2):
                own = snapshots.extract(before.path, LAYOUT, member)[1]
                same = snapshots.extract(after.path, LAYOUT, 2 * shard_number + member)[1]
                assert all(np.array_equal(own[name], same[name]) for name in own)
    assert sum(name.startswith("agents/") for name in files) == 8


def test_a_shard_does_not_depend_on_what_else_is_trained(made, tmp_path):
    """Shards 1 to 2 of four and of five members: the same seed, numbers and program."""
    other = split(population(members=6), 2)
    last = other.inputs["shard-01"]
    again = run(last, tmp_path)
    files, metrics = outcome(again)
    shard = sorted((made["shard"] / "jobs").glob("shard-*-01-*"))[0]
    before, before_metrics = outcome(shard)
    assert metrics == before_metrics
    for name, content in files.items():
        assert content[1] == before[name][1]


def test_populations_whose_members_meet_stay_whole():
    goal = pipeline.report_job(LAYOUT, ("hsp", "trajdiv"), "smoke")
    inputs = split(goal, 1).inputs
    for name in ("hsp-mep", "trajdiv-trajdiv"):
        assert inputs[name].address == goal.inputs[name].address
    assert inputs["hsp-biased"].address != goal.inputs["hsp-biased"].address
    assert {"shard-00", "shard-01"} <= inputs["hsp-agents"].inputs.keys()


def test_shards_train_and_what_joins_them_does_not():
    joined = split(population(), 2)
    assert all(shard.trains for shard in joined.inputs.values())
    assert not joined.trains
    assert population().trains


def test_small_populations_are_not_split():
    goal = pipeline.report_job(LAYOUT, ("hsp",), "smoke")
    assert split(goal, 4).address == goal.address
    with pytest.raises(InputError, match="shard-members is 0"):
        split(goal, 0)
