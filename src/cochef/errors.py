"""Faults of the input: what a person or a file gave cannot be used."""


class InputError(ValueError):
    """Says what was wrong, the value, and what is allowed; the command line prints it and exits with 2."""
