"""Layouts from text: reading, checking, and the registry of those that ship with the package.

A layout is a TOML file:

    description = "One line."                        # optional
    cooking = "automatic"                            # or "manual"; optional
    horizon = 400                                    # steps an episode lasts; optional
    grid = '''
    XXPXX
    O1 2O
    X   X
    XDXSX
    '''

    [orders]                                         # letters o and t, one per item
    ooo = { value = 20, time = 20 }
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from cochef.errors import InputError, shown
from cochef.files import read_limited
from cochef.kitchen import shipped_layouts
from cochef.kitchen.constants import POT_CAPACITY, Cooking, Tile
from cochef.kitchen.layout import DEFAULT_HORIZON, Contents, Layout, Order, Position, letters
from cochef.kitchen.shipped_layouts import PAPER_LAYOUTS, names
from cochef.validation import only, whole_number

MAX_SIDE = 20
MAX_VALUE = 1_000
MAX_TIME = 200
MAX_HORIZON = 10_000
MAX_FILE_BYTES = 64 * 1024

__all__ = [
    "PAPER_LAYOUTS",
    "LayoutError",
    "LayoutLike",
    "description",
    "get",
    "is_shipped",
    "names",
    "parse",
    "read",
    "resolve",
    "ships",
    "to_toml",
]

LayoutLike = str | Path | Layout  # a name, the path of a layout file, or a layout itself

_KEYS = ("cooking", "description", "grid", "horizon", "orders")
_DISPENSERS = (Tile.ONION_DISPENSER, Tile.TOMATO_DISPENSER)
_STATIONS = (*_DISPENSERS, Tile.DISH_DISPENSER, Tile.POT, Tile.SERVING)


def _name(tile: Tile) -> str:
    return tile.name.lower().replace("_", " ")


_LEGEND = ", ".join(f"'{tile.value}' {_name(tile)}" for tile in Tile)


class LayoutError(InputError):
    """A layout that cannot be played: says what is wrong, where, and what to do about it."""


def get(name: str) -> Layout:
    """The shipped layout of this name, or the one in the file at this path."""
    if name in names():
        return _shipped_layout(name)
    if name.endswith(".toml"):
        return read(Path(name))
    raise LayoutError(shipped_layouts.unknown(name))


def resolve(layout: LayoutLike) -> Layout:
    """The layout of a name or of a layout file; a layout itself is returned as it is."""
    if isinstance(layout, str | Path):
        return get(str(layout))
    if not isinstance(layout, Layout):
        raise LayoutError(
            f"layout is {shown(layout)}; it takes a layout, its name or the path of its file"
        )
    return layout


@cache
def _shipped_layout(name: str) -> Layout:
    return parse(_shipped_text(name), name)


def _shipped_text(name: str) -> str:
    return (shipped_layouts.files() / f"{name}.toml").read_text("utf-8")


def is_shipped(layout: Layout, name: str) -> bool:
    """Whether a layout has the rules of the shipped one of this name."""
    return name in names() and layout.fingerprint == _shipped_layout(name).fingerprint


def ships(layout: Layout) -> bool:
    """Whether a layout ships under its own name, with the same rules and horizon."""
    if not is_shipped(layout, layout.name):
        return False
    return layout.horizon == _shipped_layout(layout.name).horizon


def to_toml(layout: Layout) -> str:
    """The layout as the text of a layout file."""
    lines = [
        f'cooking = "{layout.cooking.value}"',
        f"horizon = {layout.horizon}",
        "grid = '''",
        *layout.rows_with_starts,
        "'''",
        "",
        "[orders]",
    ]
    lines += [
        f"{letters(*order.contents)} = {{ value = {order.value}, time = {order.time} }}"
        for order in layout.orders
    ]
    return "\n".join(lines) + "\n"


def description(name: str) -> str:
    """The line that says what is special about a shipped layout."""
    return tomllib.loads(_shipped_text(name)).get("description", "")


def read(path: Path) -> Layout:
    """The layout in a file, checked."""
    try:
        content = read_limited(path, MAX_FILE_BYTES, "a layout file")
    except InputError as error:
        raise LayoutError(str(error)) from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LayoutError(
            f"{path}: byte {error.start} is not UTF-8 text; save the file as UTF-8"
        ) from error
    return parse(text, path.stem, source=str(path))


def parse(text: str, name: str, source: str | None = None) -> Layout:
    """The layout in a text, checked; errors begin with `source`."""
    try:
        table = _toml(text)
    except LayoutError as error:
        raise LayoutError(f"{source or name}: {error}") from None
    return build(table, name, source)


def build(table: Mapping[str, Any], name: str, source: str | None = None) -> Layout:
    """The layout that the settings of a layout file say, checked; errors begin with `source`."""
    try:
        return _checked(table, name)
    except InputError as error:
        raise LayoutError(f"{source or name}: {error}") from None


def _toml(text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise LayoutError(f"not a TOML file: {error}") from error


def _checked(table: Mapping[str, Any], name: str) -> Layout:
    only(table, _KEYS)
    if not isinstance(table.get("description", ""), str):
        raise LayoutError(
            f"description is {shown(table['description'])}; it takes one line of text in quotes"
        )
    rows, starts = _grid(table.get("grid"))
    horizon = table.get("horizon", DEFAULT_HORIZON)
    layout = Layout(
        name=name,
        rows=rows,
        starts=starts,
        orders=tuple(_orders(table.get("orders"))),
        cooking=_cooking(table.get("cooking", Cooking.AUTOMATIC.value)),
        horizon=whole_number(horizon, "horizon", 1, MAX_HORIZON),
    )
    _check_enclosed(layout)
    _check_stations(layout)
    _check_reach(layout)
    _check_cookable(layout)
    return layout


def _grid(grid: object) -> tuple[tuple[str, ...], tuple[Position, Position]]:
    """The rows with the starts made floor, and the starts."""
    if not isinstance(grid, str) or not grid.strip():
        raise LayoutError("no grid; add grid = ''' followed by the rows of the kitchen and '''")
    rows = grid.strip("\r\n").splitlines()
    width = len(rows[0])
    if width > MAX_SIDE or len(rows) > MAX_SIDE:
        raise LayoutError(
            f"grid is {width} x {len(rows)}, too large; at most {MAX_SIDE} x {MAX_SIDE} cells"
        )
    for y, row in enumerate(rows, 1):
        if len(row) != width:
            raise LayoutError(
                f"row {y} of the grid has {len(row)} cells, row 1 has {width}; "
                "make all rows equally long"
            )
    starts = _starts(rows)
    plain = tuple(row.replace("1", " ").replace("2", " ") for row in rows)
    return plain, (starts["1"], starts["2"])


def _starts(rows: Sequence[str]) -> dict[str, Position]:
    """Where '1' and '2' stand in the grid; all other letters have to be tiles."""
    tiles = {tile.value for tile in Tile}
    starts: dict[str, Position] = {}
    for y, row in enumerate(rows):
        for x, letter in enumerate(row):
            if letter in tiles:
                continue
            if letter not in ("1", "2"):
                raise LayoutError(
                    f"unknown tile {letter!r} at {_at((x, y))}; "
                    f"use {_LEGEND}, '1' and '2' the starts"
                )
            if letter in starts:
                raise LayoutError(
                    f"two starts for chef {letter}, at {_at(starts[letter])} and at {_at((x, y))}; "
                    "keep one of them"
                )
            starts[letter] = (x, y)
    for letter in ("1", "2"):
        if letter not in starts:
            raise LayoutError(
                f"no start for chef {letter}; put a '{letter}' on a floor cell of the grid"
            )
    return starts


def _orders(orders: object) -> Iterator[Order]:
    if not isinstance(orders, Mapping) or not orders:
        raise LayoutError(
            "no orders; add [orders] and a line such as ooo = { value = 20, time = 20 }"
        )
    seen: set[Contents] = set()
    for soup, order in orders.items():
        if not set(soup) <= {"o", "t"}:
            raise LayoutError(
                f"order {shown(soup)} has unknown ingredients; use o (onion) and t (tomato)"
            )
        if not 1 <= len(soup) <= POT_CAPACITY:
            raise LayoutError(
                f"order {shown(soup)} has {len(soup)} items; a soup has 1 to {POT_CAPACITY}"
            )
        contents = (soup.count("o"), soup.count("t"))
        if contents in seen:
            raise LayoutError(f"order {soup!r} is listed twice; keep one of them")
        seen.add(contents)
        if not isinstance(order, Mapping) or set(order) != {"value", "time"}:
            raise LayoutError(
                f"order {soup!r} needs a value and a time: {soup} = {{ value = 20, time = 20 }}"
            )
        yield Order(
            contents=contents,
            value=whole_number(order["value"], f"value of order {soup!r}", 0, MAX_VALUE),
            time=whole_number(order["time"], f"time of order {soup!r}", 1, MAX_TIME),
        )


def _cooking(kind: object) -> Cooking:
    for known in Cooking:
        if kind == known.value:
            return known
    allowed = " or ".join(f'"{known.value}"' for known in Cooking)
    raise LayoutError(f"cooking is {shown(kind)}; it takes {allowed}")


def _check_enclosed(layout: Layout) -> None:
    for cell in layout.floor_cells:
        x, y = layout.position(cell)
        if x in (0, layout.width - 1) or y in (0, layout.height - 1):
            raise LayoutError(
                f"the kitchen is open at {_at((x, y))}; "
                "close its rim with counters ('X') or stations"
            )


def _check_stations(layout: Layout) -> None:
    needed = {
        Tile.POT: "to cook in",
        Tile.SERVING: "to deliver to",
        Tile.DISH_DISPENSER: "to plate a soup",
    }
    for ingredient, tile in enumerate(_DISPENSERS):
        if any(order.contents[ingredient] for order in layout.orders):
            needed[tile] = "for an order"
    for tile, why in needed.items():
        if not len(layout.cells_of(tile)):
            raise LayoutError(f"no {_name(tile)} ('{tile.value}') {why}; add one to the grid")


def _check_reach(layout: Layout) -> None:
    for cell in layout.cells_of(Tile.FLOOR, *_STATIONS):
        if int(cell) not in layout.touchable:
            position = layout.position(cell)
            raise LayoutError(
                f"no chef can reach the {_name(layout.tile(position))} at {_at(position)}; "
                "open a way to it or make it a counter ('X')"
            )


def _check_cookable(layout: Layout) -> None:
    for order in layout.orders:
        if layout.cooking is Cooking.AUTOMATIC and sum(order.contents) < POT_CAPACITY:
            raise LayoutError(
                f"order {letters(*order.contents)!r} can never be cooked, "
                "as pots start by themselves with their third item; "
                'ask for three items or set cooking = "manual"'
            )


def _at(position: Position) -> str:
    x, y = position
    return f"column {x + 1}, row {y + 1}"
