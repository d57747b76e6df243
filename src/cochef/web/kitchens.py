"""The kitchens of a server. Pages know them by name, so no two may have the same."""

from collections.abc import Sequence

from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.kitchen.layout import Layout


def named(asked: Sequence[str]) -> list[Layout]:
    """The kitchens of these names or paths, each once; complains about two that have the same name."""
    found: dict[str, str] = {}
    kitchens = []
    for name in dict.fromkeys(asked):
        layout = layouts.get(name)
        if layout.name in found:
            raise InputError(
                f"{found[layout.name]} and {name} are both called {layout.name!r}; rename one of the files"
            )
        found[layout.name] = name
        kitchens.append(layout)
    return kitchens
