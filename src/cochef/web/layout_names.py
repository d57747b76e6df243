"""The layouts of a server. Pages know them by name, so no two may have the same."""

from collections.abc import Sequence

from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.kitchen.layout import Layout


def distinct(names: Sequence[str]) -> list[Layout]:
    """The layouts of these names or paths, each once; refuses two with the same name."""
    sources: dict[str, str] = {}
    found = []
    for source in dict.fromkeys(names):
        layout = layouts.get(source)
        if layout.name in sources:
            raise InputError(
                f"{sources[layout.name]} and {source} are both called {layout.name!r}; "
                "rename one of the files"
            )
        sources[layout.name] = source
        found.append(layout)
    return found
