"""What can be learned: games of two seats, fixed length and events. The kitchen is one; tests have tiny ones."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped, UInt8

from cochef.agents.actor_critic import look, observation_spec
from cochef.agents.network_config import ObservationKind
from cochef.agents.networks import ObservationSpec
from cochef.kitchen import dynamics
from cochef.kitchen.constants import Action, Event
from cochef.kitchen.layout import Layout
from cochef.kitchen.random_states import scattered as scatter
from cochef.kitchen.state import State, start

EnvState = Any  # a tree of arrays


@runtime_checkable
class Game(Protocol):
    """A game for two; hashable, as compiled programs are specialised to it."""

    @property
    def actions(self) -> int:
        """How many actions there are."""
        ...

    @property
    def events(self) -> int:
        """How many kinds of events there are."""
        ...

    @property
    def horizon(self) -> int:
        """How many steps an episode has."""
        ...

    @property
    def spec(self) -> ObservationSpec:
        """What a seat sees."""
        ...

    def begin(self, key: Key[Array, ""], elapsed: Int[Array, ""], scattered: Bool[Array, ""]) -> EnvState:
        """One game as if so many steps had passed without anything happening, or in the middle of things."""
        ...

    def step(
        self, state: EnvState, actions: Int[Array, "2"]
    ) -> tuple[EnvState, Shaped[Array, "2 events"], Float[Array, "2"]]:
        """One game a step later, the events of each seat, and the task reward that each seat earned for both."""
        ...

    def look(self, states: EnvState) -> UInt8[Array, "2 *view games"]:
        """What each seat sees in many games, which are the last axis of all arrays."""
        ...


@dataclass(frozen=True)
class KitchenEnvironment:
    """A kitchen as a game to be learned."""

    layout: Layout
    eyes: ObservationKind = ObservationKind.COMPACT
    actions: int = len(Action)
    events: int = len(Event)

    @property
    def horizon(self) -> int:
        """How many steps an episode has."""
        return self.layout.horizon

    @property
    def spec(self) -> ObservationSpec:
        """What a chef sees."""
        return observation_spec(self.layout, self.eyes)

    def begin(self, key: Key[Array, ""], elapsed: Int[Array, ""], scattered: Bool[Array, ""]) -> State:
        """The kitchen before anybody has done anything, or in a random state."""
        plain, other = start(self.layout), scatter(self.layout, key)
        chosen = jax.tree.map(lambda one, two: jnp.where(scattered, two, one), plain, other)
        return State(chosen.chefs, chosen.pots, chosen.counters, elapsed.astype(jnp.int32))

    def step(
        self, state: State, actions: Int[Array, "2"]
    ) -> tuple[State, Shaped[Array, "2 events"], Float[Array, "2"]]:
        """One step of the kitchen."""
        after, outcome = dynamics.step(self.layout, state, actions)
        return after, outcome.events, outcome.reward

    def look(self, states: State) -> UInt8[Array, "2 *view games"]:
        """What the chefs see."""
        return look(self.layout, self.eyes, states)
