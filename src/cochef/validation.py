"""Checks of values that come from outside: files, messages and the command line.

Every check returns the value in its proper type, or raises an `InputError` that names the value's
place, the value itself and what is allowed.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from cochef.errors import InputError, did_you_mean, shown

Limit = int | float | None


def whole_number(
    value: object, name: str, least: int | None = None, most: int | None = None, unit: str = ""
) -> int:
    """An integer within limits; `True` and `1.0` are none."""
    if type(value) is not int or not _within(value, least, most):
        raise InputError(f"{name} is {shown(value)}; {_takes('a whole number', least, most, unit)}")
    return value


def number(
    value: object, name: str, least: Limit = None, most: Limit = None, unit: str = ""
) -> float:
    """A finite number within limits; `True` is none."""
    if not _is_finite(value) or not _within(value, least, most):
        raise InputError(f"{name} is {shown(value)}; {_takes('a number', least, most, unit)}")
    return float(value)


def positive_number(value: object, name: str, most: Limit = None, unit: str = "") -> float:
    """A finite number above 0."""
    if not _is_finite(value) or value <= 0 or not _within(value, None, most):
        upper = "" if most is None else f", up to {most:g}"
        limits = f"a number above 0{upper}{_spaced(unit)}"
        raise InputError(f"{name} is {shown(value)}; it takes {limits}")
    return float(value)


def share_below_one(value: object, name: str) -> float:
    """A number from 0 to below 1."""
    if not _is_finite(value) or not 0 <= value < 1:
        raise InputError(f"{name} is {shown(value)}; it takes a number from 0 to below 1")
    return float(value)


def truth(value: object, name: str) -> bool:
    """A boolean."""
    if not isinstance(value, bool):
        raise InputError(f"{name} is {shown(value)}; it takes true or false")
    return value


def text(value: object, name: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise InputError(f"{name} is {shown(value)}; it takes text")
    return value


def one_of(value: object, name: str, allowed: Iterable[str]) -> str:
    """One of some words."""
    words = list(allowed)
    if not isinstance(value, str) or value not in words:
        raise InputError(f"{name} is {shown(value)}; allowed: {', '.join(words)}")
    return value


def known(value: object, kind: str, names: Iterable[str]) -> str:
    """The name of something that exists, such as a layout or a method."""
    words = list(names)
    if not isinstance(value, str) or value not in words:
        close = did_you_mean(value, words)
        raise InputError(f"unknown {kind} {shown(value)}; {close}known: {', '.join(words)}")
    return value


def table(value: object, name: str, of: str = "") -> Mapping[str, Any]:
    """A table (an object in JSON); `of` says what it holds."""
    if not isinstance(value, Mapping):
        raise InputError(f"{name} is {shown(value)}; it takes a table{f' of {of}' if of else ''}")
    return value


def only(value: Mapping[str, Any], allowed: Iterable[str], where: str = "") -> None:
    """Refuse a table with other keys than these; `where` says what has them."""
    words = list(allowed)
    for key in value:
        if key not in words:
            place = f" in {where}" if where else ""
            raise InputError(f"unknown key {shown(key)}{place}; allowed: {', '.join(words)}")


def entries(value: object, name: str) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise InputError(f"{name} is {shown(value)}; it takes a list")
    return value


def numbers(value: object, name: str) -> dict[str, float]:
    """A table of finite numbers."""
    return {
        key: number(entry, f"{name}.{key}") for key, entry in table(value, name, "numbers").items()
    }


def _is_finite(value: object) -> TypeGuard[int | float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False


def _within(value: int | float, least: Limit, most: Limit) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


def _takes(kind: str, least: Limit, most: Limit, unit: str) -> str:
    limits = ""
    if least is not None:
        limits += f" from {least:g}" if isinstance(least, float) else f" from {least}"
    if most is not None:
        limits += f" to {most:g}" if isinstance(most, float) else f" to {most}"
    return f"it takes {kind}{limits}{_spaced(unit)}"


def _spaced(unit: str) -> str:
    return f" {unit}" if unit else ""
