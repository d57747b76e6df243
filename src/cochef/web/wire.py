"""What a page may say: text frames of JSON, checked before anything is done with them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from cochef.errors import InputError, shown
from cochef.kitchen.constants import Action
from cochef.web.progress import Answers, Consent, Deed, Judged, TutorialDone, Understood, WarmupDone
from cochef.web.session import MAX_TICKS

MAX_FRAME = 128 * 1024  # bytes
MAX_COUNTDOWN = 60.0  # seconds

_LONGEST_NAME = 300
_MOST = 10_000


@dataclass(frozen=True)
class Hello:
    """The page is here; it may ask to go on in this tab."""

    take_over: bool


@dataclass(frozen=True)
class Begin:
    """Begin the next game, in a warm-up with the partner of this number."""

    partner: int | None


@dataclass(frozen=True)
class Choose:
    """Begin a game of one's own choice."""

    layout: str
    partner: str
    seat: int
    rate: float
    slowness: int
    ticks: int


@dataclass(frozen=True)
class Ready:
    """Let the announced game run after a countdown."""

    seconds: float


@dataclass(frozen=True)
class Key:
    """A key went down or up."""

    action: Action
    down: bool


@dataclass(frozen=True)
class Seen:
    """The page has drawn the state after this many ticks."""

    tick: int


@dataclass(frozen=True)
class Stop:
    """End the game before its time."""


@dataclass(frozen=True)
class Did:
    """A step through the study."""

    deed: Deed


Message = Hello | Begin | Choose | Ready | Key | Seen | Stop | Did


def read(frame: str) -> Message:
    """The message in a frame."""
    try:
        table = json.loads(frame, parse_constant=_no_constant)
        frame.encode()
        json.dumps(table, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise InputError(f"not a message: {shown(frame)}; it takes an object of JSON") from None
    if not isinstance(table, dict):
        raise InputError(f"not a message: {shown(table)}; it takes an object of JSON")
    return _message(table)


def _message(table: Mapping[str, Any]) -> Message:  # noqa: PLR0911  (one a type)
    match table.get("type"):
        case "hello":
            return Hello(_flag(table, "take_over", False))
        case "start" if "layout" in table:
            return _choice(table)
        case "start":
            return Begin(None if table.get("partner") is None else _whole(table, "partner", 0, _MOST))
        case "ready":
            return Ready(_number(table, "seconds", 3.0, 0.0, MAX_COUNTDOWN))
        case "down" | "up" as way:
            return Key(Action(_whole(table, "action", 0, len(Action) - 1)), way == "down")
        case "seen":
            return Seen(_whole(table, "t", 0, MAX_TICKS))
        case "stop":
            return Stop()
        case "deed":
            return Did(_deed(table))
        case unknown:
            raise InputError(f"type is {shown(unknown)}; allowed: hello, start, ready, down, up, seen, stop, deed")


def _choice(table: Mapping[str, Any]) -> Choose:
    return Choose(
        layout=_text(table, "layout"),
        partner=_text(table, "partner"),
        seat=_whole(table, "seat", 0, 1),
        rate=_number(table, "rate", 8.0, 0.5, 30.0),
        slowness=_whole(table, "slowness", 1, 100),
        ticks=_whole(table, "ticks", 1, MAX_TICKS),
    )


def _deed(table: Mapping[str, Any]) -> Deed:
    match table.get("deed"):
        case "consent":
            return Consent(_flag(table, "agrees", None))
        case "answers":
            values = table.get("values")
            if not isinstance(values, dict) or not all(_is_answer(value) for value in values.values()):
                raise InputError(
                    f"values is {shown(values)}; it takes a text, a whole number or null for each question"
                )
            return Answers(values)
        case "understood":
            return Understood()
        case "tutorial-done":
            return TutorialDone()
        case "warm-up-done":
            return WarmupDone()
        case "judged":
            return Judged(_ranking(table.get("ranking")), _comments(table.get("comments")))
        case unknown:
            known = "consent, answers, understood, tutorial-done, warm-up-done, judged"
            raise InputError(f"deed is {shown(unknown)}; allowed: {known}")


def _is_answer(value: object) -> bool:
    return value is None or isinstance(value, str) or (type(value) is int and abs(value) < 2**31)


def _ranking(ranking: object) -> tuple[int, ...]:
    if not isinstance(ranking, list) or not all(type(one) is int for one in ranking):
        raise InputError(f"ranking is {shown(ranking)}; it takes a list of partners' numbers")
    return tuple(ranking)


def _comments(comments: object) -> tuple[tuple[str, ...], ...]:
    if isinstance(comments, list) and all(isinstance(some, list) for some in comments):
        lists = tuple(tuple(some) for some in comments)
        if all(isinstance(text, str) for some in lists for text in some):
            return lists
    raise InputError(f"comments is {shown(comments)}; it takes a list of texts for each partner")


def _flag(table: Mapping[str, Any], key: str, default: bool | None) -> bool:
    value = table.get(key, default)
    if not isinstance(value, bool):
        raise InputError(f"{key} is {shown(value)}; it takes true or false")
    return value


def _whole(table: Mapping[str, Any], key: str, least: int, most: int) -> int:
    value = table.get(key)
    if type(value) is not int or not least <= value <= most:
        raise InputError(f"{key} is {shown(value)}; it takes a whole number from {least} to {most}")
    return value


def _number(table: Mapping[str, Any], key: str, default: float, least: float, most: float) -> float:
    value = table.get(key, default)
    if type(value) not in (int, float) or not least <= value <= most:
        raise InputError(f"{key} is {shown(value)}; it takes a number from {least:g} to {most:g}")
    return float(value)


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME:
        raise InputError(f"{key} is {shown(value)}; it takes a text of at most {_LONGEST_NAME} characters")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
