"""Recorded episodes as JSON lines: reading, writing, and replaying them to find the first step that differs.

    {"layout": "many_orders", "actions": [[a0, a1], ...],
     "steps": [{"chefs": ..., "pots": ..., "counters": ...,   the state after each joint action (see text.py)
                "reward": [r0, r1],                           task reward caused by each chef
                "events": [[...], [...]]}, ...],              names of the events each chef caused, sorted
     "score": 140.0}

Optional: "kitchen" (the text of a layout file, for layouts that do not ship), "start" (a state, else the layout's own),
"known_events" (the names that the recorder knows; events it does not know are not compared). Other keys are carried
along unread. A file may be compressed (.gz).
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.kitchen.constants import INGREDIENTS, SEATS, Action, Event
from cochef.kitchen.dynamics import Outcome, step
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State, start
from cochef.kitchen.text import each_to_json, event_names, from_json

_SHAPING_ONLY = {Event.TOMATO_IN_EMPTY_POT, Event.OPTIMAL_TOMATO_PLACEMENT, Event.USEFUL_TOMATO_PICKUP}
_SINCE_RECIPES = {
    Event.VIABLE_PLACEMENT,
    Event.OPTIMAL_PLACEMENT,
    Event.CATASTROPHIC_PLACEMENT,
    Event.USELESS_PLACEMENT,
    Event.POTTING_ONION,
    Event.POTTING_TOMATO,
}
_COMPARED = ("chefs", "pots", "counters", "reward", "events")


@dataclass(frozen=True)
class Episode:
    """A recorded episode, checked for form; `place` says where it stands."""

    place: str
    layout: Layout
    start: State
    actions: np.ndarray
    steps: Sequence[Mapping[str, Any]]
    score: float
    known_events: frozenset[str]


@dataclass(frozen=True)
class Difference:
    """Where a replay first leaves the record."""

    step: int
    what: str
    recorded: object
    replayed: object


def reference_events(layout: Layout) -> frozenset[str]:
    """The events that the engines of the paper report: the older one, for onions only, knows fewer."""
    tomatoes = any(order.contents[INGREDIENTS - 1] for order in layout.orders)
    unknown = _SHAPING_ONLY if tomatoes else _SHAPING_ONLY | _SINCE_RECIPES
    return frozenset(event.label for event in Event if event not in unknown)


def counted_events(layout: Layout) -> tuple[Event, ...]:
    """The events by which behaviour is compared: the paper's 12 where nobody has tomatoes, its 21 elsewhere."""
    known = reference_events(layout)
    tomatoes = any(order.contents[1] for order in layout.orders)
    return tuple(event for event in Event if event.label in known and (tomatoes or "TOMATO" not in event.name))


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
        raise InputError(f"{path}: cannot be read ({error}); give a file of recorded episodes") from error


def write_line(layout: Layout, states: State, actions: np.ndarray, outcomes: Outcome, **extra: object) -> str:
    """One episode as a line: `states` are those after each action."""
    steps = list(_steps_json(layout, states, outcomes))
    score = float(np.asarray(outcomes.reward).sum())
    known = [event.label for event in Event]
    kitchen = {} if layouts.is_shipped(layout, layout.name) else {"kitchen": layouts.to_toml(layout)}
    record = {"layout": layout.name, **kitchen, **extra, "known_events": known, "actions": np.asarray(actions).tolist()}
    return json.dumps({**record, "steps": steps, "score": score}, separators=(",", ":"))


def replay(episode: Episode) -> Difference | None:
    """Play the recorded actions; the first difference to the record, or None."""
    states, outcomes = jax.device_get(_play(episode.layout, episode.start, jnp.asarray(episode.actions)))
    played = _steps_json(episode.layout, states, outcomes)
    for time, (recorded, replayed) in enumerate(zip(episode.steps, played, strict=True)):
        for what in _COMPARED:
            ours, theirs = replayed[what], recorded[what]
            if what == "events":
                ours, theirs = (
                    [[e for e in chef if e in episode.known_events] for chef in side] for side in (ours, theirs)
                )
            if ours != theirs:
                return Difference(time, what, theirs, ours)
    score = float(outcomes.reward.sum())
    return None if score == episode.score else Difference(len(episode.steps), "score", episode.score, score)


@partial(jax.jit, static_argnames="layout")
def _play(layout: Layout, begin: State, actions: Int[Array, "time 2"]) -> tuple[State, Outcome]:
    def tick(state: State, joint: Int[Array, "2"]) -> tuple[State, tuple[State, Outcome]]:
        after, outcome = step(layout, state, joint)
        return after, (after, outcome)

    return jax.lax.scan(tick, begin, actions)[1]


def _steps_json(layout: Layout, states: State, outcomes: Outcome) -> Iterator[dict[str, Any]]:
    happened, rewards = np.asarray(outcomes.events), np.asarray(outcomes.reward).tolist()
    for table, events, reward in zip(each_to_json(layout, states), happened, rewards, strict=True):
        del table["t"]
        yield {**table, "reward": reward, "events": [event_names(chef) for chef in events]}


def _episode(line: str, place: str) -> Episode:
    try:
        return _checked(json.loads(line), place)
    except json.JSONDecodeError as error:
        raise InputError(f"{place}: not JSON ({error.msg} at character {error.pos + 1})") from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"{place}: {error}") from None


def _checked(record: object, place: str) -> Episode:
    if not isinstance(record, Mapping):
        raise InputError("not an object with layout, actions, steps and score")
    missing = {"layout", "actions", "steps", "score"} - set(record)
    if missing:
        raise InputError(f"{min(missing)!r} is missing; an episode has layout, actions, steps and score")
    name = str(record["layout"])
    layout = layouts.parse(str(record["kitchen"]), name) if "kitchen" in record else layouts.get(name)
    actions = _actions(record["actions"])
    return Episode(
        place=place,
        layout=layout,
        start=from_json(layout, record["start"]) if "start" in record else start(layout),
        actions=actions,
        steps=_steps(record["steps"], len(actions)),
        score=_number(record["score"], "score"),
        known_events=_known_events(layout, record.get("known_events")),
    )


def _actions(actions: object) -> np.ndarray:
    if not isinstance(actions, list) or not actions:
        raise InputError("actions is no list of joint actions, or empty; it takes [[a0, a1], ...]")
    for time, joint in enumerate(actions):
        whole = isinstance(joint, list) and len(joint) == SEATS and all(type(action) is int for action in joint)
        if not whole or not all(0 <= action < len(Action) for action in joint):
            raise InputError(f"joint action {time} is {joint!r}; it takes two numbers from 0 to {len(Action) - 1}")
    return np.array(actions, np.int32)


def _steps(steps: object, length: int) -> Sequence[Mapping[str, Any]]:
    if not isinstance(steps, list) or len(steps) != length:
        raise InputError(f"steps is no list of {length} steps, as many as there are actions")
    for time, entry in enumerate(steps):
        if not isinstance(entry, Mapping) or not set(_COMPARED) <= set(entry):
            raise InputError(f"step {time} is {entry!r}; it takes {', '.join(_COMPARED)}")
        events = entry["events"]
        lists = isinstance(events, list) and all(isinstance(chef, list) for chef in events)
        if not lists or not all(isinstance(name, str) for chef in events for name in chef):
            raise InputError(f"events of step {time} are {events!r}; they take a list of names for each chef")
    return steps


def _number(value: object, what: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InputError(f"{what} is {value!r}; it takes a number")
    return float(value)


def _known_events(layout: Layout, known: object) -> frozenset[str]:
    if known is None:
        return reference_events(layout)
    labels = {event.label for event in Event}
    if not isinstance(known, list) or not all(isinstance(name, str) and name in labels for name in known):
        raise InputError(f"known_events is {known!r}; it takes a list of event names: {', '.join(sorted(labels))}")
    return frozenset(known)
