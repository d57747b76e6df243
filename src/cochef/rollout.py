"""Playing episodes: the only place that steps kitchens in bulk.

Inside a rollout the kitchens are the last axis of every array, so that the rules become long vector operations
over kitchens (about twice as fast on a CPU as kitchens first). Results have the axes time, kitchen, seat.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from cochef.agents.agent import Agent
from cochef.kitchen.constants import SEATS
from cochef.kitchen.dynamics import Outcome, step
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State, start
from cochef.pytree import pytree

Pair = tuple[Agent, Agent]


@pytree
class Recording:
    """Episodes kept whole: the states that were acted on, the actions, and what they brought about."""

    states: State  # [T + 1, E, ...]: the last is the one after the last action
    actions: Int[Array, "time kitchens 2"]
    outcomes: Outcome  # [T, E, ...]

    @property
    def score(self) -> Float[Array, " kitchens"]:
        """The task reward of each episode."""
        return self.outcomes.reward.sum(axis=(0, 2))


@partial(jax.jit, static_argnames=("layout", "kitchens"))
def record(layout: Layout, agents: Pair, key: Key[Array, ""], kitchens: int) -> Recording:
    """Let two agents play one episode in each of some kitchens, and keep every step."""

    def one(key: Key[Array, ""]) -> tuple[State, Int[Array, "time 2"], Outcome]:
        keys_begin, keys_act = jax.random.split(key)
        memories = tuple(
            agent.begin(key_begin) for agent, key_begin in zip(agents, jax.random.split(keys_begin, SEATS), strict=True)
        )

        def tick(carry: tuple, key_step: Key[Array, ""]) -> tuple[tuple, tuple]:
            state, memories = carry
            keys = jax.random.split(key_step, SEATS)
            acted = [
                agent.act(state, seat, memory, keys[seat])
                for seat, (agent, memory) in enumerate(zip(agents, memories, strict=True))
            ]
            actions = jnp.stack([action for action, _ in acted])
            after, outcome = step(layout, state, actions)
            return (after, tuple(memory for _, memory in acted)), (state, actions, outcome)

        (last, _), (states, actions, outcomes) = jax.lax.scan(
            tick, (start(layout), memories), jax.random.split(keys_act, layout.horizon)
        )
        states = jax.tree.map(lambda many, one: jnp.concatenate([many, one[None]]), states, last)
        return states, actions, outcomes

    return Recording(*jax.vmap(one, out_axes=1)(jax.random.split(key, kitchens)))
