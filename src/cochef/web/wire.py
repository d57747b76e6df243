"""What a page may say: text frames of JSON, checked before anything is done with them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from cochef.agents.modified import MAX_SLOWNESS
from cochef.errors import InputError, shown
from cochef.kitchen.constants import SEATS, Action
from cochef.validation import number, one_of, truth, whole_number
from cochef.web.progress import (
    Answers,
    Consent,
    Judged,
    StudyEvent,
    Understood,
    WarmupDone,
)
from cochef.web.session import MAX_TICKS

MAX_FRAME = 128 * 1024  # characters; only where comments are sent
ANSWERS_FRAME = 32 * 1024  # where questions are answered
SMALL_FRAME = 2 * 1024  # everywhere else
MAX_COUNTDOWN = 60.0  # seconds
MAX_FREE_TICKS = 2_000  # of free play, where all moments are kept for the replay

_LONGEST_NAME = 300
_MOST_PARTNERS = 10_000
_MAX_ANSWER = 2**31 - 1  # a database's integer
_TYPES = ("hello", "start", "ready", "down", "up", "seen", "pause", "stop", "submit")
_EVENTS = ("consent", "answers", "understood", "warm-up-done", "judged")


@dataclass(frozen=True)
class Hello:
    """The page is here; it may ask to take over from another tab."""

    take_over: bool


@dataclass(frozen=True)
class StartNext:
    """Start the next game of a study; in the warm-up with the partner of this number."""

    partner: int | None


@dataclass(frozen=True)
class StartChosen:
    """Start a game of one's own choice, in free play."""

    layout: str
    partner: str
    seat: int
    rate: float
    slowness: int
    ticks: int


@dataclass(frozen=True)
class Ready:
    """Run the announced game after a countdown."""

    seconds: float


@dataclass(frozen=True)
class KeyChange:
    """A key went down or up."""

    action: Action
    down: bool


@dataclass(frozen=True)
class TickDrawn:
    """The page has drawn the state after this many ticks."""

    tick: int


@dataclass(frozen=True)
class PauseGame:
    """The page is hidden; the game should wait."""


@dataclass(frozen=True)
class Stop:
    """End the game before its time."""


@dataclass(frozen=True)
class Submit:
    """Take a step through the study."""

    event: StudyEvent


GameMessage = Ready | KeyChange | TickDrawn | PauseGame  # means something in a live game alone
PageMessage = GameMessage | Hello | StartNext | StartChosen | Stop | Submit


def read(frame: str) -> PageMessage:
    """Read the message in a frame."""
    try:
        message = json.loads(frame, parse_constant=_refuse_constant)
        # Lone surrogates pass the parser, but nothing that is stored or sent could hold them.
        frame.encode()
        json.dumps(message, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise InputError(f"not a message: {shown(frame)}; it takes an object of JSON") from None
    if not isinstance(message, dict):
        raise InputError(f"not a message: {shown(message)}; it takes an object of JSON")
    return _message(message)


def _message(message: Mapping[str, Any]) -> PageMessage:  # noqa: PLR0911  (one a type)
    get = message.get
    match one_of(get("type"), "type", _TYPES):
        case "hello":
            return Hello(truth(get("take_over", False), "take_over"))
        case "start":
            return _start(message)
        case "ready":
            return Ready(number(get("seconds", 3.0), "seconds", 0.0, MAX_COUNTDOWN))
        case "down" | "up" as way:
            action = whole_number(get("action"), "action", 0, len(Action) - 1)
            return KeyChange(Action(action), way == "down")
        case "seen":
            return TickDrawn(whole_number(get("t"), "t", 0, MAX_TICKS))
        case "pause":
            return PauseGame()
        case "stop":
            return Stop()
        case _:
            return Submit(_study_event(message))


def _start(message: Mapping[str, Any]) -> StartNext | StartChosen:
    get = message.get
    if "layout" in message:
        return StartChosen(
            layout=_name(get("layout"), "layout"),
            partner=_name(get("partner"), "partner"),
            seat=whole_number(get("seat"), "seat", 0, SEATS - 1),
            rate=number(get("rate", 8.0), "rate", 0.5, 30.0),
            slowness=whole_number(get("slowness"), "slowness", 1, MAX_SLOWNESS),
            ticks=whole_number(get("ticks"), "ticks", 1, MAX_FREE_TICKS),
        )
    if get("partner") is None:
        return StartNext(None)
    return StartNext(whole_number(get("partner"), "partner", 0, _MOST_PARTNERS))


def _study_event(message: Mapping[str, Any]) -> StudyEvent:
    get = message.get
    match one_of(get("event"), "event", _EVENTS):
        case "consent":
            return Consent(truth(get("agrees"), "agrees"))
        case "answers":
            return Answers(_answers(get("values")))
        case "understood":
            return Understood()
        case "warm-up-done":
            return WarmupDone()
        case _:
            return Judged(_ranking(get("ranking")), _comments(get("comments")))


def _answers(values: object) -> Mapping[str, str | int | None]:
    if isinstance(values, dict) and all(_is_answer(value) for value in values.values()):
        return values
    raise InputError(
        f"values is {shown(values)}; it takes a text, a whole number or null for each question"
    )


def _is_answer(value: object) -> bool:
    if type(value) is int:
        return abs(value) <= _MAX_ANSWER
    return value is None or isinstance(value, str)


def _ranking(ranking: object) -> tuple[int, ...]:
    if not isinstance(ranking, list) or not all(type(one) is int for one in ranking):
        raise InputError(f"ranking is {shown(ranking)}; it takes a list of partners' numbers")
    return tuple(ranking)


def _comments(comments: object) -> tuple[tuple[str, ...], ...]:
    if isinstance(comments, list) and all(_are_texts(texts) for texts in comments):
        return tuple(tuple(texts) for texts in comments)
    raise InputError(f"comments is {shown(comments)}; it takes a list of texts for each partner")


def _are_texts(texts: object) -> bool:
    return isinstance(texts, list) and all(isinstance(text, str) for text in texts)


def _name(value: object, name: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME:
        raise InputError(
            f"{name} is {shown(value)}; it takes a text of at most {_LONGEST_NAME} characters"
        )
    return value


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python's parser takes but JSON does not have."""
    raise ValueError(name)
