"""A tiny environment in which every kind of event pins another part of a learner."""

from dataclasses import dataclass
from enum import IntEnum, auto

import jax
import jax.numpy as jnp

from cochef.agents.networks import ObservationSpec
from cochef.kitchen.constants import SEATS
from cochef.kitchen.dynamics import Outcome
from cochef.pytree import pytree


class Rung(IntEnum):
    """What can happen to a seat in a step; a learner rewarded for one of them climbs that rung."""

    STEP = 0  # always
    SIGNAL = auto()  # its signal is 1
    LATE_SIGNAL = auto()  # the last step, and its first signal was 1
    ACTION = auto()  # its action is 1
    MATCH = auto()  # its action is its signal
    LATE_ACTION = auto()  # the last step, and its first action was 1
    MEMORY = auto()  # the last step, and its action is its first signal
    RIGHT = auto()  # it is seat 1


@pytree
class LadderState:
    """The state of an episode."""

    signals: jax.Array  # of all steps
    elapsed: jax.Array  # steps
    first_actions: jax.Array  # of each seat


@dataclass(frozen=True)
class Ladder:
    """Each seat observes the step and its own signal of that step, a fair coin.

    The task rewards a seat for matching it.
    """

    horizon: int = 4
    actions: int = 2
    events: int = len(Rung)

    @property
    def observation_spec(self):
        entries = self.horizon + 2
        return ObservationSpec((entries,), (1.0,) * entries)

    def reset(self, key, elapsed, random_start):
        signals = jax.random.bernoulli(key, shape=(SEATS, self.horizon)).astype(jnp.int32)
        return LadderState(signals, elapsed.astype(jnp.int32), jnp.zeros(SEATS, jnp.int32))

    def step(self, state, actions):
        signal = _at(state.signals, state.elapsed)
        last = state.elapsed == self.horizon - 1
        first_actions = jnp.where(state.elapsed == 0, actions, state.first_actions)
        first_signal = state.signals[:, 0]
        happened = {
            Rung.STEP: jnp.ones(SEATS, bool),
            Rung.SIGNAL: signal == 1,
            Rung.LATE_SIGNAL: last & (first_signal == 1),
            Rung.ACTION: actions == 1,
            Rung.MATCH: actions == signal,
            Rung.LATE_ACTION: last & (first_actions == 1),
            Rung.MEMORY: last & (actions == first_signal),
            Rung.RIGHT: jnp.arange(SEATS) == 1,
        }
        events = jnp.stack([happened[rung] for rung in Rung], axis=-1)
        next_state = LadderState(state.signals, state.elapsed + 1, first_actions)
        return next_state, Outcome(events, (actions == signal).astype(jnp.float32))

    def observe(self, states):
        games = jnp.moveaxis(states.signals, -1, 0)
        signal = jax.vmap(_at, out_axes=-1)(games, states.elapsed)
        return self.observation(states.elapsed, signal)

    def observation(self, elapsed, signal):
        """The entries are the second axis; the first one is the signals' own."""
        step = elapsed == jnp.arange(self.horizon).reshape(-1, *(1,) * elapsed.ndim)
        step = jnp.broadcast_to(step, (len(signal), *step.shape))
        both = jnp.stack([signal == 0, signal == 1], axis=1)
        return jnp.concatenate([step, both], axis=1).astype(jnp.uint8)


def _at(signals, elapsed):
    return jnp.where(elapsed == jnp.arange(signals.shape[-1]), signals, 0).sum(axis=-1)
