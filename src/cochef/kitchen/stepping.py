"""The stepping core: the only place that applies the rules to many kitchens.

Training, evaluation, replay and the browser all step kitchens through `step_kitchens`, and those
that play on without stopping through a `KitchenLoop`. Kitchens are the last axis of every array
here: the rules then become long vector operations over kitchens, about twice as fast on a CPU as
with kitchens first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from cochef.kitchen.dynamics import Outcome
from cochef.pytree import pytree

EnvState = Any  # a tree of arrays: a kitchen's `State`, or the state of another game
StepFunction = Callable[[EnvState, Int[Array, "2"]], tuple[EnvState, Outcome]]  # of one kitchen


@pytree
class Transition:
    """One step: the state acted on, the joint action, what it brought about, and the next state."""

    state: EnvState
    actions: Int[Array, "*batch 2"]
    outcome: Outcome
    next_state: EnvState


def over_kitchens(function: Any) -> Any:  # noqa: ANN401
    """Map a function of one kitchen over many, the last axis of all arrays."""
    return jax.vmap(function, in_axes=-1, out_axes=-1)


def repeat_kitchens(tree: Any, kitchens: int) -> Any:  # noqa: ANN401
    """The same tree for every kitchen."""
    return jax.tree.map(lambda leaf: jnp.repeat(leaf[..., None], kitchens, axis=-1), tree)


def step_kitchens(
    step: StepFunction, states: EnvState, actions: Int[Array, "2 kitchens"]
) -> Transition:
    """Apply a joint action in every kitchen."""

    @over_kitchens
    def one(state: EnvState, joint: Int[Array, "2"]) -> Transition:
        next_state, outcome = step(state, joint)
        return Transition(state, joint, outcome, next_state)

    return one(states, actions)


@dataclass(frozen=True)
class KitchenLoop:
    """How kitchens are played: the rules, who acts, what is kept, how episodes begin anew.

    In step n, `choose(states, players, n)` gives the joint actions, the players' next carry and
    what is worth knowing about the decision; `fold(folded, transition, decision)` gives the next
    folded value and what is kept of the step; `reset(transition, players, n)`, if given, begins new
    episodes where old ones have ended.
    """

    step: StepFunction
    choose: Callable[[EnvState, Any, Int[Array, ""]], tuple[Int[Array, "2 kitchens"], Any, Any]]
    fold: Callable[[Any, Transition, Any], tuple[Any, Any]]
    reset: Callable[[Transition, Any, Int[Array, ""]], tuple[EnvState, Any]] | None = None

    def advance(
        self, carry: tuple[EnvState, Any, Any], number: Int[Array, ""]
    ) -> tuple[tuple[EnvState, Any, Any], Any]:
        """Play a step in all kitchens: states, players and folded value, and what is kept."""
        states, players, folded = carry
        actions, players, decision = self.choose(states, players, number)
        transition = step_kitchens(self.step, states, actions)
        folded, kept = self.fold(folded, transition, decision)
        states = transition.next_state
        if self.reset is not None:
            states, players = self.reset(transition, players, number)
        return (states, players, folded), kept

    def scan(
        self, begin: tuple[EnvState, Any, Any], steps: int
    ) -> tuple[tuple[EnvState, Any, Any], Any]:
        """Play some steps in one program.

        `begin` holds the states, the players' carry (whatever they keep between steps) and the
        folded value. The result is all three at the end, and what was kept of each step, time
        first.
        """
        return jax.lax.scan(self.advance, begin, jnp.arange(steps))
