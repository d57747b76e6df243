"""Faults of the input: what a person or a file gave cannot be used."""

_LONGEST = 80  # characters of a value that an error shows


class InputError(ValueError):
    """Says what was wrong, the value, and what is allowed; the command line prints it and exits with 2."""


def shown(value: object) -> str:
    """A value as an error shows it: cut where it is long, and only its kind where Python cannot write it at all."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a huge {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
