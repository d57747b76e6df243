"""Agents made from agents: clumsy ones, slow ones, and mixtures."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from cochef.agents.agent import Agent, Carry
from cochef.kitchen.constants import Action
from cochef.kitchen.state import State


class Noisy(eqx.Module):
    """Does anything at random with some probability, else what its agent does."""

    agent: Agent
    noise: float = eqx.field(static=True)

    def begin(self, key: Key[Array, ""]) -> Carry:
        """The agent's own."""
        return self.agent.begin(key)

    def act(self, state: State, seat: int, carry: Carry, key: Key[Array, ""]) -> tuple[Int[Array, ""], Carry]:
        """The agent thinks in either case."""
        key_agent, key_slip, key_action = jax.random.split(key, 3)
        action, carry = self.agent.act(state, seat, carry, key_agent)
        slips = jax.random.uniform(key_slip) < self.noise
        return jnp.where(slips, jax.random.randint(key_action, (), 0, len(Action)), action), carry


class Slow(eqx.Module):
    """Stays for some steps before each action; its agent sees, thinks and remembers only when it acts."""

    agent: Agent
    idle: int = eqx.field(static=True)

    def begin(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], Carry]:
        """Full of rest still to take."""
        return jnp.int32(self.idle), self.agent.begin(key)

    def act(
        self, state: State, seat: int, carry: tuple[Int[Array, ""], Carry], key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], tuple[Int[Array, ""], Carry]]:
        """Stay, or act when rested."""
        rest, before = carry
        action, after = self.agent.act(state, seat, before, key)
        acts = rest == 0
        after = jax.tree.map(lambda new, old: jnp.where(acts, new, old), after, before)
        return jnp.where(acts, action, Action.STAY), (jnp.where(acts, self.idle, rest - 1), after)


class Mixture(eqx.Module):
    """One of several agents, drawn for each episode."""

    agents: tuple[Agent, ...]
    weights: tuple[float, ...] = eqx.field(static=True)

    def begin(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], Any]:
        """Who it is in this episode, and everybody's carry."""
        key_who, key_begin = jax.random.split(key)
        who = jax.random.categorical(key_who, jnp.log(jnp.asarray(self.weights)))
        return who, tuple(agent.begin(key_begin) for agent in self.agents)

    def act(
        self, state: State, seat: int, carry: tuple[Int[Array, ""], Any], key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], tuple[Int[Array, ""], Any]]:
        """What the drawn agent does."""
        who, carries = carry
        acted = [agent.act(state, seat, own, key) for agent, own in zip(self.agents, carries, strict=True)]
        actions, carries = zip(*acted, strict=True)
        return jnp.stack(actions)[who], (who, carries)
