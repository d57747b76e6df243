"""Stored games replayed by the rules: scores checked, behaviours counted, every state shown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cochef.evaluation.behaviours import BEHAVIOUR, EpisodeBehaviour
from cochef.kitchen import layouts
from cochef.kitchen.layout import Layout
from cochef.kitchen.replay import RecordedActions, measure_replays, replay
from cochef.kitchen.text import each_to_json, event_names
from cochef.web import art
from cochef.web.records import StoredGame
from cochef.web.store import StudyStore


@dataclass(frozen=True)
class Mismatch:
    """A game whose stored score is not the one that its actions give."""

    game: int
    stored: float
    replayed: float


def stored_layouts(store: StudyStore) -> dict[tuple[str, str], Layout]:
    """The layouts as they were when games were played, by configuration and name in the study."""
    return {
        (configuration, name): layouts.parse(text, Path(name).stem)
        for configuration, content in store.configurations().items()
        for name, text in content["layouts"].items()
    }


def mismatches(store: StudyStore, games: Sequence[StoredGame]) -> list[Mismatch]:
    """The games that ended with another score than their actions give."""
    found = []
    for game, behaviour in measure(store, [game for game in games if game.score is not None]):
        replayed = float(behaviour.totals.reward.sum())
        if game.score is not None and replayed != game.score:
            found.append(Mismatch(game.number, game.score, replayed))
    return found


def measure(
    store: StudyStore, games: Sequence[StoredGame]
) -> Iterator[tuple[StoredGame, EpisodeBehaviour]]:
    """Every game with both chefs' behaviour in it, layout by layout."""
    known = stored_layouts(store)
    grouped: dict[Layout, list[StoredGame]] = {}
    for game in games:
        grouped.setdefault(known[game.configuration, game.start.layout], []).append(game)
    for layout, together in grouped.items():
        together.sort(key=lambda game: len(game.actions))  # similar lengths need less padding
        recorded = [RecordedActions(game.actions) for game in together]
        yield from zip(together, measure_replays(layout, recorded, BEHAVIOUR), strict=True)


def show(layout: Layout, game: StoredGame) -> dict[str, Any]:
    """A game as the page's player shows it: the layout, and all moments from its start on."""
    (trajectory,) = replay(layout, [RecordedActions(game.actions)])
    outcomes = trajectory.outcomes
    scores = np.cumsum(outcomes.reward.sum(axis=-1)).tolist()
    first, *later = each_to_json(layout, trajectory.states)
    moments = [{"t": 0, "state": first, "score": 0.0, "events": [[], []]}]
    for tick, state in enumerate(later):
        events = [event_names(chef) for chef in outcomes.events[tick]]
        moments.append({"t": tick + 1, "state": state, "score": scores[tick], "events": events})
    return {"kitchen": art.describe(layout), "seat": game.start.seat, "moments": moments}
