"""The command line as a user meets it: arguments in, text and exit code out."""

import gzip
import json
import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from cochef.agents.names import load
from cochef.kitchen import episodes, layouts
from cochef.rollout import record


@pytest.fixture(scope="module")
def episode():
    """A recorded episode as a line of text."""
    layout = layouts.get("cramped_room")
    pair = (load("script:onion_placement", layout), load("script:delivery", layout))
    played = jax.device_get(record(layout, pair, jax.random.key(0), 2))
    one = jax.tree.map(lambda leaf: leaf[:, 0], played)
    after = jax.tree.map(lambda leaf: leaf[1:], one.states)
    return episodes.write_line(layout, after, one.actions, one.outcomes, seed=0)


def test_help_names_every_command(cochef):
    code, text = cochef("--help")
    assert code == 0
    for command in ("layouts", "watch", "replay", "partners", "evaluate", "clone", "doctor"):
        assert command in text


def test_help_that_nobody_reads_to_the_end_is_no_crash():
    reading, writing = os.pipe()
    os.close(reading)
    program = [sys.executable, "-c", "from cochef.cli.main import main; main()", "train", "--help"]
    done = subprocess.run(program, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_layouts_draws_all_kitchens(cochef):
    code, text = cochef("layouts")
    assert code == 0
    assert all(name in text for name in layouts.names())


def test_checking_a_good_layout_says_so_and_a_bad_one_what_is_wrong(cochef, tmp_path):
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    grid = "XXPXX\nO1 2O\nX   X\nXDXSX"
    good.write_text(f"grid = '''\n{grid}\n'''\n[orders]\nooo = {{ value = 20, time = 20 }}\n")
    bad.write_text(good.read_text().replace("P", "X"))
    assert cochef("layouts", "check", good)[0] == 0
    code, text = cochef("layouts", "check", good, bad)
    assert code == 2
    assert "no pot ('P') to cook in; add one to the grid" in text


def test_doctor_finds_everything_in_the_test_environment(cochef):
    code, text = cochef("doctor")
    assert code == 0
    assert "jax" in text


def test_partners_of_an_onion_kitchen_leave_tomatoes_alone(cochef):
    code, text = cochef("partners", "--layout", "cramped_room")
    assert code == 0
    assert "onion_placement" in text
    assert "tomato" not in text


def test_an_unknown_layout_is_an_error_that_names_the_known_ones(cochef):
    code, text = cochef("evaluate", "--layout", "cramped", "--agents", "random")
    assert code == 2
    assert "unknown layout 'cramped'; known: asymmetric_advantages" in text


def test_a_recorded_episode_replays_without_difference(cochef, episode, tmp_path):
    plain, packed = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    plain.write_text(episode + "\n")
    packed.write_bytes(gzip.compress(episode.encode()))
    code, text = cochef("replay", plain, packed)
    assert code == 0
    assert "no difference" in text


def test_a_changed_step_is_found_and_named(cochef, episode, tmp_path):
    record = json.loads(episode)
    record["steps"][41]["chefs"][0][2] = "?"
    path = tmp_path / "changed.jsonl"
    path.write_text(json.dumps(record))
    code, text = cochef("replay", path)
    assert code == 1
    assert "step 41: chefs recorded" in text


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda r: r.pop("actions"), "'actions' is missing"),
        (lambda r: r["actions"].__setitem__(3, [0, 6]), "joint action 3 is [0, 6]; it takes two numbers from 0 to 5"),
        (lambda r: r["steps"].pop(), "steps is no list of 400 steps"),
        (lambda r: r.update(layout="nowhere"), "unknown layout 'nowhere'"),
        (lambda r: r.update(score="high"), "score is 'high'; it takes a number"),
        (lambda r: r.update(known_events=["sneezing"]), "known_events is ['sneezing']"),
        (lambda r: r.update(start={"chefs": []}), "0 chefs; a kitchen has 2"),
    ],
)
def test_a_malformed_episode_is_an_error_with_its_place(cochef, episode, tmp_path, change, complaint):
    record = json.loads(episode)
    change(record)
    path = tmp_path / "bad.jsonl"
    path.write_text("\n" + json.dumps(record))
    code, text = cochef("replay", path)
    assert code == 2
    assert "line 2" in text
    assert complaint in text


def test_a_file_that_is_no_recording_is_an_error(cochef, tmp_path):
    noise = tmp_path / "noise.jsonl.gz"
    noise.write_bytes(np.random.default_rng(0).bytes(500))
    (tmp_path / "text.jsonl").write_text("not json")
    for path in (noise, tmp_path / "text.jsonl", tmp_path / "missing.jsonl", tmp_path):
        assert cochef("replay", path)[0] == 2


def test_an_episode_of_an_own_kitchen_can_be_recorded_and_replayed(cochef, tmp_path):
    mine, episode = tmp_path / "mine.toml", tmp_path / "episode.jsonl"
    grid = "XXPXX\nO1 2T\nX   X\nXDXSX"
    mine.write_text(f"cooking = 'manual'\ngrid = '''\n{grid}\n'''\n[orders]\not = {{ value = 5, time = 3 }}\n")
    assert cochef("watch", "--layout", mine, "--out", episode)[0] == 0
    mine.unlink()
    code, text = cochef("replay", episode)
    assert code == 0
    assert "1 episodes, 400 steps replayed" in text


def test_the_command_line_answers_without_loading_what_computes():
    probe = "import sys, cochef.cli.main; sys.exit('jax' in sys.modules or 'PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0
