"""Hidden rewards: how they are drawn, and who gets which."""

import jax
import numpy as np
import pytest

from cochef.agents.network_config import NetworkConfig
from cochef.kitchen import layouts
from cochef.kitchen.constants import Event
from cochef.learning.config import TrainingConfig
from cochef.learning.reward_config import ORDER, as_vector, shipped
from cochef.methods import hsp
from cochef.methods.hsp import BIASED, PARTNER, BiasedShaping

CONFIG = TrainingConfig(kitchens=4, steps=4, network=NetworkConfig(hidden=(8,)))


@pytest.mark.parametrize("name", layouts.PAPER_LAYOUTS)
def test_weights_are_drawn_from_their_sets_and_are_zero_elsewhere(name):
    rewards = shipped(layouts.get(name))
    weights = hsp.draw(rewards, 200, seed=3)
    columns = {event.label: column for event, column in zip(Event, weights.T, strict=False)} | {ORDER: weights[:, -1]}
    for label, column in columns.items():
        assert set(column.tolist()) == set(rewards.hidden.get(label, (0.0,)))


def test_the_values_of_a_set_are_drawn_about_equally_often():
    rewards = shipped(layouts.get("coordination_ring"))
    weights = hsp.draw(rewards, 900, seed=0)
    _, counts = np.unique(weights[:, Event.SOUP_PICKUP], return_counts=True)
    assert (np.abs(counts - 300) < 60).all()


def test_a_draw_follows_from_the_seed():
    rewards = shipped(layouts.get("many_orders"))
    assert np.array_equal(hsp.draw(rewards, 36, seed=1), hsp.draw(rewards, 36, seed=1))
    assert not np.array_equal(hsp.draw(rewards, 36, seed=1), hsp.draw(rewards, 36, seed=2))


def test_a_members_weights_do_not_depend_on_how_many_there_are():
    rewards = shipped(layouts.get("many_orders"))
    assert np.array_equal(hsp.draw(rewards, 36, seed=1)[:5], hsp.draw(rewards, 5, seed=1))


@pytest.mark.parametrize("shaping", BiasedShaping)
def test_the_biased_role_wants_its_hidden_reward_and_its_partner_the_task(shaping):
    layout = layouts.get("coordination_ring")
    rewards = shipped(layout)
    utility = hsp.population(layout, rewards, CONFIG, 6, 5, shaping).utility
    weights, helping = hsp.draw(rewards, 6, seed=5), as_vector(rewards.shaping)
    utility = jax.tree.map(np.asarray, utility)
    constant = helping if shaping is BiasedShaping.CONSTANT else 0 * helping
    annealed = helping if shaping is BiasedShaping.ANNEALED else 0 * helping
    assert np.array_equal(utility.events[:, BIASED], weights[:, :-1] + constant)
    assert np.array_equal(utility.order[:, BIASED], weights[:, -1])
    assert (utility.shaping[:, BIASED] == annealed).all()
    assert (utility.events[:, PARTNER] == constant).all()
    assert (utility.order[:, PARTNER] == 1).all()
    assert (utility.shaping[:, PARTNER] == helping - constant).all()
