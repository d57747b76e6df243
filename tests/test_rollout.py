"""Episodes in bulk: who sits where, what follows from a key, and what a trajectory holds."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.agent import Random, Stay
from cochef.agents.scripted import script
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.kitchen.dynamics import step
from cochef.kitchen.events import Event
from cochef.kitchen.state import start
from cochef.rollout import play_episodes, record

ROOM = dataclasses.replace(layouts.get("cramped_room"), horizon=120)
BUSY = script("onion_placement_and_delivery", ROOM)
AGENTS = (BUSY, Stay(), Random())
KITCHENS = 40
PLAYED = 5  # kitchens of the same matchup in the totals


def equal(one, other):
    return jax.tree.all(jax.tree.map(np.array_equal, one, other))


@pytest.fixture(scope="module")
def trajectory():
    return jax.device_get(record(ROOM, (BUSY, Random()), jax.random.key(1), KITCHENS))


@pytest.fixture(scope="module")
def totals():
    """Busy with random, stay with busy, and random with itself."""
    matchups = ((0, 2, PLAYED), (1, 0, 3), (2, 2, 2))
    return jax.device_get(play_episodes(ROOM, AGENTS, matchups, jax.random.key(1)))


def test_a_trajectory_holds_every_step_from_the_start_to_the_horizon(trajectory):
    assert trajectory.actions.shape == (ROOM.horizon, KITCHENS, 2)
    assert trajectory.states.time.tolist() == [[t] * KITCHENS for t in range(ROOM.horizon + 1)]
    first = jax.tree.map(lambda leaf: leaf[0, 0], trajectory.states)
    assert equal(first, jax.device_get(start(ROOM)))


def test_each_recorded_state_follows_from_the_one_before_and_the_actions(trajectory):
    before = jax.tree.map(lambda leaf: jnp.asarray(leaf[:-1]), trajectory.states)
    steps = jax.jit(jax.vmap(jax.vmap(partial(step, ROOM))))
    after, outcomes = jax.device_get(steps(before, jnp.asarray(trajectory.actions)))
    assert equal(after, jax.tree.map(lambda leaf: leaf[1:], trajectory.states))
    assert equal(outcomes, trajectory.outcomes)


def test_totals_are_the_sums_of_a_trajectory_however_many_others_play_elsewhere(trajectory, totals):
    assert np.array_equal(totals.events[:PLAYED], trajectory.outcomes.events.sum(axis=0)[:PLAYED])
    assert np.array_equal(totals.reward[:PLAYED], trajectory.outcomes.reward.sum(axis=0)[:PLAYED])
    assert np.array_equal(totals.score[:PLAYED], trajectory.score[:PLAYED])


def test_the_score_is_the_task_reward_of_both_chefs_and_nothing_else(totals):
    assert totals.score.sum() > 0
    assert np.array_equal(totals.score, 20 * totals.events[:, :, Event.DELIVERY].sum(axis=1))
    assert np.array_equal(totals.reward, 20.0 * totals.events[:, :, Event.DELIVERY])


def test_everybody_sits_where_the_matchup_says(totals):
    by_matchup = np.split(totals.events.sum(axis=-1), (PLAYED, PLAYED + 3))
    assert (by_matchup[0][:, 0] > 10).all()
    assert (by_matchup[1][:, 0] == 0).all()
    assert (by_matchup[1][:, 1] > 10).all()
    assert by_matchup[2].shape == (2, 2)


def test_the_same_key_gives_the_same_episodes_and_another_key_others(trajectory):
    again = jax.device_get(record(ROOM, (BUSY, Random()), jax.random.key(1), KITCHENS))
    other = jax.device_get(record(ROOM, (BUSY, Random()), jax.random.key(2), KITCHENS))
    assert equal(again, trajectory)
    assert not np.array_equal(other.actions, trajectory.actions)


def test_kitchens_and_steps_have_random_numbers_of_their_own(trajectory):
    actions = trajectory.actions[:, :, 1]
    shares = np.bincount(actions.ravel(), minlength=len(Action)) / actions.size
    assert shares == pytest.approx(np.full(len(Action), 1 / 6), abs=0.03)
    assert (actions[:, 1:] == actions[:, :-1]).mean() == pytest.approx(1 / 6, abs=0.03)
    assert (actions[1:] == actions[:-1]).mean() == pytest.approx(1 / 6, abs=0.03)


class CountStays:
    """A metric that counts steps, and those in which a chef did nothing."""

    def begin(self, layout):
        return {"steps": jnp.int32(0), "stays": jnp.zeros(2, jnp.int32)}

    def update(self, layout, counted, transition):
        passed = transition.next_state.time - transition.state.time
        stays = counted["stays"] + (transition.actions == Action.STAY)
        return {"steps": counted["steps"] + passed, "stays": stays}


def test_a_metric_gets_every_step_of_every_kitchen():
    matchups = ((0, 1, 5), (1, 1, 20))
    counted = jax.device_get(
        play_episodes(ROOM, (Stay(), Random()), matchups, jax.random.key(0), CountStays())
    )
    assert counted["steps"].tolist() == [ROOM.horizon] * 25
    assert counted["stays"][:5, 0].tolist() == [ROOM.horizon] * 5
    by_random = counted["stays"][5:]
    assert by_random.mean() == pytest.approx(ROOM.horizon / 6, abs=4)
    assert (by_random[:, 0] != by_random[:, 1]).mean() > 0.5  # each seat has its own numbers


@pytest.mark.parametrize("matchup", [(0, 3, 1), (-1, 0, 1), (0, 0, 0)])
def test_a_matchup_of_nobody_or_nowhere_is_an_error(matchup):
    with pytest.raises(
        ValueError, match="of 3 agents; it takes two of their numbers and some kitchens"
    ):
        play_episodes(ROOM, AGENTS, (matchup,), jax.random.key(0))
