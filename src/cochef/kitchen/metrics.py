"""What can be measured of an episode, step by step."""

from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from cochef.kitchen.constants import SEATS
from cochef.kitchen.events import Event
from cochef.kitchen.layout import Layout
from cochef.kitchen.stepping import Transition
from cochef.pytree import pytree

Measured = Any  # a tree of arrays that a metric carries through an episode


@runtime_checkable
class Metric(Protocol):
    """Measures an episode step by step; hashable, as compiled programs are specialised to it."""

    def begin(self, layout: Layout) -> Measured:
        """The value before the first step."""
        ...

    def update(self, layout: Layout, measured: Measured, transition: Transition) -> Measured:
        """The value after one more step."""
        ...


@pytree
class EpisodeTotals:
    """Each chef's task reward in an episode, and how often it caused each event."""

    reward: Float[Array, "*kitchens 2"]
    events: Int[Array, "*kitchens 2 events"]

    @property
    def score(self) -> Float[Array | np.ndarray, "*kitchens"]:
        """The team's task reward."""
        return self.reward.sum(axis=-1)


class CountTotals:
    """Measures the score and the events."""

    def begin(self, layout: Layout) -> EpisodeTotals:
        """Nothing yet."""
        return EpisodeTotals(jnp.zeros(SEATS), jnp.zeros((SEATS, len(Event)), jnp.int32))

    def update(
        self, layout: Layout, measured: EpisodeTotals, transition: Transition
    ) -> EpisodeTotals:
        """Add a step."""
        outcome = transition.outcome
        return EpisodeTotals(measured.reward + outcome.reward, measured.events + outcome.events)


TOTALS = CountTotals()
