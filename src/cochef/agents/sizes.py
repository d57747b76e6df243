"""Sizes of networks, checked where they enter."""

from cochef.errors import InputError, shown


def check_hidden(hidden: object) -> None:
    """Complain about layer sizes that make no network."""
    sizes = hidden if isinstance(hidden, (list, tuple)) else ()
    if not 0 < len(sizes) <= 8 or not all(type(size) is int and 0 < size <= 4096 for size in sizes):
        raise InputError(f"hidden is {shown(hidden)}; it takes 1 to 8 layer sizes from 1 to 4096")
