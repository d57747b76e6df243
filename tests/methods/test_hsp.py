"""Hidden rewards: how they are drawn, and who gets which."""

import itertools

import jax
import numpy as np
import pytest

from cochef.agents.network_config import NetworkConfig
from cochef.kitchen import layouts
from cochef.kitchen.events import Event
from cochef.learning.config import TrainingConfig
from cochef.learning.reward_config import ORDER, as_vector, shipped
from cochef.methods import hsp
from cochef.methods.hsp import BIASED, BIASED_SHAPING
from cochef.methods.parts.method import draw_seed

ONION_LAYOUTS = ("asymmetric_advantages", "coordination_ring", "counter_circuit")
ADAPTING = 1 - BIASED  # the role of pi_a
CONFIG = TrainingConfig(kitchens=4, rollout_steps=4, network=NetworkConfig(hidden=(8,)))


@pytest.mark.parametrize("name", layouts.PAPER_LAYOUTS)
def test_weights_are_drawn_from_their_sets_and_are_zero_elsewhere(name):
    rewards = shipped(layouts.get(name))
    weights = hsp.draw(rewards, 200, seed=(3,))
    labels = (*(event.label for event in Event), ORDER)
    for label, column in zip(labels, weights.T, strict=True):
        assert set(column.tolist()) == set(rewards.hidden.get(label, (0.0,)))


def test_the_values_of_a_set_are_drawn_about_equally_often():
    rewards = shipped(layouts.get("coordination_ring"))
    weights = hsp.draw(rewards, 900, seed=(0,))
    _, counts = np.unique(weights[:, Event.SOUP_PICKUP], return_counts=True)
    assert (np.abs(counts - 300) < 60).all()


def test_a_draw_follows_from_the_seed():
    rewards = shipped(layouts.get("many_orders"))
    drawn, again, other = (hsp.draw(rewards, 36, seed=(seed,)) for seed in (1, 1, 2))
    assert np.array_equal(drawn, again)
    assert not np.array_equal(drawn, other)


def test_a_members_weights_do_not_depend_on_how_many_there_are():
    rewards = shipped(layouts.get("many_orders"))
    assert np.array_equal(hsp.draw(rewards, 36, seed=(1,))[:5], hsp.draw(rewards, 5, seed=(1,)))


def test_layouts_with_the_same_sets_draw_different_hidden_rewards():
    onions = [layouts.get(name) for name in ONION_LAYOUTS]
    sets = [shipped(layout).hidden for layout in onions]
    assert sets[0] == sets[1] == sets[2]
    drawn = [hsp.draw(shipped(layout), 36, draw_seed(layout, 0)) for layout in onions]
    for one, other in itertools.combinations(drawn, 2):
        # Of 36 vectors some are the same by chance; as many would be in another order.
        assert (one != other).any(axis=1).sum() > 18


@pytest.mark.parametrize("biased_shaping", BIASED_SHAPING)
def test_the_biased_role_gets_its_hidden_reward_and_its_partner_the_task_reward(biased_shaping):
    layout = layouts.get("coordination_ring")
    rewards = shipped(layout)
    options = {"biased_shaping": biased_shaping}
    trainer = hsp.POPULATION.trainer(layout, rewards, CONFIG, 6, 5, options)
    weights = jax.tree.map(np.asarray, trainer.weights)
    hidden = hsp.draw(rewards, 6, draw_seed(layout, 5))
    shaping = as_vector(rewards.shaping)
    constant = shaping * (biased_shaping == "constant")
    annealed = shaping * (biased_shaping == "annealed")
    assert np.array_equal(weights.events[:, BIASED], hidden[:, :-1] + constant)
    assert np.array_equal(weights.task[:, BIASED], hidden[:, -1])
    assert (weights.shaping[:, BIASED] == annealed).all()
    assert (weights.events[:, ADAPTING] == constant).all()
    assert (weights.task[:, ADAPTING] == 1).all()
    assert (weights.shaping[:, ADAPTING] == shaping - constant).all()
