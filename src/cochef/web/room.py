"""A room: all games in one kitchen, stepped together by one compiled program with a fixed number of slots.

States and the agents' memories stay inside; a tick takes one order a slot and gives what happened. The program plays
as many ticks as it is told, so that a game that was interrupted is soon where it was. Nothing is compiled after a room
has been opened.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Integer, Key, UInt32

from cochef.agents.agent import Agent, Carry
from cochef.kitchen.constants import SEATS, Action, Event
from cochef.kitchen.dynamics import step
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import Chef, State, start
from cochef.kitchen.text import each_to_json
from cochef.pytree import pytree
from cochef.randomness import FAST
from cochef.web import programs
from cochef.web.session import Joint

Number = Integer[Array | np.ndarray | np.int32, ""]

AGENT = -1  # in place of an action: whatever the agent chooses
AT_ONCE = 32  # ticks that a room plays at most in one go


@dataclass(frozen=True)
class Order:
    """What a slot shall do in a tick."""

    slot: int
    actions: Joint  # by seat; AGENT where the agent chooses
    thinks: bool  # whether the agent acts in this tick; where not, it stays and its memory rests
    agent: int  # its number in the room
    seat: int  # the agent's
    seed: int
    ticks: int  # how long the game lasts
    begins: bool = False  # start the game anew before the tick


@dataclass(frozen=True)
class Happened:
    """What a tick brought about in a slot: the actions, the events by seat, the reward, and the state as JSON."""

    actions: Joint
    events: Bool[np.ndarray, "2 events"]
    reward: float
    state: dict[str, Any]


@pytree
class _Orders:
    """The orders of all slots, in one tick or in several."""

    actions: Int[Array | np.ndarray, "*ticks slots 2"]
    thinks: Bool[Array | np.ndarray, "*ticks slots"]
    agent: Int[Array | np.ndarray, "*ticks slots"]
    seat: Int[Array | np.ndarray, "*ticks slots"]
    seed: UInt32[Array | np.ndarray, "*ticks slots"]
    ticks: Int[Array | np.ndarray, "*ticks slots"]
    begins: Bool[Array | np.ndarray, "*ticks slots"]
    runs: Bool[Array | np.ndarray, "*ticks slots"]


class Room:
    """Some slots for games in a kitchen with some agents. Opening it compiles its program."""

    def __init__(self, layout: Layout, agents: Mapping[str, Agent], slots: int) -> None:
        """Open the room: its program is ready when this returns."""
        self.layout = layout
        self.slots = slots
        self._numbers = {name: number for number, name in enumerate(agents)}
        self._agents = tuple(agents.values())
        state = start(layout)
        memories = tuple(agent.begin(_key(np.int32(0), np.int32(0))) for agent in self._agents)
        self._carry = jax.tree.map(lambda leaf: np.stack([np.asarray(leaf)] * slots), (state, memories))
        self._program = programs.compiled(
            partial(_play, layout),
            f"{layout} {list(agents)}",
            self._agents,
            self._carry,
            _pack([], slots),
            np.int32(0),
        )
        self._form = jax.tree.structure(self._carry)

    def number_of(self, agent: str) -> int:
        """The number of an agent in this room."""
        return self._numbers[agent]

    def tick(self, orders: Sequence[Order]) -> list[Happened]:
        """Advance the ordered slots one tick; what happened in each of them."""
        return self.play([orders])

    def play(self, ticks: Sequence[Sequence[Order]]) -> list[Happened]:
        """Advance the ordered slots by up to `AT_ONCE` ticks; what happened in each slot of the first of them.

        RewardConfig are those of all its ticks, actions and events those of the last one, and the state is that at the end.
        """
        *carry, actions, events, rewards = self._program(
            self._agents, self._carry, _pack(ticks, self.slots), np.int32(len(ticks))
        )
        self._carry = jax.tree.unflatten(self._form, carry)
        rows = [order.slot for order in ticks[0]]
        states = jax.tree.map(lambda leaf: np.asarray(leaf)[rows], self._carry[0])
        joint, events, rewards = (np.asarray(part)[rows] for part in (actions, events, rewards))
        tables = each_to_json(self.layout, states)
        return [
            Happened((int(both[0]), int(both[1])), happened, float(reward), table)
            for both, happened, reward, table in zip(joint, events, rewards, tables, strict=True)
        ]


def _pack(ticks: Sequence[Sequence[Order]], slots: int) -> _Orders:
    orders = [order for some in ticks for order in some]
    numbers = np.array([number for number, some in enumerate(ticks) for _ in some], np.int32)
    rows = np.array([order.slot for order in orders], np.int32)

    def column(values: Sequence[Any], kind: Any, *shape: int) -> np.ndarray:  # noqa: ANN401
        full = np.zeros((AT_ONCE, slots, *shape), kind)
        if len(rows):
            full[numbers, rows] = values
        return full

    return _Orders(
        actions=column([order.actions for order in orders], np.int32, SEATS),
        thinks=column([order.thinks for order in orders], np.bool_),
        agent=column([order.agent for order in orders], np.int32),
        seat=column([order.seat for order in orders], np.int32),
        seed=column([order.seed for order in orders], np.uint32),
        ticks=column([order.ticks for order in orders], np.int32),
        begins=column([order.begins for order in orders], np.bool_),
        runs=column([True] * len(orders), np.bool_),
    )


_Carry = tuple[State, tuple[Carry, ...]]
_Outcome = tuple[Int[Array, "slots 2"], Bool[Array, "slots 2 events"], Float[Array, " slots"]]


def _play(
    layout: Layout, agents: tuple[Agent, ...], carry: _Carry, orders: _Orders, ticks: Number
) -> tuple[_Carry, _Outcome]:
    """So many ticks of all slots: what the last one brought about, and the rewards of all."""
    slots = orders.runs.shape[-1]

    def one(number: Int[Array, ""], now: tuple[_Carry, _Outcome]) -> tuple[_Carry, _Outcome]:
        carry, (_, _, earned) = now
        own = jax.tree.map(lambda leaf: leaf[number], orders)
        carry, (joint, events, rewards) = _tick(layout, agents, carry, own)
        return carry, (joint, events, earned + jnp.where(own.runs, rewards, 0.0))

    nothing = (
        jnp.zeros((slots, SEATS), jnp.int32),
        jnp.zeros((slots, SEATS, len(Event)), jnp.bool_),
        jnp.zeros(slots, jnp.float32),
    )
    return jax.lax.fori_loop(0, ticks, one, (carry, nothing))


def _tick(layout: Layout, agents: tuple[Agent, ...], carry: _Carry, orders: _Orders) -> tuple[_Carry, _Outcome]:
    """One tick of all slots; agents that nobody asks are not computed."""
    states, memories = carry
    fresh = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(orders.runs), *leaf.shape)), start(layout))
    states = _where(orders.begins, fresh, states)
    keys = jax.vmap(_key)(orders.seed, states.time + 1)
    views = jax.vmap(partial(_as_seen, layout))(states, orders.seat, orders.ticks)
    chosen = jnp.full(len(orders.runs), int(Action.STAY), jnp.int32)
    remembered = []
    for number, (agent, memory) in enumerate(zip(agents, memories, strict=True)):
        new = jax.vmap(agent.begin)(jax.vmap(_key)(orders.seed, jnp.zeros_like(states.time)))
        memory = _where(orders.begins, new, memory)  # noqa: PLW2901
        asked = orders.thinks & (orders.agent == number)
        act = jax.vmap(lambda view, own, key, agent=agent: agent.act(view, 0, own, key))
        action, thought = jax.lax.cond(
            asked.any(),
            lambda own, act=act: act(views, own, keys),
            lambda own: (jnp.zeros_like(chosen), own),  # noqa: B023  (called at once)
            memory,
        )
        chosen = jnp.where(asked, action, chosen)
        remembered.append(_where(asked, thought, memory))
    joint = jnp.where(orders.actions == AGENT, chosen[:, None], orders.actions)
    after, outcome = jax.vmap(partial(step, layout))(states, joint)
    after = _where(orders.runs, after, states)
    return (after, tuple(remembered)), (joint, outcome.events, outcome.reward.sum(axis=-1))


def _key(seed: Number, number: Number) -> Key[Array, ""]:
    """The random numbers of a game's beginning (number 0) and of each tick (from 1)."""
    words = jnp.stack([jnp.uint32(0x636F6B65), jnp.asarray(seed, jnp.uint32)])
    return jax.random.fold_in(jax.random.wrap_key_data(words, impl=FAST), number)


def _as_seen(layout: Layout, state: State, seat: Number, ticks: Number) -> State:
    """The kitchen with the agent's chef first, at the time at which an episode has as many steps left.

    All agents see themselves and the other one, not seats, so one program does for both. A game may be longer than the
    episodes an agent knows; until its last part it then sees the time of a beginning.
    """
    chefs = jax.tree.map(lambda leaf: jnp.where(seat == 0, leaf, leaf[::-1]), state.chefs)
    left = jnp.clip(ticks - state.time, 0, layout.horizon)
    return State(Chef(chefs.cell, chefs.facing, chefs.held), state.pots, state.counters, layout.horizon - left)


def _where(chosen: Bool[Array | np.ndarray, " slots"], new: Any, old: Any) -> Any:  # noqa: ANN401
    """The new tree in the chosen slots, the old one in the others."""

    def leaf(one: Array, other: Array) -> Array:
        return jnp.where(chosen.reshape(-1, *(1,) * (one.ndim - 1)), one, other)

    return jax.tree.map(leaf, new, old)
