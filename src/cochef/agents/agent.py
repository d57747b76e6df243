"""The interface of every agent, and the two simplest agents."""

from abc import abstractmethod
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from cochef.kitchen.constants import Action
from cochef.kitchen.state import State
from cochef.pytree import pytree

Carry = Any  # a tree of arrays that an agent carries from step to step


@runtime_checkable
class Agent(Protocol):
    """Acts for one chef in one kitchen; an agent is a tree of its parameters.

    Rollouts map it over many kitchens.
    """

    @abstractmethod
    def begin(self, key: Key[Array, ""]) -> Carry:
        """The carry an episode starts with."""

    @abstractmethod
    def act(
        self, state: State, seat: int, carry: Carry, key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], Carry]:
        """The action for the chef in `seat`, and the carry afterwards."""


@runtime_checkable
class NetworkAgent(Agent, Protocol):
    """An agent that is a network, whose action probabilities can be seen."""

    @abstractmethod
    def probabilities(self, state: State, seat: int, carry: Carry) -> Float[Array, " actions"]:
        """The probabilities of the six actions; `carry` is its recurrent state."""


@pytree
class Random:
    """Takes a random action in every step."""

    def begin(self, key: Key[Array, ""]) -> Carry:
        """An empty carry."""
        return ()

    def act(
        self, state: State, seat: int, carry: Carry, key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], Carry]:
        """One of the six actions, all equally likely."""
        return (jax.random.bits(key) % len(Action)).astype(jnp.int32), carry


@pytree
class Stay:
    """Stays in every step."""

    def begin(self, key: Key[Array, ""]) -> Carry:
        """An empty carry."""
        return ()

    def act(
        self, state: State, seat: int, carry: Carry, key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], Carry]:
        """Stay."""
        return jnp.int32(Action.STAY), carry
