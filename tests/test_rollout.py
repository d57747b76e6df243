"""Episodes in bulk: who sits where, what follows from a key, and that a recording is what was played."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.agent import Random, Stay
from cochef.agents.scripted import script
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action, Event
from cochef.kitchen.dynamics import step
from cochef.kitchen.state import start
from cochef.rollout import record, play_episodes

ROOM = dataclasses.replace(layouts.get("cramped_room"), horizon=120)
BUSY = script("onion_placement_and_delivery", ROOM)
AGENTS = (BUSY, Stay(), Random())
KITCHENS = 40
PLAYED = 5  # kitchens of the same match in a tally


def equal(one, other):
    return jax.tree.all(jax.tree.map(np.array_equal, one, other))


@pytest.fixture(scope="module")
def recording():
    return jax.device_get(record(ROOM, (BUSY, Random()), jax.random.key(1), KITCHENS))


@pytest.fixture(scope="module")
def tally():
    """Busy with random, stay with busy, and random with itself."""
    matches = ((0, 2, PLAYED), (1, 0, 3), (2, 2, 2))
    return jax.device_get(play_episodes(ROOM, AGENTS, matches, jax.random.key(1)))


def test_a_recording_holds_every_step_from_the_start_to_the_horizon(recording):
    assert recording.actions.shape == (ROOM.horizon, KITCHENS, 2)
    assert recording.states.time.tolist() == [[t] * KITCHENS for t in range(ROOM.horizon + 1)]
    first = jax.tree.map(lambda leaf: leaf[0, 0], recording.states)
    assert equal(first, jax.device_get(start(ROOM)))


def test_each_recorded_state_follows_from_the_one_before_and_the_actions(recording):
    before = jax.tree.map(lambda leaf: jnp.asarray(leaf[:-1]), recording.states)
    steps = jax.jit(jax.vmap(jax.vmap(partial(step, ROOM))))
    after, outcomes = jax.device_get(steps(before, jnp.asarray(recording.actions)))
    assert equal(after, jax.tree.map(lambda leaf: leaf[1:], recording.states))
    assert equal(outcomes, recording.outcomes)


def test_a_tally_is_the_sum_of_a_recording_however_many_others_play_elsewhere(recording, tally):
    assert np.array_equal(tally.events[:PLAYED], recording.outcomes.events.sum(axis=0)[:PLAYED])
    assert np.array_equal(tally.reward[:PLAYED], recording.outcomes.reward.sum(axis=0)[:PLAYED])
    assert np.array_equal(tally.score[:PLAYED], recording.score[:PLAYED])


def test_the_score_is_the_task_reward_of_both_chefs_and_nothing_else(tally):
    assert tally.score.sum() > 0
    assert np.array_equal(tally.score, 20 * tally.events[:, :, Event.DELIVERY].sum(axis=1))
    assert np.array_equal(tally.reward, 20.0 * tally.events[:, :, Event.DELIVERY])


def test_everybody_sits_where_the_match_says(tally):
    by_match = np.split(tally.events.sum(axis=-1), (PLAYED, PLAYED + 3))
    assert (by_match[0][:, 0] > 10).all()
    assert (by_match[1][:, 0] == 0).all()
    assert (by_match[1][:, 1] > 10).all()
    assert by_match[2].shape == (2, 2)


def test_the_same_key_gives_the_same_episodes_and_another_key_others(recording):
    again = jax.device_get(record(ROOM, (BUSY, Random()), jax.random.key(1), KITCHENS))
    other = jax.device_get(record(ROOM, (BUSY, Random()), jax.random.key(2), KITCHENS))
    assert equal(again, recording)
    assert not np.array_equal(other.actions, recording.actions)


def test_kitchens_and_steps_have_random_numbers_of_their_own(recording):
    actions = recording.actions[:, :, 1]
    shares = np.bincount(actions.ravel(), minlength=len(Action)) / actions.size
    assert shares == pytest.approx(np.full(len(Action), 1 / 6), abs=0.03)
    assert (actions[:, 1:] == actions[:, :-1]).mean() == pytest.approx(1 / 6, abs=0.03)
    assert (actions[1:] == actions[:-1]).mean() == pytest.approx(1 / 6, abs=0.03)


class Counting:
    """A watcher that counts steps, and those in which a chef did nothing."""

    def begin(self, layout):
        return {"steps": jnp.int32(0), "stays": jnp.zeros(2, jnp.int32)}

    def see(self, layout, seen, step):
        stays = seen["stays"] + (step.actions == Action.STAY)
        return {"steps": seen["steps"] + (transition.next_state.time - step.state.time), "stays": stays}


def test_a_watcher_sees_every_step_of_every_kitchen():
    matches = ((0, 1, 5), (1, 1, 20))
    seen = jax.device_get(play_episodes(ROOM, (Stay(), Random()), matches, jax.random.key(0), Counting()))
    assert seen["steps"].tolist() == [ROOM.horizon] * 25
    assert seen["stays"][:5, 0].tolist() == [ROOM.horizon] * 5
    by_random = seen["stays"][5:]
    assert by_random.mean() == pytest.approx(ROOM.horizon / 6, abs=4)
    assert (by_random[:, 0] != by_random[:, 1]).mean() > 0.5  # seats have random numbers of their own, too


@pytest.mark.parametrize("match", [(0, 3, 1), (-1, 0, 1), (0, 0, 0)])
def test_a_match_of_nobody_or_nowhere_is_an_error(match):
    with pytest.raises(ValueError, match="of 3 agents; it takes two of their numbers and some kitchens"):
        play_episodes(ROOM, AGENTS, (match,), jax.random.key(0))
