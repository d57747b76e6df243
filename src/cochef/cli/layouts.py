"""`cochef layouts`: list, draw, check and import layouts."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel

from cochef.cli.arguments import check_some
from cochef.cli.output import JsonOption, print_error, print_json, print_line
from cochef.errors import InputError
from cochef.files import write_whole

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

    json: JsonOption = False

    def run(self) -> int:
        """Draw them all, side by side as the terminal allows."""
        from cochef.kitchen import layouts

        if self.json:
            print_json([_described(layouts.get(name)) for name in layouts.names()])
            return 0
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
        check_some(self.files, "files", "give layout files (.toml)")
        from cochef.kitchen import layouts

        console = Console(highlight=False)
        faulty = 0
        for path in self.files:
            try:
                console.print(_panel(layouts.read(path), "a valid layout"))
            except InputError as error:
                faulty += 1
                print_error(error)
        return 2 if faulty else 0


@dataclass
class ImportLayout:
    """Make a layout file of a `.layout` file of overcooked_ai."""

    file: Annotated[Path, tyro.conf.Positional]
    """The file to import (.layout); it is read as data and never run."""
    out: Path | None = None
    """Write to this file (.toml); otherwise the layout is printed."""
    cooking: Literal["automatic", "manual"] | None = None
    """Whether pots start by themselves; by default as overcooked_ai plays such a file."""

    def run(self) -> int:
        """Convert, check, and write or print."""
        from cochef.kitchen import layout_import, layouts
        from cochef.kitchen.constants import Cooking

        cooking = None if self.cooking is None else Cooking(self.cooking)
        text = layouts.to_toml(layout_import.read(self.file, cooking))
        if self.out is None:
            print(text, end="")
            return 0
        if self.out.suffix != ".toml":
            raise InputError(f"--out is {str(self.out)!r}; the name of a layout file ends in .toml")
        if self.out.exists():
            raise InputError(f"{self.out} exists; remove it, or choose another name")
        write_whole(self.out, text.encode())
        print_line(f"written: {self.out}")
        return 0


def _described(layout: "Layout") -> dict[str, object]:
    from cochef.kitchen import layouts
    from cochef.kitchen.layout import letters

    orders = [
        {"ingredients": letters(*order.contents), "value": order.value, "time": order.time}
        for order in layout.orders
    ]
    return {
        "name": layout.name,
        "description": layouts.description(layout.name),
        "grid": ["".join(row) for row in layout.rows_with_starts],
        "cooking": layout.cooking.value,
        "horizon": layout.horizon,
        "orders": orders,
    }


def _panel(layout: "Layout", note: str) -> Panel:
    from cochef.kitchen.layout import letters

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
