import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.kitchen.dynamics import step
from cochef.kitchen.replay import RecordedActions, measure_replays, replay
from cochef.kitchen.state import start

LAYOUT = layouts.get("coordination_ring")
LENGTHS = (1, 127, 128, 30)  # 128 steps need a longer program, as their last state is kept, too

take_step = jax.jit(step, static_argnums=0)


def episodes():
    """Episodes of several lengths; the last one begins with swapped chefs."""
    chance = np.random.default_rng(0)
    actions = [chance.integers(len(Action), size=(length, 2)) for length in LENGTHS]
    usual = start(LAYOUT)
    chefs = dataclasses.replace(usual.chefs, cell=usual.chefs.cell[::-1])
    swapped = dataclasses.replace(usual, chefs=chefs)
    return [*map(RecordedActions, actions[:-1]), RecordedActions(actions[-1], swapped)]


def stepped(episode):
    """The states and outcomes of an episode, one step after the other."""
    state = start(LAYOUT) if episode.start is None else episode.start
    states, outcomes = [state], []
    for joint in episode.actions:
        state, outcome = take_step(LAYOUT, state, jnp.asarray(joint, jnp.int32))
        states.append(state)
        outcomes.append(outcome)
    return jax.device_get((_stacked(states), _stacked(outcomes)))


def _stacked(trees):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def test_episodes_of_different_lengths_replay_together_as_step_by_step():
    recorded = episodes()
    for episode, trajectory in zip(recorded, replay(LAYOUT, recorded), strict=True):
        assert np.array_equal(trajectory.actions, episode.actions)
        found = (trajectory.states, trajectory.outcomes)
        assert jax.tree.all(jax.tree.map(np.array_equal, found, stepped(episode)))


def test_a_metric_measures_each_episode_up_to_its_length():
    recorded = episodes()
    measured = measure_replays(LAYOUT, recorded)
    for totals, trajectory in zip(measured, replay(LAYOUT, recorded), strict=True):
        assert np.array_equal(totals.events, trajectory.outcomes.events.sum(axis=0))
        assert np.array_equal(totals.reward, trajectory.outcomes.reward.sum(axis=0))
    assert any(totals.events.any() for totals in measured)


def test_more_episodes_than_are_played_at_once_keep_their_order():
    first, *others = episodes()
    many = [first] * 40 + others
    lengths = [len(trajectory.actions) for trajectory in replay(LAYOUT, many)]
    assert lengths == [len(episode.actions) for episode in many]
    assert replay(LAYOUT, []) == []
