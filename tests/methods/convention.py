"""A matrix game: both choose one of several options, and are paid if they choose the same."""

from dataclasses import dataclass

import jax.numpy as jnp

from cochef.agents.networks import ObservationSpec
from cochef.kitchen.constants import SEATS


@dataclass(frozen=True)
class Convention:
    """An event tells which option a seat chose; agreeing on an option pays each seat what is listed for it."""

    payoffs: tuple[float, ...]
    horizon: int = 1

    @property
    def actions(self):
        return len(self.payoffs)

    @property
    def events(self):
        return len(self.payoffs)

    @property
    def spec(self):
        return ObservationSpec((self.horizon,), (1.0,) * self.horizon)

    def begin(self, key, elapsed, scattered):
        return elapsed.astype(jnp.int32)

    def step(self, state, actions):
        chosen = actions[:, None] == jnp.arange(self.actions)
        agreed = (chosen.all(axis=0) * jnp.array(self.payoffs)).sum()
        return state + 1, chosen, jnp.full(SEATS, agreed / SEATS)

    def look(self, states):
        step = states == jnp.arange(self.horizon)[:, None]
        return jnp.broadcast_to(step, (SEATS, *step.shape)).astype(jnp.uint8)
