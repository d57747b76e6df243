"""Agents made from agents: clumsy ones, slow ones, and mixtures."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from cochef.agents.agent import Agent, Memory
from cochef.kitchen.constants import Action
from cochef.kitchen.state import State


class Noisy(eqx.Module):
    """Does anything at random with some probability, else what its agent does."""

    agent: Agent
    noise: float = eqx.field(static=True)

    def begin(self, key: Key[Array, ""]) -> Memory:
        """The agent's own."""
        return self.agent.begin(key)

    def act(self, state: State, seat: int, memory: Memory, key: Key[Array, ""]) -> tuple[Int[Array, ""], Memory]:
        """The agent thinks in either case."""
        key_agent, key_slip, key_action = jax.random.split(key, 3)
        action, memory = self.agent.act(state, seat, memory, key_agent)
        slips = jax.random.uniform(key_slip) < self.noise
        return jnp.where(slips, jax.random.randint(key_action, (), 0, len(Action)), action), memory


class Slow(eqx.Module):
    """Stays for some steps before each action; its agent sees, thinks and remembers only when it acts."""

    agent: Agent
    idle: int = eqx.field(static=True)

    def begin(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], Memory]:
        """Full of rest still to take."""
        return jnp.int32(self.idle), self.agent.begin(key)

    def act(
        self, state: State, seat: int, memory: tuple[Int[Array, ""], Memory], key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], tuple[Int[Array, ""], Memory]]:
        """Stay, or act when rested."""
        rest, before = memory
        action, after = self.agent.act(state, seat, before, key)
        acts = rest == 0
        after = jax.tree.map(lambda new, old: jnp.where(acts, new, old), after, before)
        return jnp.where(acts, action, Action.STAY), (jnp.where(acts, self.idle, rest - 1), after)


class Mixture(eqx.Module):
    """One of several agents, drawn for each episode."""

    agents: tuple[Agent, ...]
    weights: tuple[float, ...] = eqx.field(static=True)

    def begin(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], Any]:
        """Who it is in this episode, and everybody's memory."""
        key_who, key_begin = jax.random.split(key)
        who = jax.random.categorical(key_who, jnp.log(jnp.asarray(self.weights)))
        return who, tuple(agent.begin(key_begin) for agent in self.agents)

    def act(
        self, state: State, seat: int, memory: tuple[Int[Array, ""], Any], key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], tuple[Int[Array, ""], Any]]:
        """What the drawn agent does."""
        who, memories = memory
        acted = [agent.act(state, seat, own, key) for agent, own in zip(self.agents, memories, strict=True)]
        actions, memories = zip(*acted, strict=True)
        return jnp.stack(actions)[who], (who, memories)
