"""The human-human games of Carroll et al. (2019): where each began, and what both people did at every step.

States are not stored: the rules give them back. A file of games is a compressed numpy archive without pickles:

    layout, split, start    text per game; the start is a state in JSON (see kitchen/text.py)
    pair, score, end        whole numbers per game; the pair of people, the task reward, and where its actions end
    actions                 the joint actions of all games, one game after the other
"""

import json
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from importlib import resources
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Int8

from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.dynamics import Outcome, step
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State
from cochef.kitchen.text import from_json, to_json
from cochef.pytree import pytree

_BLOCK = 256  # replays are padded to a multiple of this, so that a kitchen compiles once for all its games
_KINDS = {"layout": "U", "split": "U", "start": "U", "pair": "i", "score": "i", "end": "i", "actions": "i"}
_UNREADABLE = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


class Split(StrEnum):
    """Which half of a kitchen's games: people are cloned on one, the other is for measuring."""

    TRAIN = "train"
    TEST = "test"


@dataclass(frozen=True, eq=False)
class Game:
    """One game of a pair of people: seat 0 and seat 1 are who the record calls player 0 and player 1."""

    layout: str
    split: Split
    pair: int
    start: State
    actions: Int8[np.ndarray, "time 2"]
    score: int

    @property
    def kitchen(self) -> Layout:
        """The kitchen it was played in; its horizon of 400 steps is not that of the game."""
        return layouts.get(self.layout)


@pytree
class Replay:
    """A game played again: its states, the last one after the last action, and what each step brought about."""

    states: State  # [T + 1, ...]
    outcomes: Outcome  # [T, ...]


def games(layout: str | None = None, split: Split | None = None) -> list[Game]:
    """The shipped games, of one kitchen or all, of one split or both."""
    known = sorted({game.layout for game in _shipped()})
    if layout is not None and layout not in known:
        raise InputError(f"nobody played {layout!r}; people played: {', '.join(known)}")
    return [game for game in _shipped() if layout in (None, game.layout) and split in (None, game.split)]


def replay(game: Game) -> Replay:
    """Play a game again by our rules."""
    length = len(game.actions)
    padded = np.full((_BLOCK * (length // _BLOCK + 1), SEATS), Action.STAY, np.int32)
    padded[:length] = game.actions
    states, outcomes = jax.device_get(_play(game.kitchen, game.start, jnp.asarray(padded)))
    return Replay(
        states=jax.tree.map(lambda leaf: leaf[: length + 1], states),
        outcomes=jax.tree.map(lambda leaf: leaf[:length], outcomes),
    )


@partial(jax.jit, static_argnames="layout")
def _play(layout: Layout, begin: State, actions: Int[Array, "time 2"]) -> tuple[State, Outcome]:
    """The states that were acted on, and what each action brought about."""

    def tick(state: State, joint: Int[Array, "2"]) -> tuple[State, tuple[State, Outcome]]:
        after, outcome = step(layout, state, joint)
        return after, (state, outcome)

    return jax.lax.scan(tick, begin, actions)[1]


def write(path: Path, chosen: Sequence[Game]) -> None:
    """Write games to a file that `read` gives back; the same games make the same bytes."""
    table = {
        "layout": np.array([game.layout for game in chosen]),
        "split": np.array([game.split.value for game in chosen]),
        "start": np.array([json.dumps(to_json(game.kitchen, game.start)) for game in chosen]),
        "pair": np.array([game.pair for game in chosen], np.int32),
        "score": np.array([game.score for game in chosen], np.int32),
        "end": np.cumsum([len(game.actions) for game in chosen], dtype=np.int32),
        "actions": np.concatenate([game.actions for game in chosen]),
    }
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **table)


def read(path: Path) -> tuple[Game, ...]:
    """The games in a file, checked."""
    try:
        with zipfile.ZipFile(path) as archive:
            table = {name: _column(archive, name) for name in _KINDS}
    except _UNREADABLE as error:
        raise InputError(f"{path}: not a file of games ({error}); give one of `cochef human convert`") from error
    try:
        _check_form(table)
        return tuple(_split_up(table))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error


def _column(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(f"{name}.npy") as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _check_form(table: dict[str, np.ndarray]) -> None:
    for name, kind in _KINDS.items():
        axes, found = 2 if name == "actions" else 1, table[name]
        if found.dtype.kind != kind or found.ndim != axes:
            wanted = "text" if kind == "U" else "whole numbers"
            raise InputError(f"{name} holds {found.dtype} in {found.ndim} axes; it takes {wanted} in {axes}")
    actions, ends = table["actions"], table["end"]
    if any(len(table[name]) != len(ends) for name in _KINDS if name != "actions"):
        raise InputError("the columns are of different lengths; every game has one entry in each")
    if not len(ends) or actions.shape != (ends[-1], SEATS) or ends[0] < 1 or (np.diff(ends) < 1).any():
        raise InputError(f"{len(ends)} games cannot share out actions of shape {actions.shape}; each takes some")
    if actions.min() < 0 or actions.max() >= len(Action):
        raise InputError(f"actions reach from {actions.min()} to {actions.max()}; allowed: 0 to {len(Action) - 1}")


def _split_up(table: dict[str, np.ndarray]) -> Iterator[Game]:
    parts = np.split(table["actions"].astype(np.int8), table["end"][:-1])
    columns = (table[name].tolist() for name in ("layout", "split", "pair", "start", "score"))
    for actions, layout, split, pair, start, score in zip(parts, *columns, strict=True):
        begin = from_json(layouts.get(layout), json.loads(start))
        yield Game(layout, Split(split), pair, begin, actions, score)


@cache
def _shipped() -> tuple[Game, ...]:
    with resources.as_file(resources.files("cochef.human") / "data" / "games.npz") as path:
        return read(path)
