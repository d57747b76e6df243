"""Faults of the input: what a person or a file gave cannot be used."""

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
