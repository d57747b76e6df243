"""Episodes of any agents, many at once: `play_episodes` measures, `record` keeps every step.

If all agents are JAX code, an episode is one compiled program. If some are called on the host, a
program does a step at a time, and they are asked in between.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from cochef.agents import hosting
from cochef.agents.agent import Agent, Carry
from cochef.agents.hosting import AgentError, HostCaller, HostSeat
from cochef.agents.own_observations import observe_seats
from cochef.kitchen.constants import SEATS
from cochef.kitchen.dynamics import step
from cochef.kitchen.layout import Layout
from cochef.kitchen.metrics import TOTALS, Measured, Metric
from cochef.kitchen.state import State, start
from cochef.kitchen.stepping import KitchenLoop, Transition, over_kitchens, repeat_kitchens
from cochef.kitchen.trajectories import Trajectory
from cochef.randomness import fast


class Matchup(NamedTuple):
    """Which agent sits in seat 0, which in seat 1, and in how many kitchens."""

    first: int
    second: int
    kitchens: int


Matchups = tuple[Matchup | tuple[int, int, int], ...]
Failures = dict[HostCaller, AgentError]
_Carry = tuple[State, list[Carry], Any]  # of a `KitchenLoop`


def play_episodes(
    layout: Layout,
    agents: tuple[Agent, ...],
    matchups: Matchups,
    key: Key[Array, ""],
    metric: Metric = TOTALS,
    failures: Failures | None = None,
) -> Measured:
    """Play all matchups at once, an episode a kitchen.

    Returns what the metric measured in each kitchen, matchup after matchup. An own agent at fault
    raises an `AgentError`; with `failures`, the error goes there, and the agent stays from then on.
    """
    (_, _, measured), _ = _play(_Episodes(layout, agents, matchups, key, metric), failures)
    return _kitchens_first(measured)


def record(
    layout: Layout, agents: tuple[Agent, Agent], key: Key[Array, ""], kitchens: int
) -> Trajectory:
    """Let two agents play an episode in each of some kitchens, and keep every step."""
    matchups = (Matchup(0, 1, kitchens),)
    (last, _, _), steps = _play(_Episodes(layout, agents, matchups, key, None), None)
    return _trajectory(last, steps)


@jax.jit
def _kitchens_first(measured: Measured) -> Measured:
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), measured)


@jax.jit
def _trajectory(last: State, steps: Transition) -> Trajectory:
    states = jax.tree.map(lambda many, one: jnp.concatenate([many, one[None]]), steps.state, last)
    kept = (states, steps.actions, steps.outcome)
    return Trajectory(*jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 1), kept))


_STATIC = {"static": True}  # part of the program, and not an array that it is given


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Episodes:
    """An episode in each kitchen: who plays, and what is measured; without a metric, all steps."""

    layout: Layout = field(metadata=_STATIC)
    agents: tuple[Agent, ...]
    matchups: Matchups = field(metadata=_STATIC)
    key: Key[Array, ""]
    metric: Metric | None = field(metadata=_STATIC)

    @cached_property
    def seats(self) -> Int[np.ndarray, "kitchens 2"]:
        """Which agent sits where."""
        rows = []
        for matchup in self.matchups:
            *both, kitchens = matchup
            if not all(0 <= agent < len(self.agents) for agent in both) or kitchens < 1:
                raise ValueError(
                    f"matchup {matchup} of {len(self.agents)} agents; "
                    "it takes two of their numbers and some kitchens"
                )
            rows += [both] * kitchens
        return np.array(rows)

    @cached_property
    def keys(self) -> Key[Array, " kitchens"]:
        """The random key of each kitchen."""
        return jax.random.split(fast(self.key), len(self.seats))

    @cached_property
    def players(self) -> list["_Player"]:
        """The agents, seat by seat."""
        return [
            _Player(agent, seat, np.flatnonzero(self.seats[:, seat] == number))
            for seat in range(SEATS)
            for number, agent in enumerate(self.agents)
            if (self.seats[:, seat] == number).any()
        ]

    @property
    def loop(self) -> KitchenLoop:
        """How the kitchens are played."""
        return KitchenLoop(partial(step, self.layout), self._choose, self._fold)

    def begin(self) -> _Carry:
        """All kitchens at the start."""
        measured = () if self.metric is None else self.metric.begin(self.layout)
        return (
            repeat_kitchens(start(self.layout), len(self.seats)),
            [player.begin(self.keys) for player in self.players],
            repeat_kitchens(measured, len(self.seats)),
        )

    def _choose(
        self, states: State, carries: list[Carry], _: Int[Array, ""]
    ) -> tuple[Int[Array, "2 kitchens"], list[Carry], None]:
        acted = [
            player.act(states, carry, self.keys)
            for player, carry in zip(self.players, carries, strict=True)
        ]
        actions = jnp.stack([_assemble(self.players, acted, seat) for seat in range(SEATS)])
        return actions, [carry for _, carry in acted], None

    def _fold(self, measured: Measured, transition: Transition, _: None) -> tuple[Measured, Any]:
        if self.metric is None:
            return measured, transition
        update = over_kitchens(partial(self.metric.update, self.layout))
        return update(measured, transition), ()


def _play(episodes: _Episodes, failures: Failures | None) -> tuple[_Carry, Any]:
    """Play to the horizon: states, carries and measurements at the end, and what was kept."""
    if hosting.callers(episodes.agents):
        return _play_on_host(episodes, failures)
    return _play_compiled(episodes)


@jax.jit
def _play_compiled(episodes: _Episodes) -> tuple[_Carry, Any]:
    return episodes.loop.scan(episodes.begin(), episodes.layout.horizon)


@jax.jit
def _begin(episodes: _Episodes) -> _Carry:
    return episodes.begin()


@jax.jit
def _advance(
    episodes: _Episodes, carry: _Carry, number: Int[Array | np.ndarray | np.int32, ""]
) -> tuple[_Carry, Any]:
    return episodes.loop.advance(carry, jnp.asarray(number))


def _play_on_host(episodes: _Episodes, failures: Failures | None) -> tuple[_Carry, Any]:
    """Play step by step; own agents are asked in between."""
    episodes = replace(episodes, agents=hosting.answered(episodes.agents))
    asked = _AskedPlayers(episodes, failures)
    carry = _begin(episodes)
    kept = []
    for number in range(episodes.layout.horizon):
        states, carries, folded = carry
        carry = (states, asked.answer(states, carries), folded)
        carry, one = _advance(episodes, carry, np.int32(number))
        kept.append(jax.device_get(one))
    return carry, jax.tree.map(lambda *leaves: np.stack(leaves), *kept)


@dataclass(frozen=True)
class _Player:
    """An agent in one seat of some of the kitchens.

    Every kitchen, step and seat has random numbers of its own, whoever plays beside it.
    """

    agent: Agent
    seat: int
    kitchens: np.ndarray

    def begin(self, keys: Key[Array, " kitchens"]) -> Carry:
        def one(key: Key[Array, ""]) -> Carry:
            return self.agent.begin(jax.random.fold_in(key, self.seat))

        return over_kitchens(one)(keys[self.kitchens])

    def act(
        self, states: State, carries: Carry, keys: Key[Array, " kitchens"]
    ) -> tuple[Int[Array, " n"], Carry]:
        def one(state: State, carry: Carry, key: Key[Array, ""]) -> tuple[Int[Array, ""], Carry]:
            key_step = jax.random.fold_in(key, SEATS * (state.time + 1) + self.seat)
            return self.agent.act(state, self.seat, carry, key_step)

        own = states
        if len(self.kitchens) < keys.shape[0]:
            own = jax.tree.map(lambda leaf: leaf[..., self.kitchens], states)
        return over_kitchens(one)(own, carries, keys[self.kitchens])


class _AskedPlayers:
    """The players of some episodes that are called on the host."""

    def __init__(self, episodes: _Episodes, failures: Failures | None) -> None:
        """All of them begin."""
        self._layout = episodes.layout
        self._players = episodes.players
        self._failures = failures
        self._seats: dict[tuple[int, int], HostSeat] = {}  # by player and its answer's number

    def answer(self, states: State, carries: list[Carry]) -> list[Carry]:
        """The carries with what every player says to these states."""
        answered = []
        for number, (player, carry) in enumerate(zip(self._players, carries, strict=True)):
            callers = [answer.caller for answer in hosting.answers_in(carry)]
            found = [
                # Kitchens are the last axis of a program's carries.
                self._ask(player, (number, place), caller, states).T
                for place, caller in enumerate(callers)
            ]
            answered.append(hosting.with_answers(carry, found))
        return answered

    def _ask(
        self, player: _Player, place: tuple[int, int], caller: HostCaller, states: State
    ) -> Float[np.ndarray, "rows actions"]:
        rows = len(player.kitchens)
        if self._failures is not None and caller in self._failures:
            return hosting.stays(rows)
        try:
            if place not in self._seats:
                self._seats[place] = HostSeat(caller, rows)
            seats = np.full(states.time.shape[-1], player.seat, np.int32)
            seen = jax.device_get(observe_seats(self._layout, caller.observes, states, seats))
            own = jax.tree.map(lambda leaf: leaf[player.kitchens], seen)
            return self._seats[place].ask(own, np.ones(rows, bool))
        except AgentError as error:
            if self._failures is None:
                raise
            self._failures[caller] = error
            return hosting.stays(rows)


def _assemble(
    players: Sequence[_Player], acted: Sequence[tuple[Array, Carry]], seat: int
) -> Int[Array, " kitchens"]:
    """The actions of one seat in the order of the kitchens."""
    here = [
        (player.kitchens, actions)
        for player, (actions, _) in zip(players, acted, strict=True)
        if player.seat == seat
    ]
    actions = jnp.concatenate([actions for _, actions in here])
    if len(here) == 1:
        return actions
    return actions[np.argsort(np.concatenate([kitchens for kitchens, _ in here]))]
