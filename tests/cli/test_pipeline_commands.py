"""`cochef run`, `status`, `pool` and `preferences`, on tiny runs from their beginning."""

import contextlib
import csv
import io
import json
import re

import pytest
from tests.learning.test_writers import records

from cochef.cli.pools import ListPools, TrainWithPool
from cochef.cli.preferences import ShowPreferences
from cochef.cli.run import RunMethods, Status
from cochef.cli.train import Train
from cochef.errors import InputError
from cochef.evaluation.preferences import NAMES
from cochef.experiments.presets import Overrides
from cochef.learning.writers import read_metrics, scalars

STEPS = 960  # whole iterations of both stages
EPISODES = 3


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    # A name longer than any terminal is wide.
    return tmp_path_factory.mktemp("run") / ("a_long_name_" * 12)


@pytest.fixture(scope="module")
def said(narrow, out):
    """The lines on standard error of a small run of a method with a pool."""
    overrides = Overrides(steps=STEPS, episodes=EPISODES)
    command = RunMethods(narrow, ("fcp",), "smoke", overrides=overrides, out=out, tensorboard=True)
    with contextlib.redirect_stderr(io.StringIO()) as printed:
        assert command.run() == 0
    return printed.getvalue().splitlines()


def test_the_plan_is_told_before_anything_is_done(said):
    assert re.fullmatch(r"\d+ jobs; about .+ on \d+ cores \(`--plan` lists them\)", said[0])


def test_a_run_takes_as_many_steps_and_episodes_as_it_is_told(said, out):
    trainings = [path.parent for path in (out / "jobs").glob("*/metrics.jsonl")]
    assert len(trainings) == 2  # the population, and the agents
    for training in trainings:
        assert read_metrics(training)[-1]["steps"] == STEPS
    (evaluated,) = (out / "jobs").glob("*/episodes.csv")
    with evaluated.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {int(row["episode"]) for row in rows} == set(range(EPISODES))


def test_tensorboard_gets_what_the_metrics_say(said, out):
    for metrics in (out / "jobs").glob("*/metrics.jsonl"):
        wanted = {
            (tag, line["steps"]): pytest.approx(value)
            for line in read_metrics(metrics.parent)
            for tag, value in scalars(line).items()
        }
        shown = records(metrics.parent / "tensorboard")
        assert {(tag, step): value for tag, step, value in shown} == wanted


def test_the_status_of_all_jobs_is_told_as_json(said, out, capsys):
    assert Status(out, json=True).run() == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["name"] for row in found} == {path.name for path in (out / "jobs").iterdir()}
    assert {row["state"] for row in found} == {"done"}


def test_pools_are_listed_with_their_whole_names_also_as_json(pool, out, capsys):
    assert ListPools(out).run() == 0
    assert str(pool) in capsys.readouterr().out
    assert ListPools(out, json=True).run() == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["pool"], row["layout"]) == (str(pool), "narrow")
    assert row["policies"] > 0


@pytest.fixture
def pool(said, out):
    """The pool of the run."""
    (found,) = [path.parent for path in out.rglob("pool.json")]
    return found


def test_an_own_agent_joins_a_pool_by_its_name_and_its_speed_is_told(
    pool, narrow, tmp_path, capsys
):
    name = "tests.agents.own_agents:Walker"
    command = TrainWithPool(pool, tmp_path, narrow, "smoke", steps=STEPS, own=(name,))
    assert command.run() == 0
    assert json.loads((tmp_path / "config.json").read_text())["pool"][-1] == name
    assert re.search(rf"{name}: [\d,]+ calls", capsys.readouterr().out)


def test_agents_that_adapted_to_a_pool_are_trained_further_with_it(pool, narrow, out, tmp_path):
    (adapted,) = (out / "jobs").glob("agents-*")
    command = TrainWithPool(pool, tmp_path, narrow, "smoke", steps=STEPS, origin=adapted)
    assert command.run() == 0
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["from"]["path"] == str(adapted)
    assert config["from"]["steps"] == STEPS
    assert read_metrics(tmp_path)[-1]["steps"] == STEPS


def test_agents_that_are_trained_further_have_no_parents(pool, narrow, out, tmp_path):
    command = TrainWithPool(pool, tmp_path, narrow, "smoke", parents=out, origin=out)
    with pytest.raises(InputError, match="--parents with --from"):
        command.run()


@pytest.fixture(scope="module")
def biased(narrow, tmp_path_factory):
    out = tmp_path_factory.mktemp("biased") / "run"
    assert Train("hsp", narrow, "smoke", steps=STEPS, out=out).run() == 0
    return out


def test_preferences_are_told_with_whole_names_and_as_json(biased, narrow, capsys):
    assert ShowPreferences(biased, narrow, episodes=2).run() == 0
    printed = capsys.readouterr().out
    assert ShowPreferences(biased, narrow, episodes=2, json=True).run() == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["layout"], report["episodes"]) == ("narrow", 4)
    assert report["preferences"]
    for row in report["preferences"]:
        assert row["event"] in printed
        assert row["event"] in NAMES


def test_a_population_is_trained_further_from_its_directory(biased, narrow, tmp_path):
    out = tmp_path / "further"
    command = Train("hsp", narrow, "smoke", steps=STEPS, origin=biased, out=out)
    assert command.run() == 0
    config = json.loads((out / "config.json").read_text())
    assert config["from"]["path"] == str(biased)
    assert read_metrics(out)[-1]["steps"] == STEPS
