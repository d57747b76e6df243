"""Arguments that several commands take, and their checks."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from cochef import methods
from cochef.errors import InputError
from cochef.kitchen import shipped_layouts
from cochef.validation import whole_number

MAX_SEED = 2**32 - 1  # NumPy and JAX both take it

LayoutName = Annotated[
    str,
    tyro.conf.arg(
        help="A layout that ships with the package (see `cochef layouts`), "
        "or the path of a layout file."
    ),
]
OwnLayout = Annotated[
    str | None,
    tyro.conf.arg(
        help="The path of the layout file, if the layout does not ship with the package."
    ),
]
Seed = Annotated[int, tyro.conf.arg(help="Where all randomness comes from.")]

# The choices come from the registry, which a type checker cannot see.
if TYPE_CHECKING:
    MethodName = str
else:
    MethodName = Literal[methods.names()]


def check_layout(name: str) -> None:
    """Refuse an unknown layout before JAX is loaded, which takes seconds."""
    shipped_layouts.check(name)


def check_seed(seed: int) -> None:
    """Refuse a seed that no generator takes."""
    whole_number(seed, "seed", 0, MAX_SEED)


def check_some(given: Sequence[object], what: str, remedy: str) -> None:
    """Refuse an empty list."""
    if not given:
        raise InputError(f"no {what}; {remedy}")


def check_ending(path: Path, endings: Sequence[str]) -> None:
    """Refuse a file whose ending names no known format."""
    if path.suffix.lower() not in endings:
        raise InputError(f"unknown ending of {str(path)!r}; known: {', '.join(endings)}")
