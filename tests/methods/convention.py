"""A matrix game: both choose one of several options, and are rewarded if they agree."""

from dataclasses import dataclass

import jax.numpy as jnp

from cochef.agents.networks import ObservationSpec
from cochef.kitchen.constants import SEATS
from cochef.kitchen.dynamics import Outcome


@dataclass(frozen=True)
class Convention:
    """An event says which option a seat chose; agreeing on one pays what is listed for it."""

    payoffs: tuple[float, ...]
    horizon: int = 1

    @property
    def actions(self):
        return len(self.payoffs)

    @property
    def events(self):
        return len(self.payoffs)

    @property
    def observation_spec(self):
        return ObservationSpec((self.horizon,), (1.0,) * self.horizon)

    def reset(self, key, elapsed, random_start):
        return elapsed.astype(jnp.int32)

    def step(self, state, actions):
        chosen = actions[:, None] == jnp.arange(self.actions)
        agreed = (chosen.all(axis=0) * jnp.array(self.payoffs)).sum()
        return state + 1, Outcome(chosen, jnp.full(SEATS, agreed / SEATS))

    def observe(self, states):
        step = states == jnp.arange(self.horizon)[:, None]
        return jnp.broadcast_to(step, (SEATS, *step.shape)).astype(jnp.uint8)
