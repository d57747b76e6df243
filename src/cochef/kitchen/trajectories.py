"""Episodes kept whole, as recording and replaying give them."""

import jax
import numpy as np
from jaxtyping import Array, Float, Int

from cochef.kitchen.dynamics import Outcome
from cochef.kitchen.state import State
from cochef.pytree import pytree


@pytree
class Trajectory:
    """Every state, joint action and outcome of an episode, or of one in each of some kitchens."""

    states: State  # time first; the last of its T + 1 states is the one after the last action
    actions: Int[Array | np.ndarray, "time *kitchens 2"]
    outcomes: Outcome  # time first

    @property
    def score(self) -> Float[Array | np.ndarray | np.float32, "*kitchens"]:
        """The task reward of each episode."""
        return self.outcomes.reward.sum(axis=(0, -1))

    def of_kitchen(self, number: int) -> "Trajectory":
        """The episode of one of the kitchens, without an axis for them."""
        return jax.tree.map(lambda leaf: leaf[:, number], self)

    def first(self, steps: int) -> "Trajectory":
        """The first steps."""
        states = jax.tree.map(lambda leaf: leaf[: steps + 1], self.states)
        actions, outcomes = jax.tree.map(lambda leaf: leaf[:steps], (self.actions, self.outcomes))
        return Trajectory(states, actions, outcomes)
