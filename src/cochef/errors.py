"""Faults of the input: what a person or a file gave cannot be used."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 80  # characters of a value that an error shows


class InputError(ValueError):
    """Says what was wrong, the value and what is allowed; a command prints it and exits with 2."""


def shown(value: object) -> str:
    """A value as an error shows it: cut where it is long; only its type if it cannot be written."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a huge {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def how_to_install(extra: str = "") -> str:
    """The command that installs CoChef, with one of its extras.

    It names the source directory, never the package: CoChef is on no package index, and what is
    found there by that name is somebody else's.
    """
    wanted = f'".[{extra}]"' if extra else "."
    return f"pip install {wanted} in CoChef's source directory"


def missing_extra(package: str | None, extra: str) -> str:
    """What to say if a package of an extra cannot be imported."""
    return f"{package} is not installed; run {how_to_install(extra)}"


def did_you_mean(value: object, names: Iterable[str]) -> str:
    """A question after the most similar of some names, with a blank at its end, or nothing."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return ""
    by_spelling = {name.lower(): name for name in names}
    close = get_close_matches(value.lower(), by_spelling, n=1)
    # A part of a name, such as `ring`, is less similar than it is clear.
    parts = [name for name in by_spelling if len(value) > 2 and value.lower() in name]
    found = close or parts[:1]
    return f"did you mean {by_spelling[found[0]]}? " if found else ""
