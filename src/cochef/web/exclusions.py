"""The exclusion rules of a study, applied: which games and people the analysis leaves out."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cochef.kitchen.constants import Action
from cochef.web.records import UNKNOWN, InterruptionReason, StoredGame
from cochef.web.study import Exclusions

# What each rule leaves out, in words.
MEANINGS = {
    "pauses_most": "games paused more than {} times, waits for the database not counted",
    "paused_seconds_most": "games paused for more than {} seconds in all, as far as is known",
    "undrawn_ticks_most": "games with more than {} ticks that the page did not show",
    "median_lag_most": "games whose ticks were drawn later than {} ms, half of the time",
    "idle_share_most": "games in which the person did nothing in more than {} of the ticks",
    "games_least": "people with fewer than {} games left",
}


@dataclass(frozen=True)
class GameQuality:
    """What the rules look at in a game."""

    pauses: int  # those of the person and their page; waits for the database are none
    paused_seconds: float  # of all pauses whose length is known, waits for the database included
    unknown_pauses: int  # whose length is not known, as the server was stopped
    undrawn_ticks: int
    median_lag: float  # milliseconds; not a number where the page reported none
    idle_share: float


def quality(game: StoredGame) -> GameQuality:
    """How well a participant could play a game, and whether they did.

    Nobody is blamed for a wait for the database, but it takes people out of their game for as long
    as any other pause.
    """
    pauses = [one for one in game.interruptions if one.paused]
    own = [one for one in pauses if one.reason is not InterruptionReason.STORE]
    lags = [lag for lag in game.lags if lag != UNKNOWN]
    actions = game.actions[:, game.start.seat]
    return GameQuality(
        pauses=len(own),
        paused_seconds=round(math.fsum(one.seconds or 0.0 for one in pauses), 3),
        unknown_pauses=sum(one.seconds is None for one in pauses),
        undrawn_ticks=sum(one.undrawn for one in game.interruptions),
        median_lag=float(np.median(lags)) if lags else float("nan"),
        idle_share=float((actions == Action.STAY).mean()) if len(actions) else 1.0,
    )


def stated(rules: Exclusions) -> dict[str, str]:
    """The rules that a study has, in words, by their names."""
    given = {name: limit for name, limit in asdict(rules).items() if limit is not None}
    return {name: MEANINGS[name].format(f"{limit:g}") for name, limit in given.items()}


def broken_rule(rules: Exclusions, seen: GameQuality) -> str:
    """The first rule that a game breaks; empty where it breaks none."""
    found = asdict(seen)
    for name in stated(rules):
        measure = name.removesuffix("_most")
        # What is not a number is above no limit.
        if measure in found and found[measure] > getattr(rules, name):
            return name
    return ""


def leave_out(rules: Exclusions, rows: list[dict[str, Any]]) -> None:
    """Write into each row of a counted game, as `excluded`, which rule leaves it out.

    The rows have the measures of `GameQuality`, and `participant`.
    """
    for row in rows:
        seen = GameQuality(**{name: row[name] for name in GameQuality.__dataclass_fields__})
        row["excluded"] = broken_rule(rules, seen)
    few = people_with_few_games(rules, rows)
    for row in rows:
        if not row["excluded"] and row["participant"] in few:
            row["excluded"] = "games_least"


def people_with_few_games(rules: Exclusions, rows: list[dict[str, Any]]) -> set[int]:
    """The people of whom fewer games are left than the rules ask for."""
    if rules.games_least is None:
        return set()
    left = Counter(row["participant"] for row in rows if not row["excluded"])
    everybody = {row["participant"] for row in rows}
    return {person for person in everybody if left[person] < rules.games_least}


def counts(excluded: np.ndarray) -> Mapping[str, int]:
    """How many games each rule leaves out."""
    return Counter(name for name in excluded.tolist() if name)
