"""Agents made of other agents: noisy ones, slow ones and mixtures."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from cochef.agents.agent import Agent, Carry
from cochef.kitchen.constants import Action
from cochef.kitchen.state import State

MAX_IDLE = 100  # the most steps that a slow agent stays before each action
MAX_SLOWNESS = MAX_IDLE + 1  # the same limit for an agent that acts once in so many steps


class Noisy(eqx.Module):
    """Takes a random action with some probability, and otherwise its agent's."""

    agent: Agent
    noise: float = eqx.field(static=True)

    def begin(self, key: Key[Array, ""]) -> Carry:
        """The agent's carry."""
        return self.agent.begin(key)

    def act(
        self, state: State, seat: int, carry: Carry, key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], Carry]:
        """The agent's carry advances in either case."""
        key_agent, key_noise, key_action = jax.random.split(key, 3)
        action, carry = self.agent.act(state, seat, carry, key_agent)
        is_random = jax.random.uniform(key_noise) < self.noise
        anything = jax.random.randint(key_action, (), 0, len(Action))
        return jnp.where(is_random, anything, action), carry


class Slow(eqx.Module):
    """Stays for some steps before each action; its agent's carry advances only when it acts."""

    agent: Agent
    idle: int = eqx.field(static=True)

    def begin(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], Carry]:
        """The steps left to stay, and the agent's carry."""
        return jnp.int32(self.idle), self.agent.begin(key)

    def act(
        self, state: State, seat: int, carry: tuple[Int[Array, ""], Carry], key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], tuple[Int[Array, ""], Carry]]:
        """Stay, or act when no steps are left to stay."""
        left, before = carry
        action, after = self.agent.act(state, seat, before, key)
        acts = left == 0
        after = jax.tree.map(lambda new, old: jnp.where(acts, new, old), after, before)
        left = jnp.where(acts, self.idle, left - 1)
        return jnp.where(acts, action, Action.STAY), (left, after)


class Mixture(eqx.Module):
    """One of several agents, drawn for each episode."""

    agents: tuple[Agent, ...]
    weights: tuple[float, ...] = eqx.field(static=True)

    def begin(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], Any]:
        """The number of the agent drawn, and every agent's carry."""
        key_drawn, key_begin = jax.random.split(key)
        drawn = jax.random.categorical(key_drawn, jnp.log(jnp.asarray(self.weights)))
        return drawn, tuple(agent.begin(key_begin) for agent in self.agents)

    def act(
        self, state: State, seat: int, carry: tuple[Int[Array, ""], Any], key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], tuple[Int[Array, ""], Any]]:
        """The action of the agent drawn."""
        drawn, carries = carry
        acted = [
            agent.act(state, seat, own, key)
            for agent, own in zip(self.agents, carries, strict=True)
        ]
        actions, carries = zip(*acted, strict=True)
        return jnp.stack(actions)[drawn], (drawn, carries)
