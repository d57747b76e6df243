"""Clumsy and slow agents, and mixtures."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.agent import Random, Stay
from cochef.agents.modified import Mixture, Noisy, Slow
from cochef.agents.names import load
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.kitchen.state import start
from cochef.pytree import pytree
from cochef.randomness import fast

ROOM = layouts.get("cramped_room")
STEPS = 12


@pytree
class Rotating:
    """Looks around, one direction after the other, by its own count of actions."""

    def begin(self, key):
        return jnp.int32(0)

    def act(self, state, seat, carry, key):
        return carry % 4, carry + 1


@jax.jit
def actions_of(agent, keys):
    """What the agent does in the room for some steps, episode by episode: [episodes, steps]."""

    def episode(key):
        key_begin, key_act = jax.random.split(key)

        def step(carry, key_step):
            action, carry = agent.act(start(ROOM), 0, carry, key_step)
            return carry, action

        return jax.lax.scan(step, agent.begin(key_begin), jax.random.split(key_act, STEPS))[1]

    return jax.vmap(episode)(keys)


def play(agent, episodes=2_000):
    return np.asarray(actions_of(agent, jax.random.split(fast(jax.random.key(3)), episodes)))


def shares(actions):
    return np.bincount(actions.ravel(), minlength=len(Action)) / actions.size


def test_an_agent_that_always_slips_acts_like_the_random_one():
    even = np.full(len(Action), 1 / len(Action))
    assert shares(play(Random())) == pytest.approx(even, abs=0.015)
    assert shares(play(load("stay@noise=1", ROOM))) == pytest.approx(even, abs=0.015)


def test_noise_is_the_probability_of_a_random_action():
    expected = np.where(np.arange(len(Action)) == Action.STAY, 0.7 + 0.3 / 6, 0.3 / 6)
    assert shares(play(load("stay@noise=0.3", ROOM))) == pytest.approx(expected, abs=0.015)
    assert np.array_equal(play(Noisy(Rotating(), 0.0)), play(Rotating()))


def test_a_slip_does_not_stop_the_agent_from_thinking():
    actions, steady = play(Noisy(Rotating(), 0.3)), play(Rotating())
    assert (actions == steady).mean() == pytest.approx(0.7 + 0.3 / 6, abs=0.015)


@pytest.mark.parametrize("idle", [0, 1, 3])
def test_a_slow_agent_stays_some_steps_before_each_action_and_counts_only_its_actions(idle):
    expected = [Action.STAY] * STEPS
    for number, step in enumerate(range(idle, STEPS, idle + 1)):
        expected[step] = number % 4
    assert play(Slow(Rotating(), idle), episodes=3).tolist() == [expected] * 3


def test_who_is_both_slow_and_clumsy_slips_as_the_order_of_changes_says():
    rests = np.array([True, True, False] * 4)
    slips_when_acting = play(load("stay@noise=1,idle=2", ROOM))
    assert (slips_when_acting[:, rests] == Action.STAY).all()
    assert shares(slips_when_acting[:, ~rests]) == pytest.approx(np.full(6, 1 / 6), abs=0.02)
    slips_always = play(load("stay@idle=2,noise=1", ROOM))
    assert shares(slips_always) == pytest.approx(np.full(6, 1 / 6), abs=0.015)


def test_a_mixture_is_one_of_its_agents_for_a_whole_episode_as_often_as_its_weight_says():
    actions = play(Mixture((Stay(), Rotating()), (0.3, 0.7)))
    stays, turns = (actions == Action.STAY).all(axis=1), (actions == play(Rotating())).all(axis=1)
    assert (stays ^ turns).all()
    assert stays.mean() == pytest.approx(0.3, abs=0.05)
