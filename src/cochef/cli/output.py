"""How commands print lines, tables and errors."""

import json
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console, RenderableType
from rich.table import Column, Table
from rich.text import Text

from cochef.errors import InputError

if TYPE_CHECKING:
    from cochef.evaluation.tables import ResultTable

JsonOption = Annotated[
    bool, tyro.conf.arg(name="json", help="Print JSON instead of tables, for other programs.")
]
Row = Mapping[str, Any]  # what a table shows, by the headings of its columns

_PIPED_WIDTH = 10_000  # a file or another program takes lines of any length
_LEAST_WIDTH = 12  # of a column that is not kept whole, before all columns are folded


def print_line(text: str, *, stderr: bool = False) -> None:
    """Print a line as it is: no markup, no signs for `:names:`, and long paths are not wrapped."""
    _plain_console(stderr=stderr).print(text, markup=False)


@cache
def log_console() -> Console:
    """Where commands say what they are doing: standard error."""
    return _plain_console(stderr=True)


def log(text: str) -> None:
    """Say what a command is doing; bars that are shown stay below."""
    log_console().print(text, markup=False)


def print_error(error: InputError, *, stderr: bool = False) -> None:
    """Print what was wrong with the input."""
    console = _plain_console(stderr=stderr)
    console.print("[bold red]error:[/]", end=" ")
    console.print(str(error), markup=False)


def _plain_console(*, stderr: bool) -> Console:
    return Console(stderr=stderr, highlight=False, soft_wrap=True, emoji=False)


def print_json(content: object) -> None:
    """Print JSON on standard output; what it has no word for, such as a path, becomes text."""
    json.dump(content, sys.stdout, indent=1, default=str)
    sys.stdout.write("\n")


def tables_console(*, stderr: bool = False) -> Console:
    """A console for tables: no line is folded or cut where no terminal sets a width."""
    console = Console(highlight=False, stderr=stderr)
    if console.is_terminal:
        return console
    return Console(highlight=False, stderr=stderr, width=_PIPED_WIDTH)


def print_table(table: RenderableType) -> None:
    """Print a table on standard output."""
    tables_console().print(table)


def print_result(table: "ResultTable") -> None:
    """Print a table of results, and below it what its note says."""
    print_table(table.rich())
    if table.note:
        print_line(table.note)


def print_rows(
    rows: Sequence[Row],
    title: str = "",
    *,
    as_json: bool = False,
    whole: Sequence[str] = (),
    formats: Mapping[str, str] | None = None,
    styles: Sequence[str] = (),
) -> None:
    """Print rows as a table, or as JSON with all their digits.

    `whole` names the columns that are not folded if there is room, `formats` how numbers are shown.
    """
    if as_json:
        print_json(list(rows))
        return
    headings = list(rows[0]) if rows else []
    styled = {name: (formats or {}).get(name, "") for name in headings}
    texts = [_cells(row, styled) for row in rows]
    kept = [name for name in whole if name in headings]
    if not _has_room(headings, kept, texts):
        kept = []
    columns = [Column(Text(name), overflow="fold", no_wrap=name in kept) for name in headings]
    table = Table(*columns, title=Text(title) if title else None)
    for number, cells in enumerate(texts):
        table.add_row(*map(Text, cells), style=styles[number] if styles else None)
    print_table(table)


def _cells(row: Row, styles: Mapping[str, str]) -> list[str]:
    """The cells of a row, by the styles of their columns."""
    return [_cell(row[name], style) for name, style in styles.items()]


def _cell(value: object, style: str) -> str:
    """A value as a table shows it: lists in a line, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return format(value, style) if style else str(value)


def _has_room(headings: Sequence[str], kept: Sequence[str], texts: Sequence[Sequence[str]]) -> bool:
    """Whether the terminal is wide enough to keep these columns whole."""
    console = Console()
    if not console.is_terminal:
        return True
    needed = 1
    for number, name in enumerate(headings):
        widest = max([len(name), *(len(cells[number]) for cells in texts)])
        frame = 3  # two blanks and a rule
        needed += frame + (widest if name in kept else min(widest, _LEAST_WIDTH))
    return needed <= console.width
