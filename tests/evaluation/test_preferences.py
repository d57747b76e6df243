"""Whether biased policies follow their hidden rewards."""

import jax
import numpy as np
import pytest

from cochef.agents import actor_critic, storage
from cochef.agents.names import load
from cochef.agents.network_config import NetworkConfig
from cochef.errors import InputError
from cochef.evaluation.preferences import NAMES, event_counts, preferences, read_pairs
from cochef.evaluation.statistics import holm
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.kitchen.events import Event

DRIVING, OTHER = Event.PICKUP_ONION_FROM_DISPENSER, Event.DELIVERY


def population(seed, policies=36):
    """Weights of two events, the first of which drives everything."""
    generator = np.random.default_rng(seed)
    weights = np.zeros((policies, len(NAMES)))
    weights[:, DRIVING] = generator.choice([-10, 0, 10], policies)
    weights[:, OTHER] = generator.choice([-10, 0], policies)
    return weights, generator.gamma(1.0, 0.1, weights.shape)


def test_counts_that_grow_with_the_weight_are_found_and_others_are_not():
    weights, counts = population(0)
    counts[:, DRIVING] += weights[:, DRIVING] + 10
    driving, other = preferences(weights, counts)
    assert (driving.event, other.event) == (DRIVING.label, OTHER.label)
    assert driving.corrected < 1e-6
    assert driving.weights == (-10.0, 0.0, 10.0)
    assert list(driving.means) == sorted(driving.means)
    assert other.corrected > 0.05


def test_counts_that_fall_with_the_weight_are_no_preference():
    weights, counts = population(1)
    counts[:, DRIVING] -= weights[:, DRIVING] - 10
    assert preferences(weights, counts)[0].correlation < -0.8
    assert preferences(weights, counts)[0].corrected > 0.9


def test_a_weight_behind_a_stronger_one_shows_when_the_others_influence_is_taken_out():
    weights, counts = population(2)
    counts[:, OTHER] = 10 * weights[:, DRIVING] + 3 * weights[:, OTHER] + 200
    other = preferences(weights, counts)[1]
    assert other.partial > other.correlation
    assert other.partial_corrected < 0.01


def test_a_weight_of_orders_shows_in_the_task_return():
    weights, counts = population(4)
    weights[:, -1] = np.tile([0, 1], 18)
    counts[:, -1] = 100 * weights[:, -1] + np.arange(36)
    orders = preferences(weights, counts)[-1]
    assert orders.event == "order"
    assert orders.corrected < 0.001


def test_what_nobody_does_follows_nothing():
    weights, counts = population(3)
    counts[:, DRIVING] = 0.0
    assert (
        preferences(weights, counts)[0].p_value
        == preferences(weights, counts)[0].partial_p_value
        == 1.0
    )


def test_holms_correction_is_the_textbooks():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])


def test_weights_and_counts_must_fit():
    with pytest.raises(InputError, match="at least 3 policies"):
        preferences(np.zeros((2, 24)), np.zeros((2, 24)))


def write_pair(directory, member, hidden, action):
    """A biased policy that always takes one action, and a partner that does anything."""
    layout, config = layouts.get("cramped_room"), NetworkConfig(hidden=(4,))
    spec = actor_critic.observation_spec(layout, config.observation)
    for name in ("biased", "partner"):
        network = actor_critic.actor(config, spec, len(Action), jax.random.key(member))
        if name == "biased":
            bias = network.head.bias.at[action].set(50.0)
            network = jax.tree.map(
                lambda leaf, old=network.head.bias, new=bias: new if leaf is old else leaf, network
            )
        actor_critic.save(
            directory / "agents" / f"{member:02}-{name}{storage.SUFFIX}",
            layout,
            config,
            network,
            {"hidden_reward": hidden},
        )


def test_a_run_is_read_with_its_hidden_rewards_and_only_the_first_of_a_pair_is_counted(tmp_path):
    write_pair(tmp_path, 0, {"delivery": -10.0, "order": 1.0}, Action.STAY)
    write_pair(tmp_path, 1, {"soup_pickup": 5.0, "order": 0.0}, Action.STAY)
    layout, pairs, weights = read_pairs(tmp_path)
    assert layout.name == "cramped_room"
    assert weights[0, Event.DELIVERY] == -10
    assert weights[1, Event.SOUP_PICKUP] == 5
    assert weights[:, -1].tolist() == [1, 0]
    assert np.count_nonzero(weights) == 3
    counts = event_counts(layout, pairs, seed=0, episodes=5)
    assert counts.events.shape == counts.partner_events.shape == (2, len(Event))
    assert counts.events.sum() == 0  # they stand still
    assert (counts.partner_events.sum(axis=-1) > 0).all()


def test_counts_are_of_the_first_of_a_pair_in_both_seats():
    layout = layouts.get("cramped_room")
    pair = (load("script:onion_placement", layout), load("stay", layout))
    counts = event_counts(layout, [pair], seed=0, episodes=3)
    assert counts.events[0, Event.POTTING_ONION] == 3  # in the only pot, in either seat
    assert counts.partner_events.sum() == 0
    assert counts.by_name.tolist() == [[*counts.events[0], 0.0]]


def test_a_directory_without_biased_policies_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no biased policies"):
        read_pairs(tmp_path)
