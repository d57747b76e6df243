"""The numbers of a study: how many, how long, how fast, and what the analysis leaves out."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cochef.agents.modified import MAX_SLOWNESS
from cochef.kitchen import layouts
from cochef.validation import number, only, table, whole_number


def _limited(default: int | float | None, least: int | float, most: int | float) -> Any:  # noqa: ANN401
    return field(default=default, metadata={"least": least, "most": most})


@dataclass(frozen=True)
class Numbers:
    """How many, how long, how fast."""

    participants_per_layout: int = _limited(12, 1, 10_000)
    repeats: int = _limited(3, 1, 50)  # games with each agent in each seat
    ticks_per_second: float = _limited(8.0, 0.1, 1_000.0)
    game_ticks: int = _limited(400, 1, layouts.MAX_HORIZON)
    warmup_ticks: int = _limited(400, 1, layouts.MAX_HORIZON)  # a free game may be ended earlier
    warmup_ticks_least: int = _limited(100, 1, layouts.MAX_HORIZON)  # from which on it counts
    tutorial_ticks: int = _limited(1_200, 1, layouts.MAX_HORIZON)
    agent_acts_once_in: int = _limited(8, 1, MAX_SLOWNESS)  # ticks; see `session.py`
    countdown_seconds: float = _limited(3.0, 0.0, 60.0)  # before a game begins or goes on
    warmup_games_least: int = _limited(1, 0, 20)  # with each agent before one may go on
    hours_until_abandoned: float = _limited(24.0, 0.01, 10_000.0)  # then a place is free again
    minutes_until_released: float = _limited(60.0, 0.01, 100_000.0)  # the same before the warm-up
    joins_per_address: int = _limited(10, 1, 100_000)  # an hour, without a link of one's own
    stall_seconds: float = _limited(2.0, 0.2, 60.0)  # a page that far behind pauses its game
    pauses_most: int = _limited(3, 0, 1_000)  # of a game that counts


@dataclass(frozen=True)
class Exclusions:
    """Which games and people the analysis leaves out, decided before anybody takes part.

    A rule that is not given leaves nothing out.
    """

    pauses_most: int | None = _limited(None, 0, 1_000)  # of a game
    paused_seconds_most: float | None = _limited(None, 0.0, 1e6)  # of a game, all pauses together
    undrawn_ticks_most: int | None = _limited(None, 0, layouts.MAX_HORIZON)  # played in stalls
    median_lag_most: float | None = _limited(None, 0.0, 1e6)  # milliseconds
    idle_share_most: float | None = _limited(None, 0.0, 1.0)  # ticks without the person's action
    games_least: int | None = _limited(None, 0, 10_000)  # left of a person; else they are left out


def limited_table(value: object, kind: type[Numbers | Exclusions]) -> dict[str, Any]:
    """The numbers of a table, each within the limits that its field has."""
    name = kind.__name__.lower()
    known = {known.name: known for known in dataclasses.fields(kind)}
    checked: dict[str, Any] = {}
    for key, given in checked_table(value, list(known), name).items():
        limits = known[key].metadata
        check = whole_number if isinstance(limits["least"], int) else number
        checked[key] = check(given, f"{name}.{key}", limits["least"], limits["most"])
    return checked


def checked_table(value: object, allowed: Sequence[str], name: str) -> Mapping[str, Any]:
    """A table that has no other keys than these."""
    checked = table(value, name, ", ".join(allowed))
    only(checked, allowed, name)
    return checked
