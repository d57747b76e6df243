"""The benchmark of the kitchen, with so few kitchens that it takes no time."""

import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from cochef.benchmarks.kitchen import OBSERVATIONS, OWN, compare, own_rates, simulator
from cochef.benchmarks.loop import random_actions
from cochef.benchmarks.peers.process import PeerError, interpreter, running
from cochef.benchmarks.scaling import Scaling, ScalingPoint, check_picture, draw, measure
from cochef.cli.bench import BenchKitchen
from cochef.errors import InputError
from cochef.kitchen import layouts

KITCHENS = 4
LAYOUT = layouts.get("coordination_ring")
ROWS = ["XXPXX", "O1 2O", "X   X", "XDXSX"]
OPTIONS = {"rows": ROWS, "orders": [["onion"] * 3], "kitchens": KITCHENS}


def quiet(_):
    pass


def test_our_rate_is_measured_with_every_observation():
    comparison = own_rates(LAYOUT, KITCHENS, seconds=0.0)
    assert [entry.observation for entry in comparison.own] == list(OBSERVATIONS)
    assert all(entry.rate > 0 for entry in comparison.entries)


def test_an_episode_that_ends_is_followed_by_the_next():
    ours = simulator(LAYOUT, None)
    first = ours.reset(jax.random.key(0), KITCHENS)
    # The constructor takes kitchens first, and these are last, so `replace` cannot be used.
    last = jax.tree.map(
        lambda leaf: leaf + (LAYOUT.horizon - 1 if leaf is first.time else 0), first
    )
    after, _ = jax.jit(ours.step)(jax.random.key(0), last, jnp.zeros((2, KITCHENS), jnp.int32))
    assert jax.tree.all(jax.tree.map(np.array_equal, after, first))


def test_random_actions_are_all_as_likely():
    actions = random_actions(jax.random.key(0), 60_000)
    for chef in actions:
        counts = np.bincount(chef, minlength=6)
        assert counts.shape == (6,)
        assert (abs(counts - 10_000) < 500).all()


def test_the_reference_engine_is_measured_in_a_process_of_its_own():
    with running(Path(sys.executable), "overcooked_ai", OPTIONS) as (engine,):
        assert engine.name == "overcooked_ai"
        assert engine.rate(seconds=0.0) > 0
        assert engine.rate(seconds=0.01) > 0
        assert engine.compile_seconds() is None


def test_a_peer_that_cannot_be_run_says_why():
    with pytest.raises(
        PeerError, match=r"jaxmarl failed \(ModuleNotFoundError: No module named 'jaxmarl'\); `make"
    ):
        running(Path(sys.executable), "jaxmarl", OPTIONS).__enter__()


def test_a_missing_environment_of_the_peers_is_said_with_its_remedy(tmp_path):
    with pytest.raises(PeerError, match=r"no environment for the peers at .*nowhere.*make bench"):
        interpreter(tmp_path / "nowhere")


def test_the_environment_of_the_peers_is_given_by_its_folder_or_its_python(tmp_path):
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.touch()
    assert interpreter(tmp_path) == interpreter(python) == python


def test_without_peers_the_command_shows_our_rates_and_how_to_get_the_peers(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "new" / "rates.json"
    assert BenchKitchen(kitchens=KITCHENS, rounds=1, seconds=0.0, out=out).run() == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "26 planes" in printed
    assert "make bench" in printed

    numbers = json.loads(out.read_text())
    assert set(numbers) == {"layout", "kitchens", "entries", "times_faster", "machine"}
    assert [entry["observation"] for entry in numbers["entries"]] == list(OBSERVATIONS)
    for entry in numbers["entries"]:
        assert entry["simulator"] == OWN
        assert entry["rates"] == [entry["rate"]]
        assert entry["compile_seconds"] > 0


@pytest.mark.parametrize("wrong", [{"kitchens": 0}, {"kitchens": 10**9}, {"rounds": 0}])
def test_numbers_that_make_no_sense_are_refused(wrong):
    settings = {"kitchens": KITCHENS, "rounds": 1, **wrong}
    with pytest.raises(InputError, match="it takes"):
        compare(LAYOUT, **settings, seconds=0.0, python=None, log=quiet)


def test_scaling_measures_numbers_of_kitchens_and_layouts():
    scaling = measure(LAYOUT, [KITCHENS], [], KITCHENS, seconds=0.0, log=quiet)
    assert {point.observation for point in scaling.by_kitchens} == set(OBSERVATIONS)
    assert all(point.rate > 0 and point.microseconds > 0 for point in scaling.by_kitchens)
    assert set(json.loads(json.dumps(scaling.to_json()))) == {"by_kitchens", "by_layout", "machine"}


def test_scaling_is_drawn_into_a_picture(tmp_path):
    points = tuple(
        ScalingPoint("ring", count, observation, 1e6 * count)
        for count in (1, 4)
        for observation in OBSERVATIONS
    )
    draw(Scaling(points, points[: len(OBSERVATIONS)]), tmp_path / "new" / "speed.png")
    with Image.open(tmp_path / "new" / "speed.png") as picture:
        assert picture.width > picture.height > 100
    with pytest.raises(InputError, match=r"cannot draw into 'speed\.doc'"):
        check_picture(Path("speed.doc"))
