"""Recorded episodes as JSON lines: reading, writing, and comparing them with what the rules give.

    {"layout": "many_orders",
     "actions": [[a0, a1], ...],
     "steps": [{"chefs": ..., "pots": ..., "counters": ...,   the state after each joint action
                "reward": [r0, r1],                           task reward caused by each chef
                "events": [[...], [...]]}, ...],              names of each chef's events, sorted
     "score": 140.0}

States are written as in text.py. Optional keys: "layout_file" (the text of a layout file, for
layouts that do not ship), "start" (a state, otherwise the layout's own), "known_events" (the names
of the events that the recorder knows; others are not compared). Any other key is ignored. A file
may be compressed (.gz).
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from cochef import validation
from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.events import Event, reference_events
from cochef.kitchen.layout import Layout
from cochef.kitchen.replay import RecordedActions, replay
from cochef.kitchen.state import State, start
from cochef.kitchen.text import each_to_json, event_names, from_json
from cochef.kitchen.trajectories import Trajectory

_COMPARED = ("chefs", "pots", "counters", "reward", "events")


@dataclass(frozen=True)
class Episode:
    """A recorded episode, checked for form; `source` names its file and line."""

    source: str
    layout: Layout
    start: State
    actions: np.ndarray
    steps: Sequence[Mapping[str, Any]]
    score: float
    known_events: frozenset[str]


@dataclass(frozen=True)
class ReplayDifference:
    """Where a replay first differs from the record: the step, which part of it, and both values."""

    step: int
    part: str
    recorded: object
    replayed: object


def read(path: Path) -> Iterator[Episode]:
    """The episodes in a file, one a line."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _episode(line, f"{path}, line {number}")
    except InputError:
        raise
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise InputError(
            f"{path}: cannot be read ({error}); give a file of recorded episodes"
        ) from error


def write_line(layout: Layout, trajectory: Trajectory, **extra: object) -> str:
    """One episode as a line of JSON; `extra` keys are stored with it."""
    record: dict[str, object] = {"layout": layout.name}
    if not layouts.is_shipped(layout, layout.name):
        record["layout_file"] = layouts.to_toml(layout)
    record |= extra
    record["known_events"] = [event.label for event in Event]
    record["actions"] = np.asarray(trajectory.actions).tolist()
    record["steps"] = list(_steps_json(layout, trajectory))
    record["score"] = float(trajectory.score)
    return json.dumps(record, separators=(",", ":"))


def first_difference(episode: Episode) -> ReplayDifference | None:
    """Play the recorded actions again; the first difference to the record, or None."""
    (trajectory,) = replay(episode.layout, [RecordedActions(episode.actions, episode.start)])
    played = _steps_json(episode.layout, trajectory)
    for time, (recorded, replayed) in enumerate(zip(episode.steps, played, strict=True)):
        for part in _COMPARED:
            theirs = recorded[part]
            ours = replayed[part]
            if part == "events":
                theirs = [_only_known(chef, episode) for chef in theirs]
                ours = [_only_known(chef, episode) for chef in ours]
            if theirs != ours:
                return ReplayDifference(time, part, theirs, ours)
    score = float(trajectory.score)
    if score != episode.score:
        return ReplayDifference(len(episode.steps), "score", episode.score, score)
    return None


def _only_known(events: Sequence[str], episode: Episode) -> list[str]:
    return [name for name in events if name in episode.known_events]


def _steps_json(layout: Layout, trajectory: Trajectory) -> Iterator[dict[str, Any]]:
    """What each step of an episode brought about, and the state after it."""
    after = jax.tree.map(lambda leaf: leaf[1:], trajectory.states)
    events = np.asarray(trajectory.outcomes.events)
    rewards = np.asarray(trajectory.outcomes.reward).tolist()
    for state, by_chef, reward in zip(each_to_json(layout, after), events, rewards, strict=True):
        del state["t"]
        yield {**state, "reward": reward, "events": [event_names(chef) for chef in by_chef]}


def _episode(line: str, source: str) -> Episode:
    try:
        return _checked(json.loads(line), source)
    except json.JSONDecodeError as error:
        raise InputError(f"{source}: not JSON ({error.msg} at character {error.pos + 1})") from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"{source}: {error}") from None


def _checked(record: object, source: str) -> Episode:
    if not isinstance(record, Mapping):
        raise InputError("not an object with layout, actions, steps and score")
    missing = {"layout", "actions", "steps", "score"} - set(record)
    if missing:
        raise InputError(
            f"{min(missing)!r} is missing; an episode has layout, actions, steps and score"
        )
    name = str(record["layout"])
    if "layout_file" in record:
        layout = layouts.parse(str(record["layout_file"]), name)
    else:
        layout = layouts.get(name)
    actions = _actions(record["actions"])
    return Episode(
        source=source,
        layout=layout,
        start=from_json(layout, record["start"]) if "start" in record else start(layout),
        actions=actions,
        steps=_steps(record["steps"], len(actions)),
        score=validation.number(record["score"], "score"),
        known_events=_known_events(layout, record.get("known_events")),
    )


def _actions(actions: object) -> np.ndarray:
    if not isinstance(actions, list) or not actions:
        raise InputError("actions is no list of joint actions, or empty; it takes [[a0, a1], ...]")
    allowed = f"it takes two numbers from 0 to {len(Action) - 1}"
    for time, joint in enumerate(actions):
        if not isinstance(joint, list) or len(joint) != SEATS:
            raise InputError(f"joint action {time} is {joint!r}; {allowed}")
        if not all(type(action) is int and 0 <= action < len(Action) for action in joint):
            raise InputError(f"joint action {time} is {joint!r}; {allowed}")
    return np.array(actions, np.int32)


def _steps(steps: object, length: int) -> Sequence[Mapping[str, Any]]:
    if not isinstance(steps, list) or len(steps) != length:
        raise InputError(f"steps is no list of {length} steps, as many as there are actions")
    for time, entry in enumerate(steps):
        if not isinstance(entry, Mapping) or not set(_COMPARED) <= set(entry):
            raise InputError(f"step {time} is {entry!r}; it takes {', '.join(_COMPARED)}")
        if not _is_names_by_chef(entry["events"]):
            raise InputError(
                f"events of step {time} are {entry['events']!r}; "
                "they take a list of names for each chef"
            )
    return steps


def _is_names_by_chef(events: object) -> bool:
    if not isinstance(events, list) or not all(isinstance(chef, list) for chef in events):
        return False
    return all(isinstance(name, str) for chef in events for name in chef)


def _known_events(layout: Layout, known: object) -> frozenset[str]:
    if known is None:
        return frozenset(event.label for event in reference_events(layout))
    labels = {event.label for event in Event}
    if not isinstance(known, list) or not all(
        isinstance(name, str) and name in labels for name in known
    ):
        raise InputError(
            f"known_events is {known!r}; "
            f"it takes a list of event names: {', '.join(sorted(labels))}"
        )
    return frozenset(known)
