"""Behaviour cloning by the recipe of 2019, on the smallest half of the games, for few epochs."""

import equinox as eqx
import jax
import numpy as np
import pytest

from cochef.agents import cloned, storage
from cochef.agents.names import load
from cochef.human.games import Split
from cochef.kitchen import layouts
from cochef.learning.cloning_2019 import clone_2019, save
from cochef.learning.cloning_config import Cloning2019Config

LAYOUT = layouts.get("forced_coordination")
CONFIG = Cloning2019Config(seeds=2)


@pytest.fixture(scope="module")
def trained():
    return clone_2019(LAYOUT, Split.TEST, CONFIG, seed=4, epochs=3)


def of_seed(networks, number):
    return jax.tree.map(lambda leaf: leaf[number], networks)


def test_every_seed_learns_and_the_report_has_each_of_them(trained):
    _, report = trained
    assert (report.layout, report.split) == ("forced_coordination", "test")
    assert (report.examples, report.epochs, report.first_seed) == (14_448, 3, 4)
    for losses in (report.training_loss, report.held_out_loss, report.other_people_loss):
        assert len(set(losses)) == CONFIG.seeds
        assert max(losses) < 1.15  # knowing only how often people do what has 1.30


def test_a_network_follows_from_its_own_seed_whatever_is_trained_beside_it(trained):
    networks, _ = trained
    again, _ = clone_2019(LAYOUT, Split.TEST, Cloning2019Config(seeds=1), seed=5, epochs=3)
    close = jax.tree.map(
        lambda one, other: np.allclose(one, other, atol=1e-3),
        of_seed(again, 0),
        of_seed(networks, 1),
    )
    assert jax.tree.all(close)
    assert not np.allclose(networks.weights[0][0], networks.weights[0][1], atol=1e-3)


def test_a_network_starts_orthogonal_with_nearly_even_odds():
    networks = cloned.networks_2019((64, 64), jax.random.split(jax.random.key(0), 2))
    second = np.asarray(networks.weights[1])
    last = np.asarray(networks.weights[2])
    assert np.allclose(second @ second.swapaxes(1, 2), 2 * np.eye(64), atol=1e-4)
    assert np.allclose(last.swapaxes(1, 2) @ last, 1e-4 * np.eye(6), atol=1e-6)
    assert not any(bias.any() for bias in networks.biases)


def test_a_saved_file_holds_the_clones_of_all_seeds(trained, tmp_path):
    networks, report = trained
    path = tmp_path / "clones.safetensors"
    save(path, LAYOUT, networks, CONFIG, report)
    loaded = load(str(path), LAYOUT)
    assert len(loaded.agents) == CONFIG.seeds
    for number, agent in enumerate(loaded.agents):
        assert eqx.tree_equal(agent.network, of_seed(networks, number))
    assert load(f"{path}#1", LAYOUT).network.weights[0].shape == (62, 64)
    assert storage.read(path)[0].metadata["report"]["epochs"] == 3
