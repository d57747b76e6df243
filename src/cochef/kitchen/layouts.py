"""Layouts from text: reading, checking, and the registry of those that ship with the package.

A layout is a TOML file:

    about = "One line on what makes it special."     # optional
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
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from cochef.errors import InputError, shown
from cochef.files import read_limited
from cochef.kitchen.constants import POT_CAPACITY, SEATS, Cooking, Tile
from cochef.kitchen.layout import DEFAULT_HORIZON, Layout, Order, Place

MAX_SIDE = 20
MAX_VALUE = 1_000
MAX_TIME = 200
MAX_HORIZON = 10_000
MAX_FILE_BYTES = 64 * 1024

PAPER_LAYOUTS = (
    "asymmetric_advantages",
    "coordination_ring",
    "counter_circuit",
    "distant_tomato",
    "many_orders",
)

_KEYS = ("about", "cooking", "grid", "horizon", "orders")
_LEGEND = ", ".join(f"'{tile.value}' {tile.name.lower().replace('_', ' ')}" for tile in Tile)
_DISPENSERS = (Tile.ONION_DISPENSER, Tile.TOMATO_DISPENSER)
_STATIONS = (*_DISPENSERS, Tile.DISH_DISPENSER, Tile.POT, Tile.SERVING)


class LayoutError(InputError):
    """A layout that is no kitchen: says what is wrong, where, and what to do about it."""


@cache
def names() -> tuple[str, ...]:
    """The layouts that ship with the package: the paper's five, then the others by name."""
    found = {
        path.name.removesuffix(".toml")
        for path in _shipped().iterdir()
        if path.name.endswith(".toml")
    }
    return (*PAPER_LAYOUTS, *sorted(found - set(PAPER_LAYOUTS)))


def get(name: str) -> Layout:
    """The shipped layout of this name, or the one in the file at this path."""
    if name in names():
        return _shipped_layout(name)
    if name.endswith(".toml"):
        return read(Path(name))
    raise LayoutError(
        f"unknown layout {name!r}; known: {', '.join(names())}, or the path of a .toml file"
    )


@cache
def _shipped_layout(name: str) -> Layout:
    return parse((_shipped() / f"{name}.toml").read_text("utf-8"), name)


def is_shipped(layout: Layout, name: str) -> bool:
    """Whether a kitchen is the shipped one of this name, whatever its file is called."""
    return name in names() and layout.fingerprint == _shipped_layout(name).fingerprint


def ships(layout: Layout) -> bool:
    """Whether a kitchen ships under its own name, as it is: with the same episodes, too."""
    return (
        is_shipped(layout, layout.name) and layout.horizon == _shipped_layout(layout.name).horizon
    )


def to_toml(layout: Layout) -> str:
    """The layout as the text of a layout file."""
    rows = [list(row) for row in layout.rows]
    for seat, (x, y) in enumerate(layout.starts):
        rows[y][x] = str(seat + 1)
    grid = "\n".join("".join(row) for row in rows)
    lines = [
        f'cooking = "{layout.cooking.value}"',
        f"horizon = {layout.horizon}",
        f"grid = '''\n{grid}\n'''",
        "",
        "[orders]",
    ]
    for order in layout.orders:
        recipe = "o" * order.contents[0] + "t" * order.contents[1]
        lines.append(f"{recipe} = {{ value = {order.value}, time = {order.time} }}")
    return "\n".join(lines) + "\n"


def about(name: str) -> str:
    """The line that says what is special about a shipped layout."""
    return tomllib.loads((_shipped() / f"{name}.toml").read_text("utf-8")).get("about", "")


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
    return parse(text, path.stem, place=str(path))


def parse(text: str, name: str, place: str | None = None) -> Layout:
    """The layout in a text, checked; errors begin with `place`."""
    try:
        return _checked(_toml(text), name)
    except LayoutError as error:
        raise LayoutError(f"{place or name}: {error}") from None


def _shipped() -> Any:  # noqa: ANN401  (importlib's Traversable)
    return resources.files("cochef.kitchen") / "kitchens"


def _toml(text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise LayoutError(f"not a TOML file: {error}") from error


def _checked(table: Mapping[str, Any], name: str) -> Layout:
    for key in table:
        if key not in _KEYS:
            raise LayoutError(f"unknown key {shown(key)}; allowed: {', '.join(_KEYS)}")
    if not isinstance(table.get("about", ""), str):
        raise LayoutError(f"about is {shown(table['about'])}; it takes one line of text in quotes")
    rows, starts = _grid(table.get("grid"))
    layout = Layout(
        name=name,
        rows=rows,
        starts=starts,
        orders=tuple(_orders(table.get("orders"))),
        cooking=_cooking(table.get("cooking", Cooking.AUTOMATIC.value)),
        horizon=_whole(table.get("horizon", DEFAULT_HORIZON), "horizon", 1, MAX_HORIZON),
    )
    _check_enclosed(layout)
    _check_stations(layout)
    _check_reach(layout)
    _check_cookable(layout)
    return layout


def _grid(grid: object) -> tuple[tuple[str, ...], tuple[Place, Place]]:
    """The rows with the starts made floor, and the starts."""
    if not isinstance(grid, str) or not grid.strip():
        raise LayoutError("no grid; add grid = ''' followed by the rows of the kitchen and '''")
    rows = grid.strip("\r\n").splitlines()
    width = len(rows[0])
    if width > MAX_SIDE or len(rows) > MAX_SIDE:
        raise LayoutError(
            f"grid is {width} x {len(rows)}, too large; at most {MAX_SIDE} x {MAX_SIDE} cells"
        )
    starts: dict[int, Place] = {}
    for y, row in enumerate(rows):
        if len(row) != width:
            raise LayoutError(
                f"row {y + 1} of the grid has {len(row)} cells, row 1 has {width}; make all rows equally long"
            )
        for x, letter in enumerate(row):
            if letter in ("1", "2"):
                _add_start(starts, int(letter), (x, y))
            elif letter not in {tile.value for tile in Tile}:
                raise LayoutError(
                    f"unknown tile {letter!r} at {_at((x, y))}; use {_LEGEND}, '1' and '2' the starts"
                )
    for seat in range(1, SEATS + 1):
        if seat not in starts:
            raise LayoutError(
                f"no start for chef {seat}; put a '{seat}' on a floor cell of the grid"
            )
    plain = tuple(row.replace("1", " ").replace("2", " ") for row in rows)
    return plain, (starts[1], starts[2])


def _add_start(starts: dict[int, Place], seat: int, place: Place) -> None:
    if seat in starts:
        raise LayoutError(
            f"two starts for chef {seat}, at {_at(starts[seat])} and at {_at(place)}; keep one of them"
        )
    starts[seat] = place


def _orders(orders: object) -> Iterator[Order]:
    if not isinstance(orders, Mapping) or not orders:
        raise LayoutError(
            "no orders; add [orders] and a line such as ooo = { value = 20, time = 20 }"
        )
    seen: set[str] = set()
    for letters, order in orders.items():
        if not set(letters) <= {"o", "t"}:
            raise LayoutError(
                f"order {shown(letters)} has unknown ingredients; use o (onion) and t (tomato)"
            )
        if not 1 <= len(letters) <= POT_CAPACITY:
            raise LayoutError(
                f"order {shown(letters)} has {len(letters)} items; a soup has 1 to {POT_CAPACITY}"
            )
        if "".join(sorted(letters)) in seen:
            raise LayoutError(f"order {letters!r} is listed twice; keep one of them")
        seen.add("".join(sorted(letters)))
        if not isinstance(order, Mapping) or set(order) != {"value", "time"}:
            raise LayoutError(
                f"order {letters!r} needs a value and a time: {letters} = {{ value = 20, time = 20 }}"
            )
        yield Order(
            contents=(letters.count("o"), letters.count("t")),
            value=_whole(order["value"], f"value of order {letters!r}", 0, MAX_VALUE),
            time=_whole(order["time"], f"time of order {letters!r}", 1, MAX_TIME),
        )


def _cooking(kind: object) -> Cooking:
    for known in Cooking:
        if kind == known.value:
            return known
    allowed = " or ".join(f'"{known.value}"' for known in Cooking)
    raise LayoutError(f"cooking is {shown(kind)}; it takes {allowed}")


def _whole(number: object, what: str, least: int, most: int) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        raise LayoutError(
            f"{what} is {shown(number)}; it takes a whole number from {least} to {most}"
        )
    return number


def _check_enclosed(layout: Layout) -> None:
    for cell in layout.floor_cells:
        x, y = layout.place(cell)
        if x in (0, layout.width - 1) or y in (0, layout.height - 1):
            raise LayoutError(
                f"the kitchen is open at {_at((x, y))}; close its rim with counters ('X') or stations"
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
            kind = tile.name.lower().replace("_", " ")
            raise LayoutError(f"no {kind} ('{tile.value}') {why}; add one to the grid")


def _check_reach(layout: Layout) -> None:
    for cell in layout.cells_of(Tile.FLOOR, *_STATIONS):
        if int(cell) not in layout.touchable:
            place = layout.place(cell)
            kind = layout.tile(place).name.lower().replace("_", " ")
            raise LayoutError(
                f"no chef can reach the {kind} at {_at(place)}; open a way to it or make it a counter ('X')"
            )


def _check_cookable(layout: Layout) -> None:
    for order in layout.orders:
        if layout.cooking is Cooking.AUTOMATIC and sum(order.contents) < POT_CAPACITY:
            letters = "o" * order.contents[0] + "t" * order.contents[1]
            raise LayoutError(
                f"order {letters!r} can never be cooked, as pots start by themselves with their third item; "
                'ask for three items or set cooking = "manual"'
            )


def _at(place: Place) -> str:
    return f"column {place[0] + 1}, row {place[1] + 1}"
