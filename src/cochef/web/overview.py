"""How a study is going: the numbers of the experimenter's page."""

from collections import Counter
from typing import Any

import sqlalchemy as sql

from cochef.web.progress import Stage
from cochef.web.records import Ended, Phase
from cochef.web.schema import GAMES
from cochef.web.store import Store


def overview(store: Store, now: float) -> dict[str, Any]:
    """Participants by kitchen and stage, who was here lately, and the scores so far; ready for JSON."""
    people = store.participants()
    groups = {}
    for layout in store.study.layouts:
        stages = Counter(str(one.progress.stage) for one in people if one.layout == layout)
        groups[layout] = {
            "wanted": store.study.numbers.participants_per_layout,
            "finished": stages[Stage.THANKS],
            "stages": {stage.value: stages[stage] for stage in Stage},
        }
    return {
        "study": store.study.name,
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


def _scores(store: Store) -> list[dict[str, Any]]:
    """The mean score of each agent in each kitchen and seat of the participant, over complete games that count."""
    by = (GAMES.c.layout, GAMES.c.agent, GAMES.c.seat)
    mean, number = sql.func.avg(GAMES.c.score).label("mean"), sql.func.count().label("games")
    chosen = (GAMES.c.phase == Phase.GAME) & (GAMES.c.ended == Ended.COMPLETE)
    with store.reading() as connection:
        rows = connection.execute(sql.select(*by, mean, number).where(chosen).group_by(*by).order_by(*by))
        return [dict(row) for row in rows.mappings()]
