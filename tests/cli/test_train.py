"""`cochef train`: a population that learns, and the same again."""

import io
import json
import re

import pytest
from rich.console import Console

from cochef import methods
from cochef.cli.evaluate import Evaluate
from cochef.cli.progress import ProgressLines
from cochef.cli.train import Train
from cochef.errors import InputError
from cochef.experiments.presets import PRESETS
from cochef.learning.writers import read_metrics

SMOKE = {"preset": "smoke", "steps": 960}


@pytest.fixture(scope="module")
def trained(narrow, tmp_path_factory):
    out = tmp_path_factory.mktemp("training") / "new"
    assert Train("mep", narrow, **SMOKE, out=out, tensorboard=True).run() == 0
    return out


def test_training_leaves_agents_curves_and_files_for_tensorboard(trained):
    agents = sorted(path.name for path in (trained / "agents").iterdir())
    assert agents == ["00.safetensors", "01.safetensors"]
    assert (trained / "learning.png").read_bytes().startswith(b"\x89PNG")
    assert any((trained / "tensorboard").iterdir())
    assert [line["steps"] for line in read_metrics(trained)] == [320, 640, 960]


def test_without_a_terminal_plain_lines_tell_the_progress(trained, narrow, tmp_path, capsys):
    assert Train("mep", narrow, **SMOKE, out=tmp_path / "again").run() == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "mep: compiling"
    assert re.fullmatch(
        r"mep: 100%, 1\.0k steps, [\d.]+[kM]/s, 0:00 left, returns mean \d+, best \d+, worst \d+",
        lines[-1],
    )


def test_how_fast_a_training_is_and_what_is_left_is_said_when_it_is_known():
    lines = io.StringIO()
    progress = ProgressLines(Console(file=lines))
    progress.begin({"population": "sp", "training": {"total_steps": 1000}, "members": 2})
    for iteration, seconds in ((1, 20.0), (2, 39.94)):
        progress._printed = 0.0  # as if the last line had been long ago
        line = {"steps": 250 * iteration, "iteration": iteration, "seconds": seconds}
        progress.write({**line, "task_return": [1.0, 3.0]})
    told = [line.split("sp: ")[1] for line in lines.getvalue().splitlines()[1:]]
    assert told == [
        "25%, 0.2k steps, returns mean 2, best 3, worst 1",
        "50%, 0.5k steps, 0.0k/s, 0:40 left, returns mean 2, best 3, worst 1",
    ]


def test_a_trained_agent_is_evaluated_by_its_path(trained, narrow, capsys):
    agent = str(trained / "agents" / "00")
    assert Evaluate(layout=narrow, agents=(agent,), partners=("random",), episodes=2).run() == 0
    assert "narrow" in capsys.readouterr().out


def test_a_finished_run_says_so_and_shows_its_results_again(trained, narrow, capsys):
    assert Train("mep", narrow, **SMOKE, out=trained).run() == 0
    printed = capsys.readouterr()
    assert "finished already, nothing to do" in printed.err
    assert "median" in printed.out
    assert str(trained / "agents") in printed.out


def test_other_settings_need_another_directory(trained, narrow):
    with pytest.raises(InputError, match="seed 0, not 7"):
        Train("mep", narrow, **SMOKE, seed=7, out=trained).run()


def test_own_rewards_and_shaped_rewards_of_biased_policies(narrow, tmp_path):
    rewards = tmp_path / "mine.toml"
    out = tmp_path / "run"
    rewards.write_text(
        "[hidden]\npickup_dish_from_dispenser = [7]\norder = [0]\n[shaping]\nsoup_pickup = 5\n"
    )
    command = Train("hsp", narrow, "smoke", rewards=rewards, biased_shaping="annealed", out=out)
    assert command.run() == 0
    config = json.loads((out / "config.json").read_text())
    assert config["hidden_rewards"] == [{"pickup_dish_from_dispenser": 7.0, "order": 0.0}] * 4
    assert config["shaping"] == {"soup_pickup": 5.0}
    assert config["options"]["biased_shaping"] == "annealed"


def test_without_hidden_rewards_there_is_no_biased_policy(narrow, tmp_path):
    (tmp_path / "mine.toml").write_text("[shaping]\nsoup_pickup = 5\n")
    with pytest.raises(InputError, match="hidden is empty or missing"):
        Train("hsp", narrow, "smoke", rewards=tmp_path / "mine.toml", out=tmp_path / "run").run()


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"members": 0}, "members is 0; it takes a whole number from 1"),
        ({"steps": 100}, "total_steps is 100; an update alone takes 320 steps"),
        ({"seed": -1}, "seed is -1; it takes a whole number from 0"),
        ({"biased_shaping": "constant"}, "the population sp, which has no such option"),
    ],
)
def test_settings_that_make_no_sense_are_errors(narrow, tmp_path, wrong, complaint):
    with pytest.raises(InputError, match=complaint):
        Train("fcp", layout=narrow, preset="smoke", out=tmp_path, **wrong).run()


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_every_method(preset):
    for method in methods.every():
        sizes = method.sizes(PRESETS[preset].scale)
        assert method.population.size.name in sizes
        assert all(size and size >= 1 for size in sizes.values())


def test_the_papers_preset_makes_its_number_of_updates_and_hardly_anneals_its_shaped_rewards():
    training = PRESETS["paper"].first_stage
    assert training.iterations == 250
    assert training.steps_per_iteration == 100 * 400
    assert training.shaping.steps == 10 * training.total_steps
    assert methods.get("hsp").sizes(PRESETS["paper"].scale)["biased"] == 36
