"""`cochef layouts`: list, draw and check layouts."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel

from cochef.cli.output import print_error
from cochef.errors import InputError

if TYPE_CHECKING:
    from cochef.kitchen.layout import Layout

_LEGEND = """\
X counter, P pot, O onions, T tomatoes, D dishes, S serving, 1 and 2 where the chefs begin.
An order: its ingredients, what it pays, and how many steps it cooks."""
_COLOURS = {
    "P": "red",
    "O": "yellow",
    "T": "red3",
    "D": "cyan",
    "S": "green",
    "1": "bold blue",
    "2": "bold magenta",
}


@dataclass
class ListLayouts:
    """List and draw every layout that ships with the package."""

    def run(self) -> int:
        """Draw them all, side by side as the terminal allows."""
        from cochef.kitchen import layouts

        panels = [_panel(layouts.get(name), layouts.description(name)) for name in layouts.names()]
        Console().print(Columns(panels, padding=(0, 1)))
        Console(highlight=False).print(_LEGEND)
        return 0


@dataclass
class CheckLayouts:
    """Check layout files: say of each what is wrong, where, and what to do about it."""

    files: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Layout files (.toml)."""

    def run(self) -> int:
        """Check each; 2 if any is no layout."""
        from cochef.kitchen import layouts

        console = Console(highlight=False, soft_wrap=True)
        faulty = 0
        for path in self.files:
            try:
                console.print(_panel(layouts.read(path), "a valid layout"))
            except InputError as error:
                faulty += 1
                print_error(error)
        return 2 if faulty else 0


def _panel(layout: "Layout", note: str) -> Panel:
    from cochef.kitchen.text import letters

    picture = "\n".join("".join(map(_coloured, row)) for row in layout.rows_with_starts)
    orders = ", ".join(
        f"{letters(*order.contents)} {order.value} in {order.time}" for order in layout.orders
    )
    size = f"{layout.width} x {layout.height}"
    facts = f"{size}, {layout.cooking.value} cooking, {layout.horizon} steps"
    text = f"{picture}\n\n{facts}\norders: {orders}\n[dim]{note}[/]"
    return Panel(text, title=layout.name, width=46)


def _coloured(letter: str) -> str:
    return f"[{_COLOURS.get(letter, 'dim')}]{letter}[/] "
