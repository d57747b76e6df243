"""Where a participant stands in a study: a pure state machine.

consent -> questions -> instructions -> tutorial -> warm-up -> ranking -> games -> thanks

`advance` checks an event against the stage and the study, and says where the participant stands
afterwards; an event that does not belong there is an InputError and changes nothing.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from cochef.errors import InputError, shown
from cochef.validation import one_of, whole_number
from cochef.web.study import Question, Study

MAX_ANSWER = 200  # characters
MAX_COMMENT = 5_000


class StudyStage(StrEnum):
    """The stages of a study, in order; who does not consent has declined."""

    CONSENT = "consent"
    QUESTIONS = "questions"
    INSTRUCTIONS = "instructions"
    TUTORIAL = "tutorial"
    WARMUP = "warm-up"
    RANKING = "ranking"
    GAMES = "games"
    THANKS = "thanks"
    DECLINED = "declined"


@dataclass(frozen=True)
class ParticipantProgress:
    """How far a participant has come."""

    stage: StudyStage
    tried: tuple[int, ...]  # free games that count with each partner, in the order of the plan
    games: int = 0  # that count


@dataclass(frozen=True)
class Consent:
    """The participant agrees to take part, or does not."""

    agrees: bool


@dataclass(frozen=True)
class Answers:
    """An answer for every question; None where it was declined."""

    values: Mapping[str, str | int | None]


@dataclass(frozen=True)
class Understood:
    """The instructions have been read."""


@dataclass(frozen=True)
class TutorialDone:
    """A soup has been served in the tutorial."""


@dataclass(frozen=True)
class WarmupPlayed:
    """A free game with a partner has ended, and was long enough to count."""

    partner: int


@dataclass(frozen=True)
class WarmupDone:
    """The participant has seen enough of the partners."""


@dataclass(frozen=True)
class Judged:
    """The partners ranked, the most helpful first, and comments by partner and question."""

    ranking: tuple[int, ...]
    comments: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class GamePlayed:
    """One of the games that count has been played to its end."""

    number: int


StudyEvent = (
    Consent | Answers | Understood | TutorialDone | WarmupPlayed | WarmupDone | Judged | GamePlayed
)

_STAGE_OF = {
    Consent: StudyStage.CONSENT,
    Answers: StudyStage.QUESTIONS,
    Understood: StudyStage.INSTRUCTIONS,
    TutorialDone: StudyStage.TUTORIAL,
    WarmupPlayed: StudyStage.WARMUP,
    WarmupDone: StudyStage.WARMUP,
    Judged: StudyStage.RANKING,
    GamePlayed: StudyStage.GAMES,
}
_NEXT = {
    Answers: StudyStage.INSTRUCTIONS,
    Understood: StudyStage.TUTORIAL,
    TutorialDone: StudyStage.WARMUP,
    WarmupDone: StudyStage.RANKING,
    Judged: StudyStage.GAMES,
}


def beginning(study: Study) -> ParticipantProgress:
    """The progress of somebody who has just joined."""
    return ParticipantProgress(StudyStage.CONSENT, (0,) * len(study.agents))


def advance(study: Study, progress: ParticipantProgress, event: StudyEvent) -> ParticipantProgress:
    """Where a participant stands after an event that is allowed there."""
    stage = _STAGE_OF[type(event)]
    if progress.stage is not stage:
        raise InputError(
            f"{type(event).__name__} at the stage {progress.stage}; it belongs to {stage}"
        )
    _check(study, progress, event)
    match event:
        case Consent(agrees):
            after = StudyStage.QUESTIONS if study.questions else StudyStage.INSTRUCTIONS
            return replace(progress, stage=after if agrees else StudyStage.DECLINED)
        case WarmupPlayed(partner):
            tried = list(progress.tried)
            tried[partner] += 1
            return replace(progress, tried=tuple(tried))
        case GamePlayed(number):
            done = number + 1 == study.games_each
            return replace(
                progress, games=number + 1, stage=StudyStage.THANKS if done else StudyStage.GAMES
            )
        case _:
            return replace(progress, stage=_NEXT[type(event)])


def _check(study: Study, progress: ParticipantProgress, event: StudyEvent) -> None:
    match event:
        case Answers(values):
            _check_answers(study, values)
        case WarmupPlayed(partner):
            whole_number(partner, "partner", 0, len(study.agents) - 1)
        case WarmupDone():
            least = study.numbers.warmup_games_least
            if min(progress.tried) < least:
                raise InputError(
                    f"free games with each partner: {list(progress.tried)}; "
                    f"at least {least} with each"
                )
        case Judged(ranking, comments):
            _check_ranking(study, ranking)
            _check_comments(study, comments)
        case GamePlayed(number):
            if number != progress.games:
                raise InputError(
                    f"game {number} has ended; the next one to play is {progress.games}"
                )


def _check_answers(study: Study, values: Mapping[str, str | int | None]) -> None:
    asked = {question.id for question in study.questions}
    if values.keys() != asked:
        raise InputError(
            f"answers to {shown(sorted(values))}; the questions are: {', '.join(sorted(asked))}"
        )
    for question in study.questions:
        if values[question.id] is not None:
            _check_answer(question, values[question.id])


def _check_answer(question: Question, value: str | int | None) -> None:
    match question.kind:
        case "choice":
            one_of(value, question.id, question.options)
        case "number":
            whole_number(value, question.id, question.least, question.most)
        case "text":
            _check_text(value, question.id, MAX_ANSWER)


def _check_text(text: object, name: str, longest: int) -> None:
    # A null character is text to Python and JSON, but not to every database.
    if not isinstance(text, str) or len(text) > longest or "\0" in text:
        raise InputError(
            f"{name} is {shown(text)}; it takes a text of at most {longest} characters"
        )


def _check_ranking(study: Study, ranking: tuple[int, ...]) -> None:
    if sorted(ranking) != list(range(len(study.agents))):
        raise InputError(
            f"ranking {shown(list(ranking))}; "
            f"it takes every partner from 0 to {len(study.agents) - 1} once"
        )


def _check_comments(study: Study, comments: tuple[tuple[str, ...], ...]) -> None:
    wanted = [len(study.comment_questions)] * len(study.agents)
    if [len(texts) for texts in comments] != wanted:
        raise InputError(
            f"{len(comments)} lists of comments; "
            "one for each partner, each with an entry for each question"
        )
    for text in itertools.chain.from_iterable(comments):
        _check_text(text, "a comment", MAX_COMMENT)
