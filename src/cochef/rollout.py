"""Playing episodes: the only place that steps kitchens in bulk.

While kitchens are stepped they are the last axis of every array, so that the rules become long vector operations
over kitchens (about twice as fast on a CPU as kitchens first). Results have kitchens before seats.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from cochef.agents.agent import Agent, Memory
from cochef.kitchen.constants import SEATS, Event
from cochef.kitchen.dynamics import Outcome, step
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State, start
from cochef.pytree import pytree
from cochef.randomness import fast

Match = tuple[int, int, int]  # which agent sits in seat 0, which in seat 1, and in how many kitchens
Seen = Any  # a tree of arrays that a watcher carries through an episode


@pytree
class Step:
    """One step of an episode: the state acted on, the actions, what they brought about, and the state after."""

    state: State
    actions: Int[Array, "*batch 2"]
    outcome: Outcome
    after: State


@runtime_checkable
class Watcher(Protocol):
    """Looks at every step of an episode; hashable, as compiled programs are specialised to it."""

    def begin(self, layout: Layout) -> Seen:
        """What has been seen before the first step."""
        ...

    def see(self, layout: Layout, seen: Seen, step: Step) -> Seen:
        """What has been seen after one more step."""
        ...


@pytree
class Tally:
    """What an episode came to: each chef's task reward and how often it caused each event."""

    reward: Float[Array, "*kitchens 2"]
    events: Int[Array, "*kitchens 2 events"]

    @property
    def score(self) -> Float[Array | np.ndarray, "*kitchens"]:
        """The team's task reward."""
        return self.reward.sum(axis=-1)


class Tallying:
    """Watches the score and the events."""

    def begin(self, layout: Layout) -> Tally:
        """Nothing yet."""
        return Tally(jnp.zeros(SEATS), jnp.zeros((SEATS, len(Event)), jnp.int32))

    def see(self, layout: Layout, seen: Tally, step: Step) -> Tally:
        """One more step."""
        return Tally(seen.reward + step.outcome.reward, seen.events + step.outcome.events)


TALLYING = Tallying()


@pytree
class Recording:
    """Episodes kept whole, time first."""

    states: State  # the last of its T + 1 states is the one after the last action
    actions: Int[Array, "time kitchens 2"]
    outcomes: Outcome

    @property
    def score(self) -> Float[Array | np.ndarray, " kitchens"]:
        """The task reward of each episode."""
        return self.outcomes.reward.sum(axis=(0, 2))


@partial(jax.jit, static_argnames=("layout", "matches", "watcher"))
def watch(
    layout: Layout,
    agents: tuple[Agent, ...],
    matches: tuple[Match, ...],
    key: Key[Array, ""],
    watcher: Watcher = TALLYING,
) -> Seen:
    """Play all matches at once, an episode a kitchen; what the watcher saw in each kitchen, match after match."""

    def see(seen: Seen, step: Step) -> tuple[Seen, tuple[()]]:
        return over_kitchens(partial(watcher.see, layout))(seen, step), ()

    seats = _seats(matches, len(agents))
    begin = jax.tree.map(partial(_repeat, len(seats)), watcher.begin(layout))
    _, seen, _ = _episode(layout, agents, seats, jax.random.split(fast(key), len(seats)), begin, see)
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), seen)


@partial(jax.jit, static_argnames=("layout", "kitchens"))
def record(layout: Layout, agents: tuple[Agent, Agent], key: Key[Array, ""], kitchens: int) -> Recording:
    """Let two agents play an episode in each of some kitchens, and keep every step."""
    seats, keys = _seats(((0, 1, kitchens),), SEATS), jax.random.split(fast(key), kitchens)
    last, _, steps = _episode(layout, agents, seats, keys, (), lambda seen, step: (seen, step))
    states = jax.tree.map(lambda many, one: jnp.concatenate([many, one[None]]), steps.state, last)
    kept = (states, steps.actions, steps.outcome)
    return Recording(*jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 1), kept))


def _seats(matches: tuple[Match, ...], agents: int) -> np.ndarray:
    """Who sits where: [kitchens, 2]."""
    for match in matches:
        if not all(0 <= who < agents for who in match[:SEATS]) or match[SEATS] < 1:
            raise ValueError(f"match {match} of {agents} agents; it takes two of their numbers and some kitchens")
    return np.array([match[:SEATS] for match in matches for _ in range(match[SEATS])])


def _repeat(kitchens: int, leaf: Array) -> Array:
    return jnp.repeat(leaf[..., None], kitchens, axis=-1)


def over_kitchens(function: Any) -> Any:  # noqa: ANN401
    """A function of one kitchen as one of many, which are the last axis of all it takes and gives."""
    return jax.vmap(function, in_axes=-1, out_axes=-1)


def _episode(
    layout: Layout,
    agents: tuple[Agent, ...],
    seats: np.ndarray,
    keys: Key[Array, " kitchens"],
    seen: Seen,
    see: Callable[[Seen, Step], tuple[Seen, Any]],
) -> tuple[State, Seen, Any]:
    """Play to the horizon; the last states, what was seen, and what `see` kept of each step."""
    states = jax.tree.map(partial(_repeat, len(seats)), start(layout))
    players = [
        _Player(agent, seat, np.flatnonzero(seats[:, seat] == who))
        for seat in range(SEATS)
        for who, agent in enumerate(agents)
        if (seats[:, seat] == who).any()
    ]

    @over_kitchens
    def advance(state: State, actions: Int[Array, "2"]) -> Step:
        after, outcome = step(layout, state, actions)
        return Step(state, actions, outcome, after)

    def tick(carry: tuple, _: None) -> tuple[tuple, Any]:
        state, memories, seen = carry
        acted = [player.act(state, memory, keys) for player, memory in zip(players, memories, strict=True)]
        actions = jnp.stack([_assemble(players, acted, seat) for seat in range(SEATS)])
        now = advance(state, actions)
        seen, kept = see(seen, now)
        return (now.after, [memory for _, memory in acted], seen), kept

    memories = [player.begin(keys) for player in players]
    (last, _, seen), kept = jax.lax.scan(tick, (states, memories, seen), length=layout.horizon)
    return last, seen, kept


@dataclass(frozen=True)
class _Player:
    """An agent in one seat of some of the kitchens. Every kitchen, step and seat has random numbers of its own."""

    agent: Agent
    seat: int
    kitchens: np.ndarray

    def begin(self, keys: Key[Array, " kitchens"]) -> Memory:
        return over_kitchens(lambda key: self.agent.begin(jax.random.fold_in(key, self.seat)))(keys[self.kitchens])

    def act(self, states: State, memories: Memory, keys: Key[Array, " kitchens"]) -> tuple[Int[Array, " n"], Memory]:
        def one(state: State, memory: Memory, key: Key[Array, ""]) -> tuple[Int[Array, ""], Memory]:
            key_step = jax.random.fold_in(key, SEATS * (state.time + 1) + self.seat)
            return self.agent.act(state, self.seat, memory, key_step)

        everywhere = len(self.kitchens) == keys.shape[0]
        own = states if everywhere else jax.tree.map(lambda leaf: leaf[..., self.kitchens], states)
        return over_kitchens(one)(own, memories, keys[self.kitchens])


def _assemble(players: Sequence[_Player], acted: Sequence[tuple[Array, Memory]], seat: int) -> Int[Array, " kitchens"]:
    """The actions of one seat in the order of the kitchens."""
    there = [
        (player.kitchens, action) for player, (action, _) in zip(players, acted, strict=True) if player.seat == seat
    ]
    order = np.argsort(np.concatenate([kitchens for kitchens, _ in there]))
    actions = jnp.concatenate([action for _, action in there])
    return actions[order] if len(there) > 1 else actions
