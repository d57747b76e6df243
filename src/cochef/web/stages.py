"""What a participant's page shows at each stage. Agents appear only under their letters."""

import math
from dataclasses import asdict
from typing import Any

from cochef.web import wire
from cochef.web.progress import StudyStage
from cochef.web.records import Participant
from cochef.web.study import Study

_FRAMES = {  # characters that a page may send at once
    StudyStage.QUESTIONS: wire.ANSWERS_FRAME,
    StudyStage.RANKING: wire.MAX_FRAME,
}


def longest_frame(stage: StudyStage) -> int:
    """How many characters a page may send at once at a stage: many only where people write."""
    return _FRAMES.get(stage, wire.SMALL_FRAME)


def stage_message(study: Study, participant: Participant, alias: str) -> dict[str, Any]:
    """The message that says where a participant stands, with what the page needs there.

    The page keeps what is not sent yet under the alias.
    """
    progress = participant.progress
    message: dict[str, Any] = {
        "type": "stage",
        "stage": str(progress.stage),
        "title": study.title,
        "contact": study.contact,
        "participant": participant.number,
        "text": _text(study, progress.stage),
    }
    match progress.stage:
        case StudyStage.QUESTIONS:
            message["questions"] = [asdict(question) for question in study.questions]
        case StudyStage.WARMUP:
            message["tried"] = list(progress.tried)
            message["least"] = study.numbers.warmup_games_least
            seconds = study.numbers.warmup_ticks_least / study.numbers.ticks_per_second
            message["least_seconds"] = math.ceil(seconds)
        case StudyStage.RANKING:
            message["comment_questions"] = list(study.comment_questions)
            message["alias"] = alias
        case StudyStage.GAMES:
            message["game"] = progress.games
            message["games"] = study.games_each
        case StudyStage.THANKS:
            message["code"] = participant.completion_code
        case _:
            pass
    if progress.stage in (StudyStage.WARMUP, StudyStage.RANKING):
        message["partners"] = [partner.label for partner in participant.plan.partners]
    return message


def _text(study: Study, stage: StudyStage) -> str:
    texts = study.texts
    return {
        StudyStage.CONSENT: texts.consent,
        StudyStage.QUESTIONS: "",
        StudyStage.INSTRUCTIONS: texts.instructions,
        StudyStage.TUTORIAL: texts.tutorial,
        StudyStage.WARMUP: texts.warmup,
        StudyStage.RANKING: texts.ranking,
        StudyStage.GAMES: texts.games,
        StudyStage.THANKS: texts.thanks,
        StudyStage.DECLINED: texts.declined,
    }[stage]
