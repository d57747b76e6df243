"""From the source archive of overcooked-ai 1.1.0 to our file of games, every recorded step checked on the way."""

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
from cochef.human.games import Game, Split, replay
from cochef.kitchen import layouts, recipes
from cochef.kitchen.constants import Action, Direction, Tile
from cochef.kitchen.layout import Layout
from cochef.kitchen.text import each_to_json, from_json

ARCHIVE_NAME = "overcooked_ai-1.1.0.tar.gz"
ARCHIVE_BYTES = 2_344_591
ARCHIVE_SHA256 = "478bf319274bdb6c5bede8048ee901d088912353111ab85e9fb2bf389c6ccddf"
DATA_DIRECTORY = "overcooked_ai_py/data/human_data"

_OUR_NAMES = {"random0": "forced_coordination", "random3": "counter_circuit"}
_FACINGS = {direction.offset: direction.name[0] for direction in Direction}
_ACTIONS = {direction.offset: int(direction) for direction in Direction} | {(0, 0): int(Action.STAY)}
_NEEDED = ("layout_name", "run", "workerid_num", "cur_gameloop", "state", "next_state", "joint_action", "reward_norm")

Table = Mapping[str, np.ndarray]
Json = dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """The first step at which our rules leave the record."""

    step: int
    recorded: Json
    replayed: Json


@dataclass(frozen=True)
class Check:
    """How a converted game compares with its record: steps whose state after them and reward are the recorded ones."""

    game: Game
    exact: int
    replayed_score: int
    first_difference: Difference | None


def file_name(split: Split) -> str:
    """The name of a split's file in the archive."""
    return f"clean_{split.value}_trials.pickle"


def read_archive(path: Path) -> dict[Split, bytes]:
    """The two pickled tables in the archive, which has to be the published one to the byte."""
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size == ARCHIVE_BYTES else b""
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give the path of {ARCHIVE_NAME}") from error
    remedy = f"it takes {ARCHIVE_NAME} as published on PyPI, {ARCHIVE_BYTES} bytes with sha256 {ARCHIVE_SHA256}"
    if size != ARCHIVE_BYTES:
        raise InputError(f"{path}: has {size} bytes; {remedy}")
    digest = hashlib.sha256(content).hexdigest()
    if digest != ARCHIVE_SHA256:
        raise InputError(f"{path}: has sha256 {digest}; {remedy}")
    inside = ARCHIVE_NAME.removesuffix(".tar.gz")
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        return {split: _member(archive, f"{inside}/src/{DATA_DIRECTORY}/{file_name(split)}") for split in Split}


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    if file is None:
        raise InputError(f"{name} in the archive is no file")
    return file.read()


def convert(pickles: Mapping[Split, bytes]) -> list[Check]:
    """Every game of the pickled tables, replayed and compared with its record; by kitchen, split and pair."""
    tables = {split: columns(pickled) for split, pickled in pickles.items()}
    for split, table in tables.items():
        missing = set(_NEEDED) - set(table)
        if missing:
            raise InputError(f"{file_name(split)} has no column {min(missing)!r}; needed: {', '.join(_NEEDED)}")
    people = sorted({who for table in tables.values() for who in zip(table["run"], table["workerid_num"], strict=True)})
    numbers = {who: number for number, who in enumerate(people)}
    checks = [
        _convert_game(table, rows, split, numbers[who])
        for split, table in tables.items()
        for who, rows in _games_of(table)
    ]
    return sorted(checks, key=lambda check: (check.game.layout, check.game.split != Split.TRAIN, check.game.pair))


def _games_of(table: Table) -> Iterator[tuple[tuple[str, int], np.ndarray]]:
    """The rows of each game, and who played it: a pair plays a kitchen once in a run."""
    rows: dict[tuple[str, int, str], list[int]] = {}
    for row, key in enumerate(zip(table["run"], table["workerid_num"], table["layout_name"], strict=True)):
        rows.setdefault(key, []).append(row)
    for (run, worker, _), chosen in rows.items():
        yield (run, worker), np.array(chosen)


def _convert_game(table: Table, rows: np.ndarray, split: Split, pair: int) -> Check:
    name = str(table["layout_name"][rows[0]])
    layout = layouts.get(_OUR_NAMES.get(name, name))
    place = f"{file_name(split)}, rows {rows[0]} to {rows[-1]} ({name})"
    if not np.array_equal(table["cur_gameloop"][rows], np.arange(len(rows))):
        raise InputError(f"{place}: steps are missing or out of order; a game numbers them from 0 on")
    befores, afters = table["state"][rows], table["next_state"][rows]
    if not np.array_equal(befores[1:], afters[:-1]):
        raise InputError(f"{place}: a step does not begin where the one before it ended")
    try:
        states = [_state(layout, text) for text in (befores[0], *afters)]
        actions = np.array([_joint_action(text) for text in table["joint_action"][rows]], np.int8)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{place}: a state or an action cannot be understood ({error!r})") from error
    rewards = table["reward_norm"][rows].astype(int)
    game = Game(layout.name, split, pair, from_json(layout, states[0]), actions, int(rewards.sum()))
    return _check(game, states[1:], rewards)


def _check(game: Game, recorded: Sequence[Json], rewards: np.ndarray) -> Check:
    """Replay a game and compare every step with the recorded state after it and the recorded reward."""
    replayed = replay(game)
    earned = replayed.outcomes.reward.sum(axis=1).astype(int)
    states = list(each_to_json(game.kitchen, replayed.states))[1:]
    ours = [{**state, "reward": reward} for state, reward in zip(states, earned.tolist(), strict=True)]
    theirs = [
        {**state, "t": step + 1, "reward": reward}
        for step, (state, reward) in enumerate(zip(recorded, rewards.tolist(), strict=True))
    ]
    differing = [step for step in range(len(ours)) if ours[step] != theirs[step]]
    first = Difference(differing[0], theirs[differing[0]], ours[differing[0]]) if differing else None
    return Check(game, len(ours) - len(differing), int(earned.sum()), first)


def _state(layout: Layout, text: str) -> Json:
    """A recorded state in our JSON, without the time. The record's only soup is made of onions."""
    record = _parsed(text)
    chefs = [
        [*player["position"], _FACINGS[tuple(player["orientation"])], _item(player.get("held_object"))]
        for player in record["players"]
    ]
    pots, counters = [], []
    for thing in record["objects"].values():
        place = tuple(thing["position"])
        if layout.tile(place) is Tile.POT:
            pots.append([*place, *_pot(layout, thing)])
        else:
            counters.append([*place, _item(thing)])
    return {"chefs": chefs, "pots": sorted(pots), "counters": sorted(counters)}


def _pot(layout: Layout, soup: Json) -> tuple[str, int]:
    """Contents and ticks. The record goes on counting when a soup is ready; our count ends there."""
    kind, items, ticks = soup["state"]
    if kind != "onion":
        raise ValueError(f"a soup of {kind!r}")
    ready = int(recipes.cooking_times(layout)[items, 0])
    return "o" * items, min(ticks, ready) if ticks else -1


def _item(thing: Json | None) -> str | None:
    if thing is None:
        return None
    if thing["name"] != "soup":
        return thing["name"]
    kind, items, _ = thing["state"]
    return f"soup:{kind[0] * items}"


def _joint_action(text: str) -> list[int]:
    return [int(Action.INTERACT) if one == "INTERACT" else _ACTIONS[tuple(one)] for one in _parsed(text)]


def _parsed(text: str) -> Any:  # noqa: ANN401
    """What a text in the record says: Python's notation, of which only quotes and False differ from JSON's."""
    return json.loads(text.replace("'", '"').replace("False", "false"))
