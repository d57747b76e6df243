"""`cochef layouts`: list, draw and check kitchens."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel

from cochef.errors import InputError

if TYPE_CHECKING:
    from cochef.kitchen.layout import Layout

_LEGEND = """X counter, P pot, O onions, T tomatoes, D dishes, S serving, 1 and 2 where the chefs begin.
An order: its ingredients, what it pays, and how many steps it cooks."""


@dataclass
class ListLayouts:
    """List and draw every kitchen that ships with the package."""

    def run(self) -> int:
        """Draw them all, side by side as the terminal allows."""
        from cochef.kitchen import layouts

        panels = [_panel(layouts.get(name), layouts.about(name)) for name in layouts.names()]
        Console().print(Columns(panels, padding=(0, 1)))
        Console(highlight=False).print(_LEGEND)
        return 0


@dataclass
class CheckLayouts:
    """Check layout files: says of each what is wrong, where, and what to do about it."""

    files: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Layout files (.toml)."""

    def run(self) -> int:
        """Check each; 2 if any is no kitchen."""
        from cochef.kitchen import layouts

        console, faulty = Console(highlight=False, soft_wrap=True), 0
        for path in self.files:
            try:
                console.print(_panel(layouts.read(path), "a valid kitchen"))
            except InputError as error:
                faulty += 1
                console.print("[bold red]error:[/]", end=" ")
                console.print(str(error), markup=False)
        return 2 if faulty else 0


@dataclass
class Layouts:
    """List, draw and check kitchens."""

    action: (
        Annotated[ListLayouts, tyro.conf.subcommand("list")] | Annotated[CheckLayouts, tyro.conf.subcommand("check")]
    ) = field(default_factory=ListLayouts)

    def run(self) -> int:
        """Do what was asked."""
        return self.action.run()


def _panel(layout: "Layout", about: str) -> Panel:
    from cochef.kitchen.text import letters

    rows = [list(row) for row in layout.rows]
    for seat, (x, y) in enumerate(layout.starts):
        rows[y][x] = str(seat + 1)
    colours = {"P": "red", "O": "yellow", "T": "red3", "D": "cyan", "S": "green", "1": "bold blue", "2": "bold magenta"}
    picture = "\n".join(
        "".join(f"[{colours[letter]}]{letter}[/] " if letter in colours else f"[dim]{letter}[/] " for letter in row)
        for row in rows
    )
    orders = ", ".join(f"{letters(*order.contents)} {order.value} in {order.time}" for order in layout.orders)
    size = f"{layout.width} x {layout.height}, {layout.cooking.value} cooking, {layout.horizon} steps"
    return Panel(f"{picture}\n\n{size}\norders: {orders}\n[dim]{about}[/]", title=layout.name, width=46)
