"""Stored games played again by the rules: their scores checked, and what both chefs did in them counted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from cochef.evaluation.behaviours import OBSERVING, Behaviour
from cochef.kitchen import layouts
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.dynamics import step
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State, start
from cochef.rollout import Transition
from cochef.web.records import StoredGame
from cochef.web.store import Store

_TOGETHER = 64  # games that are replayed at once; fewer are padded, so that a kitchen compiles once
_BLOCK = 100  # ticks; lengths are padded to a multiple of it


@dataclass(frozen=True)
class Mismatch:
    """A game whose stored score is not the one that its actions give."""

    game: int
    stored: float
    replayed: float


def kitchens(store: Store) -> dict[tuple[str, str], Layout]:
    """The kitchens of all games, by configuration and name in the study: as they were when the game was played."""
    return {
        (configuration, name): layouts.parse(text, Path(name).stem)
        for configuration, content in store.configurations().items()
        for name, text in content["kitchens"].items()
    }


def mismatches(store: Store, games: Sequence[StoredGame]) -> list[Mismatch]:
    """The games that ended with another score than their actions give."""
    found = []
    for game, seen in replay(store, [game for game in games if game.score is not None]):
        replayed = float(seen.tally.reward.sum())
        if game.score is not None and replayed != game.score:
            found.append(Mismatch(game.number, game.score, replayed))
    return found


def replay(store: Store, games: Sequence[StoredGame]) -> Iterator[tuple[StoredGame, Behaviour]]:
    """Every game with what was seen in it, kitchen by kitchen."""
    known = kitchens(store)
    grouped: dict[Layout, list[StoredGame]] = {}
    for game in games:
        grouped.setdefault(known[game.configuration, game.start.layout], []).append(game)
    for layout, several in grouped.items():
        several.sort(key=lambda game: len(game.actions))
        for first in range(0, len(several), _TOGETHER):
            yield from _replay_together(layout, several[first : first + _TOGETHER])


def _replay_together(layout: Layout, games: Sequence[StoredGame]) -> Iterator[tuple[StoredGame, Behaviour]]:
    lengths = np.zeros(_TOGETHER, np.int32)
    longest = max(len(game.actions) for game in games)
    actions = np.full((_TOGETHER, _BLOCK * (longest // _BLOCK + 1), SEATS), Action.STAY, np.int32)
    for row, game in enumerate(games):
        lengths[row] = len(game.actions)
        actions[row, : lengths[row]] = game.actions
    seen = jax.device_get(_observe(layout, jnp.asarray(actions), jnp.asarray(lengths)))
    for row, game in enumerate(games):
        yield game, jax.tree.map(lambda leaf, row=row: leaf[row], seen)


@partial(jax.jit, static_argnames="layout")
def _observe(layout: Layout, actions: Int[Array, "games time 2"], lengths: Int[Array, " games"]) -> Behaviour:
    """What is seen in each game up to its length."""

    def one(joint_actions: Int[Array, "time 2"], length: Int[Array, ""]) -> Behaviour:
        def tick(carry: tuple[State, Behaviour], joint: Int[Array, "2"]) -> tuple[tuple[State, Behaviour], None]:
            state, seen = carry
            after, outcome = step(layout, state, joint)
            more = OBSERVING.see(layout, seen, Transition(state, joint, outcome, after))
            seen = jax.tree.map(lambda new, old: jnp.where(state.time < length, new, old), more, seen)
            return (after, seen), None

        return jax.lax.scan(tick, (start(layout), OBSERVING.begin(layout)), joint_actions)[0][1]

    return jax.vmap(one)(actions, lengths)
