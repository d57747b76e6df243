"""What a seat wants: rewards as weights of events, and the sets that hidden rewards are drawn from.

RewardConfig are TOML files; those of the paper ship with the package, and users write their own:

    [hidden]                                   # the sets C_j from which a biased chef's weights are drawn
    pickup_onion_from_dispenser = [-10, 0, 10]
    order = [0, 1]                             # the weight of the task reward

    [shaping]                                  # what helps learning, by event
    soup_pickup = 5

    [adaptive_shaping]                         # the same in the second stage; optional
    soup_pickup = 5

    [adaptive_share]                           # of the helping reward at the end of the second stage; optional
    end = 0.5
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from cochef.errors import InputError, shown
from cochef.files import read_limited
from cochef.kitchen import layouts
from cochef.kitchen.events import Event
from cochef.kitchen.layout import Layout

ORDER = "order"
MAX_WEIGHT = 1_000.0
MAX_FILE_BYTES = 64 * 1024

Weights = Mapping[Event, float]

_EVENTS = {event.label: event for event in Event}
_TABLES = ("hidden", "shaping", "adaptive_shaping")
_SHARE = "adaptive_share"


@dataclass(frozen=True)
class RewardConfig:
    """What is rewarded in a kitchen besides its orders."""

    hidden: Mapping[str, tuple[float, ...]]  # by event label, or "order"
    shaping: Weights
    adaptive_shaping: Weights
    adaptive_end: float = 0.0  # the share of the helping reward at the end of the second stage


def shipped(layout: Layout) -> RewardConfig:
    """The paper's rewards for a kitchen, or those of the paper's kitchen most like it."""
    if layouts.is_shipped(layout, "distant_tomato"):
        return _shipped("distant_tomato")
    tomatoes = any(order.contents[1] for order in layout.orders)
    return _shipped("many_orders" if tomatoes else "onions")


@cache
def _shipped(name: str) -> RewardConfig:
    path = resources.files("cochef.learning") / "rewards" / f"{name}.toml"
    return parse(path.read_text("utf-8"), name)


def read(path: Path) -> RewardConfig:
    """The rewards in a file."""
    content = read_limited(path, MAX_FILE_BYTES, "a file of rewards")
    try:
        return parse(content.decode(), str(path))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not text ({error.reason} at byte {error.start})") from None


def parse(text: str, source: str) -> RewardConfig:
    """The rewards in a text."""
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{source}: not TOML ({error})") from None
    tables.pop("about", None)
    share = _end(tables.pop(_SHARE, {"end": 0.0}), source)
    unknown = sorted(tables.keys() - set(_TABLES))
    if unknown:
        raise InputError(
            f"{source}: unknown table {shown(unknown[0])}; allowed: {', '.join((*_TABLES, _SHARE))}"
        )
    hidden, shaping, adaptive = (_table(tables.get(name, {}), name, source) for name in _TABLES)
    first = _weights(shaping, f"{source}: shaping")
    second = (
        _weights(adaptive, f"{source}: adaptive_shaping") if "adaptive_shaping" in tables else first
    )
    return RewardConfig(
        {name: _choices(name, entry, source) for name, entry in hidden.items()},
        first,
        second,
        share,
    )


def _end(entry: object, source: str) -> float:
    if not isinstance(entry, dict) or entry.keys() != {"end"}:
        raise InputError(f"{source}: {_SHARE} is {shown(entry)}; it takes a table with end")
    end = _number(entry["end"], f"{source}: {_SHARE}: end")
    if not 0 <= end <= 1:
        raise InputError(f"{source}: {_SHARE}: end is {shown(end)}; it takes a number from 0 to 1")
    return end


def _table(entry: object, name: str, source: str) -> Mapping[str, Any]:
    if not isinstance(entry, dict):
        raise InputError(f"{source}: {name} is {shown(entry)}; it takes a table of events")
    return entry


def _weights(table: Mapping[str, Any], where: str) -> Weights:
    return {
        _event(name, where): _number(weight, f"{where}: {name}") for name, weight in table.items()
    }


def _choices(name: str, entry: object, source: str) -> tuple[float, ...]:
    if name != ORDER:
        _event(name, f"{source}: hidden")
    if not isinstance(entry, list) or not entry:
        raise InputError(
            f"{source}: hidden: {name} is {shown(entry)}; it takes a list of weights to draw from"
        )
    return tuple(_number(weight, f"{source}: hidden: {name}") for weight in entry)


def _event(name: str, where: str) -> Event:
    if name not in _EVENTS:
        raise InputError(f"{where}: unknown event {shown(name)}; known: {', '.join(_EVENTS)}")
    return _EVENTS[name]


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(f"{where} is {shown(value)}; it takes a number")
    if abs(value) > MAX_WEIGHT:
        raise InputError(
            f"{where} is {shown(value)}; it takes a number from {-MAX_WEIGHT:g} to {MAX_WEIGHT:g}"
        )
    return float(value)


def as_vector(weights: Weights) -> np.ndarray:
    """Weights in the order of the events."""
    return np.array([weights.get(event, 0.0) for event in Event], np.float32)
