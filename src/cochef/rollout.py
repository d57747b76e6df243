"""Episodes of any agents, many at once: `play_episodes` measures, `record` keeps every step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from cochef.agents.agent import Agent, Carry
from cochef.kitchen.constants import SEATS
from cochef.kitchen.dynamics import step
from cochef.kitchen.layout import Layout
from cochef.kitchen.metrics import TOTALS, Measured, Metric
from cochef.kitchen.state import State, start
from cochef.kitchen.stepping import Transition, over_kitchens, repeat_kitchens, scan_kitchens
from cochef.kitchen.trajectories import Trajectory
from cochef.randomness import fast


class Matchup(NamedTuple):
    """Which agent sits in seat 0, which in seat 1, and in how many kitchens."""

    first: int
    second: int
    kitchens: int


@partial(jax.jit, static_argnames=("layout", "matchups", "metric"))
def play_episodes(
    layout: Layout,
    agents: tuple[Agent, ...],
    matchups: tuple[Matchup | tuple[int, int, int], ...],
    key: Key[Array, ""],
    metric: Metric = TOTALS,
) -> Measured:
    """Play all matchups at once, an episode a kitchen.

    Returns what the metric measured in each kitchen, matchup after matchup.
    """

    def update(measured: Measured, transition: Transition) -> tuple[Measured, tuple[()]]:
        return over_kitchens(partial(metric.update, layout))(measured, transition), ()

    seats = _seats(matchups, len(agents))
    begin = repeat_kitchens(metric.begin(layout), len(seats))
    keys = jax.random.split(fast(key), len(seats))
    _, measured, _ = _episode(layout, agents, seats, keys, begin, update)
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), measured)


@partial(jax.jit, static_argnames=("layout", "kitchens"))
def record(
    layout: Layout, agents: tuple[Agent, Agent], key: Key[Array, ""], kitchens: int
) -> Trajectory:
    """Let two agents play an episode in each of some kitchens, and keep every step."""
    seats = _seats((Matchup(0, 1, kitchens),), SEATS)
    keys = jax.random.split(fast(key), kitchens)
    last, _, steps = _episode(layout, agents, seats, keys, (), lambda folded, step: (folded, step))
    states = jax.tree.map(lambda many, one: jnp.concatenate([many, one[None]]), steps.state, last)
    kept = (states, steps.actions, steps.outcome)
    return Trajectory(*jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 1), kept))


def _seats(matchups: tuple[Matchup | tuple[int, int, int], ...], agents: int) -> np.ndarray:
    """Which agent sits where: [kitchens, 2]."""
    rows = []
    for matchup in matchups:
        *both, kitchens = matchup
        if not all(0 <= agent < agents for agent in both) or kitchens < 1:
            raise ValueError(
                f"matchup {matchup} of {agents} agents; "
                "it takes two of their numbers and some kitchens"
            )
        rows += [both] * kitchens
    return np.array(rows)


def _episode(
    layout: Layout,
    agents: tuple[Agent, ...],
    seats: np.ndarray,
    keys: Key[Array, " kitchens"],
    folded: Any,  # noqa: ANN401
    fold: Callable[[Any, Transition], tuple[Any, Any]],
) -> tuple[State, Any, Any]:
    """Play to the horizon; the last states, the folded value, and what `fold` kept of each step."""
    players = [
        _Player(agent, seat, np.flatnonzero(seats[:, seat] == number))
        for seat in range(SEATS)
        for number, agent in enumerate(agents)
        if (seats[:, seat] == number).any()
    ]

    def choose(
        states: State, carries: list[Carry], _: Int[Array, ""]
    ) -> tuple[Int[Array, "2 kitchens"], list[Carry], None]:
        acted = [
            player.act(states, carry, keys) for player, carry in zip(players, carries, strict=True)
        ]
        actions = jnp.stack([_assemble(players, acted, seat) for seat in range(SEATS)])
        return actions, [carry for _, carry in acted], None

    begin = (
        repeat_kitchens(start(layout), len(seats)),
        [player.begin(keys) for player in players],
        folded,
    )
    (last, _, folded), kept = scan_kitchens(
        partial(step, layout),
        choose,
        lambda folded, transition, _: fold(folded, transition),
        begin,
        layout.horizon,
    )
    return last, folded, kept


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
