"""A state as plain JSON, both ways, and as text for a terminal.

    {"chefs": [[x, y, facing, held], ...],     facing N S E W; held null, "onion", "tomato",
                                               "dish", "soup:oot"
     "pots": [[x, y, contents, ticks], ...],   pots that are not empty; ticks -1 while idle
     "counters": [[x, y, item], ...],          counters that are not empty
     "t": 0}

Pots and counters are sorted by x, then y.
"""

from collections.abc import Iterator, Mapping
from typing import Any, SupportsInt

import jax
import jax.numpy as jnp
import numpy as np

from cochef.errors import InputError, shown
from cochef.kitchen import recipes
from cochef.kitchen.constants import POT_CAPACITY, SEATS, Cooking, Item
from cochef.kitchen.events import Event
from cochef.kitchen.layout import Layout, Position, letters
from cochef.kitchen.state import Chef, Pot, State
from cochef.validation import entries, only, whole_number

_FACINGS = "NSEW"
_ARROWS = "^v><"
_PLAIN = {"onion": Item.ONION, "tomato": Item.TOMATO, "dish": Item.DISH}
_EVENT_NAMES = [event.label for event in Event]
_NAMES = {item: name for name, item in _PLAIN.items()}


class StateError(InputError):
    """JSON that is no state of this layout: says what is wrong and what is allowed."""


def item_name(item: SupportsInt) -> str | None:
    """The name of an item in JSON; None for an empty hand."""
    item = int(item)
    if item == Item.NOTHING:
        return None
    if item < Item.SOUP:
        return _NAMES[Item(item)]
    tomatoes, onions = divmod(item - Item.SOUP, POT_CAPACITY + 1)
    return f"soup:{letters(onions, tomatoes)}"


def event_names(events: np.ndarray) -> list[str]:
    """The names of the events that happened, sorted."""
    return sorted(_EVENT_NAMES[event] for event in np.flatnonzero(events))


def to_json(layout: Layout, state: State) -> dict[str, Any]:
    """The state of one kitchen as plain JSON."""
    return _leaves_to_json(layout, *(np.asarray(leaf).tolist() for leaf in jax.tree.leaves(state)))


def each_to_json(layout: Layout, states: State) -> Iterator[dict[str, Any]]:
    """The states of an episode (time first) as plain JSON, one after the other."""
    columns = (np.asarray(leaf).tolist() for leaf in jax.tree.leaves(states))
    return (_leaves_to_json(layout, *row) for row in zip(*columns, strict=True))


def _leaves_to_json(
    layout: Layout,
    cells: list[int],
    facings: list[int],
    hands: list[int],
    contents: list[list[int]],
    ticks: list[int],
    counters: list[int],
    time: int,
) -> dict[str, Any]:
    """The leaves of a state, in their order in the tree, as JSON."""
    chefs = [
        [*layout.position(cell), _FACINGS[facing], item_name(held)]
        for cell, facing, held in zip(cells, facings, hands, strict=True)
    ]
    pots = [
        [*layout.position(cell), letters(*filling), since]
        for cell, filling, since in zip(layout.pot_cells, contents, ticks, strict=True)
        if any(filling)
    ]
    lying = [
        [*layout.position(cell), item_name(item)]
        for cell, item in zip(layout.counter_cells, counters, strict=True)
        if item != Item.NOTHING
    ]
    return {"chefs": chefs, "pots": sorted(pots), "counters": sorted(lying), "t": time}


def from_json(layout: Layout, data: object) -> State:
    """The state that JSON describes, checked against the layout."""
    try:
        return _state(layout, data)
    except InputError as error:
        raise StateError(str(error)) from None


def _state(layout: Layout, data: object) -> State:
    if not isinstance(data, Mapping):
        raise InputError(
            f"a state is {shown(data)}; it takes an object with chefs, pots, counters and t"
        )
    only(data, ("chefs", "pots", "counters", "t"))
    time = whole_number(data.get("t", 0), "t", 0, layout.horizon)
    return State(
        chefs=_chefs(layout, data.get("chefs")),
        pots=_pots(layout, data.get("pots", [])),
        counters=_counters(layout, data.get("counters", [])),
        time=jnp.int32(time),
    )


def _chefs(layout: Layout, rows: object) -> Chef:
    chefs = [_row(row, 4, "a chef", "[x, y, facing, held]") for row in entries(rows, "chefs")]
    if len(chefs) != SEATS:
        raise InputError(f"{len(chefs)} chefs; a kitchen has {SEATS}")
    cells, facings, hands = [], [], []
    for x, y, facing, held in chefs:
        cells.append(_cell(layout, (x, y), layout.floor_cells, "floor"))
        if not isinstance(facing, str) or len(facing) != 1 or facing not in _FACINGS:
            raise InputError(f"a chef faces {shown(facing)}; allowed: N, S, E, W")
        facings.append(_FACINGS.index(facing))
        hands.append(Item.NOTHING if held is None else _item(layout, held))
    if cells[0] == cells[1]:
        raise InputError(
            f"both chefs stand at {layout.position(cells[0])}; each needs a cell of its own"
        )
    return Chef(*(jnp.asarray(column, jnp.int32) for column in (cells, facings, hands)))


def _pots(layout: Layout, rows: object) -> Pot:
    contents = np.zeros((len(layout.pot_cells), 2), np.int32)
    ticks = np.full(len(layout.pot_cells), -1, np.int32)
    for row in entries(rows, "pots"):
        x, y, filling, since = _row(row, 4, "a pot", "[x, y, contents, ticks]")
        cell = _cell(layout, (x, y), layout.pot_cells, "pot")
        index = int(np.flatnonzero(layout.pot_cells == cell)[0])
        if contents[index].any():
            raise InputError(f"the pot at {(x, y)} is listed twice")
        contents[index] = _contents(filling)
        ticks[index] = _ticks(layout, contents[index], since)
    return Pot(jnp.asarray(contents), jnp.asarray(ticks))


def _ticks(layout: Layout, contents: np.ndarray, ticks: object) -> int:
    most = int(recipes.cooking_times(layout)[tuple(contents)])
    full = contents.sum() == POT_CAPACITY
    automatic = layout.cooking is Cooking.AUTOMATIC
    least = 0 if automatic and full else -1
    most = -1 if automatic and not full else most
    return whole_number(ticks, f"ticks of a pot with {letters(*contents)}", least, most)


def _counters(layout: Layout, rows: object) -> Any:  # noqa: ANN401
    items = np.full(len(layout.counter_cells), Item.NOTHING, np.int32)
    for row in entries(rows, "counters"):
        x, y, item = _row(row, 3, "a counter", "[x, y, item]")
        cell = _cell(layout, (x, y), layout.counter_cells, "reachable counter")
        index = int(np.flatnonzero(layout.counter_cells == cell)[0])
        if items[index] != Item.NOTHING:
            raise InputError(f"the counter at {(x, y)} is listed twice")
        items[index] = _item(layout, item)
    return jnp.asarray(items)


def _item(layout: Layout, name: object) -> int:
    if isinstance(name, str) and name in _PLAIN:
        return _PLAIN[name]
    if isinstance(name, str) and name.startswith("soup:"):
        onions, tomatoes = _contents(name.removeprefix("soup:"))
        if onions + tomatoes < POT_CAPACITY and layout.cooking is Cooking.AUTOMATIC:
            raise InputError(
                f"{name!r} cannot be cooked here; soups of this kitchen have {POT_CAPACITY} items"
            )
        return Item.SOUP + onions + (POT_CAPACITY + 1) * tomatoes
    raise InputError(
        f"unknown item {shown(name)}; "
        "allowed: onion, tomato, dish, soup:ooo (o and t, 1 to 3 of them)"
    )


def _contents(text: object) -> tuple[int, int]:
    if isinstance(text, str) and 1 <= len(text) <= POT_CAPACITY and set(text) <= {"o", "t"}:
        return text.count("o"), text.count("t")
    raise InputError(f"contents {shown(text)}; allowed: 1 to {POT_CAPACITY} letters o or t")


def _cell(layout: Layout, position: tuple[object, object], cells: np.ndarray, kind: str) -> int:
    x, y = position
    is_inside = x in range(layout.width) and y in range(layout.height)
    if type(x) is int and type(y) is int and is_inside:
        cell = layout.cell((x, y))
        if cell in cells:
            return cell
    known = ", ".join(str(layout.position(cell)) for cell in cells)
    raise InputError(f"no {kind} at {shown(position)}; {kind} cells of {layout.name}: {known}")


def _row(row: object, length: int, what: str, form: str) -> list[Any]:
    if not isinstance(row, list) or len(row) != length:
        raise InputError(f"{what} is {shown(row)}; it takes {form}")
    return row


def draw(layout: Layout, state: State) -> str:
    """The kitchen as text: four characters a cell, chefs as number, arrow and what they hold."""
    data = to_json(layout, state)
    marks: dict[Position, str] = {}
    for seat, (x, y, facing, held) in enumerate(data["chefs"]):
        marks[x, y] = f"{seat + 1}{_ARROWS[_FACINGS.index(facing)]}{_short(held)}"
    for x, y, contents, ticks in data["pots"]:
        marks[x, y] = f"P{contents}"
        if ticks >= 0:  # lit: how many items, and the ticks, which may need all three characters
            marks[x, y] = f"P{len(contents)}{ticks:02d}" if ticks < 100 else f"P{ticks}"
    for x, y, item in data["counters"]:
        marks[x, y] = f"X{_short(item)}"
    lines = []
    for y, row in enumerate(layout.rows):
        cells = [f"{marks.get((x, y), letter):<4}" for x, letter in enumerate(row)]
        lines.append("".join(cells).rstrip())
    return "\n".join(lines)


def _short(item: str | None) -> str:
    """An item as a letter or two: a soup shows its first ingredient."""
    if item is None:
        return ""
    if item.startswith("soup:"):
        return "s" + item.removeprefix("soup:")[0]
    return item[0]
