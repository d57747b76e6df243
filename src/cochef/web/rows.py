"""Rows of the study's tables, made of records, and records made of rows."""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cochef.kitchen.constants import SEATS, Action
from cochef.web import assignment
from cochef.web.progress import Answers, Judged, ParticipantProgress, StudyStage
from cochef.web.records import (
    UNKNOWN,
    GameEnd,
    GameStart,
    Interruption,
    InterruptionReason,
    Participant,
    Phase,
    Steps,
    StoredGame,
)
from cochef.web.study import Study

StoredRow = Mapping[Any, Any]

_PARTICIPANT_COLUMNS = (
    "number",
    "layout",
    "place",
    "seed",
    "completion_code",
    "joined",
    "seen",
    "finished",
)
_START_COLUMNS = (
    "participant",
    "agent",
    "loaded",
    "seat",
    "layout",
    "seed",
    "ticks",
    "ticks_per_second",
    "agent_acts_once_in",
)


def participant_of(study: Study, row: StoredRow) -> Participant:
    """The participant of a row."""
    plan = assignment.plan(study, row["layout"], row["place"], row["seed"])
    progress = ParticipantProgress(
        stage=StudyStage(row["stage"]),
        tried=tuple(json.loads(row["tried"])),
        games=row["games"],
    )
    return Participant(
        plan=plan, progress=progress, **{name: row[name] for name in _PARTICIPANT_COLUMNS}
    )


def progress_columns(progress: ParticipantProgress) -> dict[str, Any]:
    """The columns of a participant's progress."""
    return {"stage": progress.stage, "tried": json.dumps(progress.tried), "games": progress.games}


def answer_rows(participant: Participant, answers: Answers) -> list[dict[str, Any]]:
    """What a participant answered; null where they declined to."""
    return [
        {"participant": participant.number, "question": key, "answer": _json(value)}
        for key, value in answers.values.items()
    ]


def ranking_rows(participant: Participant, judged: Judged) -> list[dict[str, Any]]:
    """The agents as a participant ranked them."""
    agents = [partner.agent for partner in participant.plan.partners]
    return [
        {"participant": participant.number, "agent": agents[partner], "rank": rank}
        for rank, partner in enumerate(judged.ranking, 1)
    ]


def comment_rows(participant: Participant, judged: Judged) -> list[dict[str, Any]]:
    """What a participant wrote about the agents."""
    agents = [partner.agent for partner in participant.plan.partners]
    return [
        {
            "participant": participant.number,
            "agent": agent,
            "question": question,
            "comment": text,
        }
        for agent, texts in zip(agents, judged.comments, strict=True)
        for question, text in enumerate(texts)
    ]


def steps_row(steps: Steps) -> dict[str, Any]:
    """Joint actions, a byte each, and the lags that the page reported."""
    return {
        "game": steps.game,
        "first": steps.first,
        "actions": bytes(len(Action) * first + second for first, second in steps.actions),
        "lags": json.dumps(steps.lags),
    }


def game_of(
    row: StoredRow, steps: Sequence[StoredRow], interruptions: Sequence[StoredRow]
) -> StoredGame:
    """The game of a row, with the rows of its steps and interruptions."""
    taken = np.frombuffer(b"".join(part["actions"] for part in steps), np.uint8).astype(np.int32)
    reported = itertools.chain.from_iterable(json.loads(part["lags"]) for part in steps)
    start = GameStart(
        phase=Phase(row["phase"]), number=row["nth"], **{name: row[name] for name in _START_COLUMNS}
    )
    return StoredGame(
        number=row["number"],
        start=start,
        configuration=row["configuration"],
        actions=np.stack(np.divmod(taken, len(Action)), axis=1).reshape(-1, SEATS),
        lags=_lags(len(taken), reported),
        interruptions=tuple(_interruption(one) for one in interruptions),
        began=row["began"],
        finished=row["finished"],
        ended=GameEnd(row["ended"]) if row["ended"] else None,
        score=row["score"],
    )


def _interruption(row: StoredRow) -> Interruption:
    return Interruption(
        tick=row["tick"],
        reason=InterruptionReason(row["reason"]),
        paused=row["paused"],
        undrawn=row["undrawn"],
        began=row["began"],
        seconds=row["seconds"],
        row=row["number"],
        is_over=row["is_over"],
    )


def _lags(ticks: int, reported: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """The lag of every tick, from the [tick, milliseconds] that the page reported."""
    lags = [UNKNOWN] * ticks
    for tick, lag in reported:
        if tick < ticks:
            lags[tick] = lag
    return tuple(lags)


def _json(value: str | int | None) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)
