"""Reward configuration: shaping by event, and the sets that hidden rewards are drawn from.

They are TOML files; those of the paper ship with the package, and users write their own:

    description = "mine"                       # for readers; optional
    adaptive_shaping_end = 0.5                 # the share of the shaped reward that is left at the
                                               # end of the second stage; 0 if not given

    [hidden]                                   # the sets C_j that hidden weights are drawn from
    pickup_onion_from_dispenser = [-10, 0, 10]
    order = [0, 1]                             # the weight of the task reward

    [shaping]                                  # the shaped reward, by event
    soup_pickup = 5

    [adaptive_shaping]                         # that of the second stage; as in the first if absent
    soup_pickup = 5
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

from cochef.errors import InputError, shown
from cochef.files import read_limited
from cochef.kitchen import layouts
from cochef.kitchen.events import Event
from cochef.kitchen.layout import Layout
from cochef.validation import number, table

ORDER = "order"
MAX_WEIGHT = 1_000.0
MAX_FILE_BYTES = 64 * 1024

EventWeights = Mapping[Event, float]

_EVENTS = {event.label: event for event in Event}
_HIDDEN = "hidden"
_SHAPING = "shaping"
_ADAPTIVE_SHAPING = "adaptive_shaping"
_ADAPTIVE_SHAPING_END = "adaptive_shaping_end"
_KEYS = (_HIDDEN, _SHAPING, _ADAPTIVE_SHAPING, _ADAPTIVE_SHAPING_END, "description")


@dataclass(frozen=True)
class RewardConfig:
    """What is rewarded in a layout besides its orders."""

    hidden: Mapping[str, tuple[float, ...]]  # by event label, or "order"
    shaping: EventWeights
    adaptive_shaping: EventWeights
    adaptive_shaping_end: float = 0.0  # share of it that is left at the end of the second stage


def shipped(layout: Layout) -> RewardConfig:
    """The paper's rewards for a layout, or those of the paper's layout most like it."""
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
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{source}: not TOML ({error})") from None
    unknown = sorted(content.keys() - set(_KEYS))
    if unknown:
        raise InputError(f"{source}: unknown key {shown(unknown[0])}; allowed: {', '.join(_KEYS)}")
    hidden = table(content.get(_HIDDEN, {}), f"{source}: {_HIDDEN}", "events")
    shaping = _weights(content.get(_SHAPING, {}), f"{source}: {_SHAPING}")
    adaptive_shaping = shaping
    if _ADAPTIVE_SHAPING in content:
        adaptive_shaping = _weights(content[_ADAPTIVE_SHAPING], f"{source}: {_ADAPTIVE_SHAPING}")
    end = content.get(_ADAPTIVE_SHAPING_END, 0.0)
    return RewardConfig(
        hidden={name: _choices(name, entry, source) for name, entry in hidden.items()},
        shaping=shaping,
        adaptive_shaping=adaptive_shaping,
        adaptive_shaping_end=number(end, f"{source}: {_ADAPTIVE_SHAPING_END}", 0, 1),
    )


def _weights(entry: object, where: str) -> EventWeights:
    rows = table(entry, where, "events").items()
    return {_event(name, where): _weight(weight, f"{where}: {name}") for name, weight in rows}


def _choices(name: str, entry: object, source: str) -> tuple[float, ...]:
    where = f"{source}: {_HIDDEN}"
    if name != ORDER:
        _event(name, where)
    if not isinstance(entry, list) or not entry:
        raise InputError(
            f"{where}: {name} is {shown(entry)}; it takes a list of weights to draw from"
        )
    return tuple(_weight(weight, f"{where}: {name}") for weight in entry)


def _event(name: str, where: str) -> Event:
    if name not in _EVENTS:
        raise InputError(f"{where}: unknown event {shown(name)}; known: {', '.join(_EVENTS)}")
    return _EVENTS[name]


def _weight(value: object, where: str) -> float:
    return number(value, where, -MAX_WEIGHT, MAX_WEIGHT)


def by_label(weights: EventWeights) -> dict[str, float]:
    """Weights by the names of events, for files."""
    return {event.label: weight for event, weight in weights.items()}


def as_vector(weights: EventWeights) -> np.ndarray:
    """Weights in the order of the events."""
    return np.array([weights.get(event, 0.0) for event in Event], np.float32)
