"""The names of the layouts that ship with the package; loads no JAX."""

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from cochef.errors import InputError, did_you_mean

PAPER_LAYOUTS = (
    "asymmetric_advantages",
    "coordination_ring",
    "counter_circuit",
    "distant_tomato",
    "many_orders",
)
FILE = ".toml"


@cache
def names() -> tuple[str, ...]:
    """The layouts that ship with the package: the paper's five, then the others by name."""
    found = {path.name.removesuffix(FILE) for path in files().iterdir() if FILE in path.name}
    return (*PAPER_LAYOUTS, *sorted(found - set(PAPER_LAYOUTS)))


def files() -> Any:  # noqa: ANN401  (importlib's Traversable)
    """The directory of their files."""
    return resources.files("cochef.kitchen") / "layout_files"


def unknown(name: str) -> str:
    """What is wrong with a name that is neither a layout's nor a layout file's."""
    known = f"known: {', '.join(names())}, or the path of a .toml file"
    return f"unknown layout {name!r}; {did_you_mean(name, names())}{known}"


def check(name: str) -> None:
    """Refuse a name that no layout has, and a file that is not there."""
    if name in names():
        return
    if not name.endswith(FILE):
        raise InputError(unknown(name))
    try:
        found = Path(name).is_file()
    except (OSError, ValueError):  # a path that no file system allows
        found = False
    if not found:
        raise InputError(f"{name}: no such file; give the path of a layout file")
