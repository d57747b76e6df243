"""Environments for training: games with two seats, a fixed horizon and events.

The kitchen is one; the tests' ladder of tiny games has others.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key, UInt8

from cochef.agents.actor_critic import observation_spec, observe
from cochef.agents.network_config import ObservationKind
from cochef.agents.networks import ObservationSpec
from cochef.kitchen import dynamics
from cochef.kitchen.constants import Action
from cochef.kitchen.dynamics import Outcome
from cochef.kitchen.events import Event
from cochef.kitchen.layout import Layout
from cochef.kitchen.random_states import random_state
from cochef.kitchen.state import State, start
from cochef.kitchen.stepping import EnvState


@runtime_checkable
class Environment(Protocol):
    """A game for two. It is hashable: each has a compiled program of its own."""

    @property
    def actions(self) -> int:
        """The number of actions."""
        ...

    @property
    def events(self) -> int:
        """The number of kinds of events."""
        ...

    @property
    def horizon(self) -> int:
        """The number of steps of an episode."""
        ...

    @property
    def observation_spec(self) -> ObservationSpec:
        """The shape and range of a seat's observation."""
        ...

    def reset(
        self, key: Key[Array, ""], elapsed: Int[Array, ""], random_start: Bool[Array, ""]
    ) -> EnvState:
        """One game, `elapsed` steps into its episode, at the usual start or in a random state."""
        ...

    def step(self, state: EnvState, actions: Int[Array, "2"]) -> tuple[EnvState, Outcome]:
        """One step of one game; the outcome has each seat's events and task reward."""
        ...

    def observe(self, states: EnvState) -> UInt8[Array, "2 *observation games"]:
        """Both seats' observations in many games; games are the last axis of all arrays."""
        ...


@dataclass(frozen=True)
class KitchenEnvironment:
    """A layout as an environment to learn in."""

    layout: Layout
    observation: ObservationKind = ObservationKind.COMPACT
    actions: int = len(Action)
    events: int = len(Event)

    @property
    def horizon(self) -> int:
        """The number of steps of an episode."""
        return self.layout.horizon

    @property
    def observation_spec(self) -> ObservationSpec:
        """The shape and range of a chef's observation."""
        return observation_spec(self.layout, self.observation)

    def reset(
        self, key: Key[Array, ""], elapsed: Int[Array, ""], random_start: Bool[Array, ""]
    ) -> State:
        """The layout's own start, or a random state."""

        def choose(plain: Array, drawn: Array) -> Array:
            return jnp.where(random_start, drawn, plain)

        chosen = jax.tree.map(choose, start(self.layout), random_state(self.layout, key))
        return State(chosen.chefs, chosen.pots, chosen.counters, elapsed.astype(jnp.int32))

    def step(self, state: State, actions: Int[Array, "2"]) -> tuple[State, Outcome]:
        """One step of the kitchen."""
        return dynamics.step(self.layout, state, actions)

    def observe(self, states: State) -> UInt8[Array, "2 *observation games"]:
        """What the chefs observe."""
        return observe(self.layout, self.observation, states)
