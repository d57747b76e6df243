"""The human-human games of Carroll et al. (2019): how each began, and what both people did.

States are not stored: the rules give them back. A file of games is a compressed numpy archive
without pickles:

    layout, split, start   text per game; the start is a state in JSON (see kitchen/text.py)
    pair, score, end       whole numbers per game: the pair of people, the task reward, and where
                           the game's actions end
    actions                the joint actions of all games, one game after the other
"""

import json
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from io import BytesIO
from pathlib import Path

import numpy as np
from jaxtyping import Int8

from cochef.errors import InputError
from cochef.files import write_whole
from cochef.kitchen import layouts
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.layout import Layout
from cochef.kitchen.replay import RecordedActions
from cochef.kitchen.replay import replay as replay_actions
from cochef.kitchen.state import State
from cochef.kitchen.text import from_json, to_json
from cochef.kitchen.trajectories import Trajectory

# The columns of a file of games, and numpy's letter for what each holds: text or whole numbers.
_KINDS = {
    "layout": "U",
    "split": "U",
    "start": "U",
    "pair": "i",
    "score": "i",
    "end": "i",
    "actions": "i",
}
_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)


class Split(StrEnum):
    """Which half of a layout's games: people are cloned from one and evaluated on the other."""

    TRAIN = "train"
    TEST = "test"


@dataclass(frozen=True, eq=False)
class HumanGame:
    """One game of a pair of people; seats 0 and 1 are the record's players 0 and 1."""

    layout_name: str
    split: Split
    pair: int
    start: State
    actions: Int8[np.ndarray, "time 2"]
    score: int

    @property
    def layout(self) -> Layout:
        """The layout it was played on; its horizon of 400 steps is not that of the game."""
        return layouts.get(self.layout_name)


def games(layout_name: str | None = None, split: Split | None = None) -> list[HumanGame]:
    """The shipped games, of one layout or all, of one split or both."""
    known = sorted({game.layout_name for game in _shipped()})
    if layout_name is not None and layout_name not in known:
        raise InputError(f"nobody played {layout_name!r}; people played: {', '.join(known)}")
    return [
        game
        for game in _shipped()
        if layout_name in (None, game.layout_name) and split in (None, game.split)
    ]


def replay(chosen: Sequence[HumanGame]) -> list[Trajectory]:
    """Play games again by our rules; a trajectory for each, in their order."""
    found: dict[int, Trajectory] = {}
    for name in {game.layout_name for game in chosen}:
        numbers = [number for number, game in enumerate(chosen) if game.layout_name == name]
        recorded = [RecordedActions(chosen[n].actions, chosen[n].start) for n in numbers]
        trajectories = replay_actions(layouts.get(name), recorded)
        found |= dict(zip(numbers, trajectories, strict=True))
    return [found[number] for number in range(len(chosen))]


def write(path: Path, chosen: Sequence[HumanGame]) -> None:
    """Write games to a file that `read` gives back; the same games make the same bytes."""
    starts = [json.dumps(to_json(game.layout, game.start)) for game in chosen]
    table = {
        "layout": np.array([game.layout_name for game in chosen]),
        "split": np.array([game.split.value for game in chosen]),
        "start": np.array(starts),
        "pair": np.array([game.pair for game in chosen], np.int32),
        "score": np.array([game.score for game in chosen], np.int32),
        "end": np.cumsum([len(game.actions) for game in chosen], dtype=np.int32),
        "actions": np.concatenate([game.actions for game in chosen]),
    }
    content = BytesIO()
    np.savez_compressed(content, allow_pickle=False, **table)
    write_whole(path, content.getvalue())


def read(path: Path) -> tuple[HumanGame, ...]:
    """The games in a file, checked."""
    try:
        with zipfile.ZipFile(path) as archive:
            table = {name: _column(archive, name) for name in _KINDS}
    except _UNREADABLE as error:
        raise InputError(
            f"{path}: not a file of games ({error}); give one of `cochef human convert`"
        ) from error
    try:
        _check_columns(table)
        return tuple(_split_up(table))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error


def _column(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(f"{name}.npy") as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _check_columns(table: dict[str, np.ndarray]) -> None:
    for name, kind in _KINDS.items():
        column = table[name]
        axes = 2 if name == "actions" else 1
        if column.dtype.kind != kind or column.ndim != axes:
            wanted = "text" if kind == "U" else "whole numbers"
            raise InputError(
                f"{name} holds {column.dtype} in {column.ndim} axes; it takes {wanted} in {axes}"
            )
    actions = table["actions"]
    ends = table["end"]
    if any(len(table[name]) != len(ends) for name in _KINDS if name != "actions"):
        raise InputError("the columns are of different lengths; every game has one entry in each")
    if not len(ends) or ends[0] < 1 or (np.diff(ends) < 1).any():
        raise InputError(f"games end at actions {ends.tolist()[:9]}; each takes some actions")
    if actions.shape != (ends[-1], SEATS):
        raise InputError(f"{len(ends)} games cannot share out actions of shape {actions.shape}")
    if actions.min() < 0 or actions.max() >= len(Action):
        raise InputError(
            f"actions reach from {actions.min()} to {actions.max()}; "
            f"allowed: 0 to {len(Action) - 1}"
        )


def _split_up(table: dict[str, np.ndarray]) -> Iterator[HumanGame]:
    actions = np.split(table["actions"].astype(np.int8), table["end"][:-1])
    for number, own_actions in enumerate(actions):
        name = str(table["layout"][number])
        yield HumanGame(
            layout_name=name,
            split=Split(str(table["split"][number])),
            pair=int(table["pair"][number]),
            start=from_json(layouts.get(name), json.loads(str(table["start"][number]))),
            actions=own_actions,
            score=int(table["score"][number]),
        )


@cache
def _shipped() -> tuple[HumanGame, ...]:
    with resources.as_file(resources.files("cochef.human") / "data" / "games.npz") as path:
        return read(path)
