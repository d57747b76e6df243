"""Places of a study: who holds one, which is free, and who keeps theirs after a long time."""

from typing import Any

import sqlalchemy as sql

from cochef.errors import InputError
from cochef.web import assignment
from cochef.web.progress import StudyStage
from cochef.web.records import Participant
from cochef.web.schema import IDENTITIES, PARTICIPANTS
from cochef.web.study import Study

_MINUTE = 60.0
_HOUR = 3600.0
# Times `hours_until_abandoned` in which somebody who comes back again and again has to get further.
_WITHOUT_PROGRESS = 7.0
_EARLY = (StudyStage.QUESTIONS, StudyStage.INSTRUCTIONS, StudyStage.TUTORIAL)
_LATE = (StudyStage.WARMUP, StudyStage.RANKING, StudyStage.GAMES)


class StudyFullError(InputError):
    """No place is left."""


class PlaceGivenError(StudyFullError):
    """Somebody did not go on for so long that their place was given to somebody else."""


def forget_unconsented(connection: sql.Connection, study: Study, now: float) -> None:
    """Delete who came, did not consent and has not been here since; links can be used again."""
    long_ago = now - study.numbers.hours_until_abandoned * _HOUR
    stale = (PARTICIPANTS.c.stage == StudyStage.CONSENT) & (PARTICIPANTS.c.seen < long_ago)
    numbers = sql.select(PARTICIPANTS.c.number).where(stale)
    theirs = IDENTITIES.c.participant.in_(numbers)
    connection.execute(
        IDENTITIES.update().where(theirs, IDENTITIES.c.kind == "link").values(participant=None)
    )
    connection.execute(IDENTITIES.delete().where(theirs))
    connection.execute(PARTICIPANTS.delete().where(stale))


def free_place(connection: sql.Connection, study: Study, seed: int, now: float) -> dict[str, Any]:
    """The columns of a free place."""
    chosen = sql.select(PARTICIPANTS.c.layout, PARTICIPANTS.c.place)
    taken: dict[str, set[int]] = {}
    for layout, place in connection.execute(chosen.where(_holds_place(study, now))):
        taken.setdefault(layout, set()).add(place)
    free = assignment.free_place(study, taken, seed)
    if free is None:
        raise StudyFullError("all places of this study are taken")
    return {"layout": free[0], "place": free[1]}


def keep_place(
    connection: sql.Connection, study: Study, participant: Participant, now: float
) -> dict[str, Any]:
    """Columns by which somebody has their place again, or another one.

    Whoever stayed away for long loses their place as soon as somebody else has it; who has not met
    the partners yet gets another.
    """
    own = PARTICIPANTS.c.number == participant.number
    same = (PARTICIPANTS.c.layout == participant.layout) & (
        PARTICIPANTS.c.place == participant.place
    )
    others = sql.exists().where(same, ~own, _holds_place(study, now))
    held = sql.exists().where(own, _holds_place(study, now))
    stage = participant.progress.stage
    if stage not in (*_EARLY, *_LATE) or connection.scalar(sql.select(held | ~others)):
        return {}
    if stage in _EARLY:
        return free_place(connection, study, participant.seed, now)
    raise PlaceGivenError(
        "you have not gone on for so long that your place was given to somebody else"
    )


def _holds_place(study: Study, now: float) -> sql.ColumnElement[bool]:
    """Who has finished, or consented and may still finish.

    Being here is not enough, or a page that only says hello would hold a place for ever: everybody
    has to get further. Who has met the partners may be away in between.
    """
    stage = PARTICIPANTS.c.stage
    advanced = PARTICIPANTS.c.advanced
    soon = study.numbers.minutes_until_released * _MINUTE
    later = study.numbers.hours_until_abandoned * _HOUR
    is_back = (PARTICIPANTS.c.seen >= now - later) & (advanced >= now - _WITHOUT_PROGRESS * later)
    return (
        (stage == StudyStage.THANKS)
        | stage.in_(_EARLY) & (advanced >= now - soon)
        | stage.in_(_LATE) & is_back
    )
