"""What a chef sees, for both seats at once: a seat's own chef comes first.

The grid (26 planes) and the compact vector hold small whole numbers as bytes; networks scale them. Both also take
a state of many kitchens, if these are the last axis of all its arrays, and are then by far faster than mapped over
kitchens. To that end every number that may show is computed once, as a row over the kitchens, and a fixed table
per layout says which row goes where.
"""

from collections.abc import Iterator, Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped, UInt8

from cochef.kitchen.constants import INGREDIENTS, POT_CAPACITY, SEATS, Direction, Item, Tile
from cochef.kitchen.items import ingredients_of, is_soup, soup
from cochef.kitchen.layout import Layout
from cochef.kitchen.pots import cooking_time, is_lit, is_ready, time_left
from cochef.kitchen.recipes import cooking_times
from cochef.kitchen.state import Chef, Pot, State

PLANES = 26
URGENT = 40  # steps before the end from which on it shows

_ITEM_ENTRIES = 6
_POT_ENTRIES = 2 * POT_CAPACITY + 3
_TIME_ENTRIES = 2
_TILE_PLANES = {
    Tile.POT: 10,
    Tile.COUNTER: 11,
    Tile.ONION_DISPENSER: 12,
    Tile.TOMATO_DISPENSER: 13,
    Tile.DISH_DISPENSER: 14,
    Tile.SERVING: 15,
}

Rows = Shaped[Array, "_ *kitchens"]


def compact_sizes(layout: Layout) -> tuple[int, int, int, int, int]:
    """How many entries of the compact vector speak of: own chef, other chef, pots, counters, time."""
    chef = len(layout.floor_cells) + len(Direction) + _ITEM_ENTRIES
    pots, counters = len(layout.pot_cells), len(layout.counter_cells)
    return chef, chef, pots * _POT_ENTRIES, counters * _ITEM_ENTRIES, _TIME_ENTRIES


def compact_peaks(layout: Layout) -> np.ndarray:
    """The largest number that each entry of the compact vector takes."""
    item = [1] * 4 + [POT_CAPACITY] * INGREDIENTS
    chef = [1] * (len(layout.floor_cells) + len(Direction)) + item
    pot = [1] * (_POT_ENTRIES - 1) + [int(cooking_times(layout).max())]
    time = [max(1, layout.horizon // URGENT), min(layout.horizon, URGENT - 1)]
    return np.array(
        2 * chef + pot * len(layout.pot_cells) + item * len(layout.counter_cells) + time
    )


def compact(layout: Layout, state: State) -> UInt8[Array, "2 entries *kitchens"]:
    """A vector per seat from which `decode` gives the whole state back.

    Own chef and other chef (cell and facing one-hot, hand), pots (counts as thermometers, lit, ready, time
    left), counters, and the steps left in blocks of 40 and the rest.
    """
    chefs, pots = state.chefs, _ingredients_last(state.pots)
    levels = range(1, POT_CAPACITY + 1)
    rows = [
        *(_one_hot(cell, layout.floor_cells) for cell in chefs.cell),
        *(_one_hot(facing, np.arange(len(Direction))) for facing in chefs.facing),
        *_item_entries(jnp.concatenate([chefs.held, state.counters])),
        *(
            pots.contents[..., ingredient] >= level
            for ingredient in range(INGREDIENTS)
            for level in levels
        ),
        *(is_lit(pots), is_ready(layout, pots), time_left(layout, pots)),
        *jnp.divmod(layout.horizon - state.time[None], URGENT),
    ]
    return _arranged(rows, _compact_order(layout))


def _compact_order(layout: Layout) -> Int[np.ndarray, "2 entries"]:
    """Which of the rows above each entry of a seat's vector shows."""
    floor, pots, counters = (
        len(layout.floor_cells),
        len(layout.pot_cells),
        len(layout.counter_cells),
    )
    things = SEATS + counters
    sizes = [
        SEATS * floor,
        SEATS * len(Direction),
        _ITEM_ENTRIES * things,
        _POT_ENTRIES * pots,
        _TIME_ENTRIES,
    ]
    cells, facings, items, in_pots, time = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    items = items.reshape(_ITEM_ENTRIES, things).T
    chefs = np.concatenate(
        [cells.reshape(SEATS, -1), facings.reshape(SEATS, -1), items[:SEATS]], axis=1
    )
    rest = [in_pots.reshape(_POT_ENTRIES, pots).T.ravel(), items[SEATS:].ravel(), time]
    return np.stack(
        [np.concatenate([chefs[seat], chefs[1 - seat], *rest]) for seat in range(SEATS)]
    )


def _one_hot(number: Int[Array, "*kitchens"], choices: np.ndarray) -> Rows:
    return number == choices.reshape(-1, *(1,) * number.ndim)


def _item_entries(items: Int[Array, "items *kitchens"]) -> list[Rows]:
    """Onion, tomato, dish, soup: which is it; and what is in the soup."""
    kinds = [items == Item.ONION, items == Item.TOMATO, items == Item.DISH, is_soup(items)]
    contents = ingredients_of(items)
    return [*kinds, *(contents[..., ingredient] for ingredient in range(INGREDIENTS))]


def _ingredients_last(pots: Pot) -> Pot:
    """The pots of many kitchens in the form in which questions about them are asked."""
    return Pot(jnp.moveaxis(pots.contents, 1, -1), pots.ticks)


def _arranged(rows: Sequence[Rows], order: Int[np.ndarray, "..."]) -> UInt8[Array, "..."]:
    """The rows, numbered through, in this order."""
    return jnp.concatenate([row.astype(jnp.uint8) for row in rows])[order]


def decode(layout: Layout, own_view: UInt8[Array, " entries"]) -> State:
    """The state whose compact vector, seen from seat 0, is this one."""
    view = own_view.astype(jnp.int32)
    own, other, pots, counters, left = jnp.split(view, np.cumsum(compact_sizes(layout))[:-1])
    chefs = jnp.stack([own, other])
    floor = len(layout.floor_cells)
    return State(
        chefs=Chef(
            cell=jnp.asarray(layout.floor_cells)[chefs[:, :floor].argmax(axis=1)],
            facing=chefs[:, floor : floor + len(Direction)].argmax(axis=1).astype(jnp.int32),
            held=_decode_items(chefs[:, -_ITEM_ENTRIES:]),
        ),
        pots=_decode_pots(layout, pots.reshape(-1, _POT_ENTRIES)),
        counters=_decode_items(counters.reshape(-1, _ITEM_ENTRIES)),
        time=layout.horizon - URGENT * left[0] - left[1],
    )


def _decode_items(entries: Int[Array, "items 6"]) -> Int[Array, " items"]:
    plain = entries[:, :3] @ jnp.array([Item.ONION, Item.TOMATO, Item.DISH])
    return jnp.where(entries[:, 3] > 0, soup(entries[:, 4:]), plain)


def _decode_pots(layout: Layout, entries: Int[Array, "pots 9"]) -> Pot:
    contents = entries[:, : 2 * POT_CAPACITY].reshape(-1, INGREDIENTS, POT_CAPACITY).sum(axis=-1)
    lit, left = entries[:, -3], entries[:, -1]
    return Pot(contents, jnp.where(lit > 0, cooking_time(layout, contents) - left, -1))


def grid(layout: Layout, state: State) -> UInt8[Array, "2 height width 26 *kitchens"]:
    """The 26 planes per seat that the paper's networks see; orders are not in it, policies are per layout."""
    order = np.zeros((SEATS, layout.height * layout.width, PLANES), np.int32)
    one = jnp.ones_like(state.time)[None]
    urgent = layout.horizon - state.time[None] < URGENT
    rows = [0 * one, one, urgent]
    for tile, plane in _TILE_PLANES.items():
        order[:, layout.cells_of(tile), plane] = 1
    order[:, :, 25] = 2
    for planes, cells, values in _shown(layout, state):
        numbers = sum(map(len, rows)) + np.arange(len(cells))
        for seat, plane in enumerate(planes):
            order[seat, cells, plane] = numbers
        rows.append(values)
    return _arranged(rows, order.reshape(SEATS, layout.height, layout.width, PLANES))


def _shown(layout: Layout, state: State) -> Iterator[tuple[tuple[int, int], np.ndarray, Rows]]:
    """Everything that changes from step to step: the plane it is on for each seat, at which cells, its values."""
    floor = layout.floor_cells
    stands = [_one_hot(cell, floor) for cell in state.chefs.cell]
    for seat in range(SEATS):
        yield (seat, 1 - seat), floor, stands[seat]
        for direction in Direction:
            planes = (2 + 4 * seat + direction, 2 + 4 * (1 - seat) + direction)
            yield planes, floor, stands[seat] & (state.chefs.facing[seat] == direction)

    carried = sum(
        jnp.where(stands[seat], state.chefs.held[seat], Item.NOTHING) for seat in range(SEATS)
    )
    onion, tomato, dish, plated, *contents = _item_entries(
        jnp.concatenate([carried, state.counters])
    )
    item_cells = np.concatenate([floor, layout.counter_cells])
    for plane, values in {
        18: contents[0],
        19: contents[1],
        21: plated,
        22: dish,
        23: onion,
        24: tomato,
    }.items():
        yield (plane, plane), item_cells, values

    pots = _ingredients_last(state.pots)
    lit = is_lit(pots)
    for ingredient in range(INGREDIENTS):
        count = pots.contents[..., ingredient]
        yield (16 + ingredient, 16 + ingredient), layout.pot_cells, jnp.where(lit, 0, count)
        yield (18 + ingredient, 18 + ingredient), layout.pot_cells, jnp.where(lit, count, 0)
    yield (20, 20), layout.pot_cells, time_left(layout, pots)
    yield (21, 21), layout.pot_cells, is_ready(layout, pots)
