"""How a study is going: the numbers of the experimenter's page."""

from collections import Counter
from typing import Any

import sqlalchemy as sql

from cochef.web.caveats import caveats
from cochef.web.progress import StudyStage
from cochef.web.records import NO_LAYOUT, GameEnd, Phase
from cochef.web.schema import GAMES
from cochef.web.store import StudyStore


def overview(store: StudyStore, now: float) -> dict[str, Any]:
    """Participants by layout and stage, who was here lately, and scores so far; ready for JSON.

    Who has not consented has no layout.
    """
    people = store.participants()
    groups = {}
    for layout in (*store.study.layouts, NO_LAYOUT):
        stages = Counter(str(one.progress.stage) for one in people if one.layout == layout)
        groups[layout] = {
            "wanted": store.study.numbers.participants_per_layout if layout else 0,
            "finished": stages[StudyStage.THANKS],
            "stages": {stage.value: stages[stage] for stage in StudyStage},
        }
    return {
        "study": store.study.name,
        "caveats": caveats(store),
        "participants": len(people),
        "finished": sum(group["finished"] for group in groups.values()),
        "here": sum(now - one.seen < 60 for one in people),
        "groups": groups,
        "scores": _scores(store),
        "people": [
            {
                "participant": one.number,
                "layout": one.layout,
                "stage": str(one.progress.stage),
                "games": one.progress.games,
                "of": store.study.games_each,
                "seen_seconds_ago": max(0, round(now - one.seen)),
            }
            for one in people
        ],
    }


def _scores(store: StudyStore) -> list[dict[str, Any]]:
    """The mean score by layout, agent and participant's seat, over complete games that count."""
    by = (GAMES.c.layout, GAMES.c.agent, GAMES.c.seat)
    mean = sql.func.avg(GAMES.c.score).label("mean")
    number = sql.func.count().label("games")
    complete = (GAMES.c.phase == Phase.GAME) & (GAMES.c.ended == GameEnd.COMPLETE)
    chosen = sql.select(*by, mean, number).where(complete).group_by(*by).order_by(*by)
    with store.reading() as connection:
        return [dict(row) for row in connection.execute(chosen).mappings()]
