"""What a chef sees, for both seats at once: a seat's own chef comes first.

The grid (26 planes) and the compact vector hold small whole numbers as bytes; networks scale them.
Both functions also take the state of many kitchens with the kitchens as the last axis of all its
arrays, which is much faster than mapping them over kitchens: every number that may show is computed
once, as a row over the kitchens, and a fixed table per layout says which row goes where.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped, UInt8

from cochef.kitchen.constants import INGREDIENTS, POT_CAPACITY, SEATS, Direction, Item, Tile
from cochef.kitchen.items import ingredients_of, is_soup, soup
from cochef.kitchen.layout import Layout
from cochef.kitchen.pots import cooking_time, is_lit, is_ready, time_left
from cochef.kitchen.recipes import cooking_times
from cochef.kitchen.state import Chef, Pot, State

URGENT = 40  # with fewer steps left, the end of the episode shows

_ITEM_ENTRIES = 6
_POT_ENTRIES = 2 * POT_CAPACITY + 3
_TIME_ENTRIES = 2

_Rows = Shaped[Array, "_ *kitchens"]


class Plane(IntEnum):
    """The planes of the grid, in the paper's order; facing takes four planes, one a direction."""

    SELF = 0
    OTHER = 1
    SELF_FACING = 2
    OTHER_FACING = 6
    POT = 10
    COUNTER = 11
    ONION_DISPENSER = 12
    TOMATO_DISPENSER = 13
    DISH_DISPENSER = 14
    SERVING = 15
    ONIONS_IN_UNLIT_POT = 16
    TOMATOES_IN_UNLIT_POT = 17
    ONIONS_IN_SOUP = 18  # in a lit pot or plated
    TOMATOES_IN_SOUP = 19
    TIME_LEFT = 20
    SOUP_READY = 21  # in a pot or plated
    DISH = 22
    ONION = 23
    TOMATO = 24
    URGENT = 25


PLANES = Plane.URGENT + 1


class CompactSizes(NamedTuple):
    """How many entries of the compact vector hold what, in this order."""

    own_chef: int
    other_chef: int
    pots: int
    counters: int
    time: int


def compact_sizes(layout: Layout) -> CompactSizes:
    """How many entries of the compact vector hold what."""
    chef = len(layout.floor_cells) + len(Direction) + _ITEM_ENTRIES
    return CompactSizes(
        own_chef=chef,
        other_chef=chef,
        pots=len(layout.pot_cells) * _POT_ENTRIES,
        counters=len(layout.counter_cells) * _ITEM_ENTRIES,
        time=_TIME_ENTRIES,
    )


def compact_peaks(layout: Layout) -> np.ndarray:
    """The largest number that each entry of the compact vector takes."""
    item = [1] * 4 + [POT_CAPACITY] * INGREDIENTS
    chef = [1] * (len(layout.floor_cells) + len(Direction)) + item
    pot = [1] * (_POT_ENTRIES - 1) + [int(cooking_times(layout).max())]
    time = [max(1, layout.horizon // URGENT), min(layout.horizon, URGENT - 1)]
    return np.array(
        2 * chef + pot * len(layout.pot_cells) + item * len(layout.counter_cells) + time
    )


def grid_peaks(layout: Layout) -> np.ndarray:
    """The largest number that each plane of the grid takes."""
    peaks = np.ones(PLANES, np.int64)
    counts = (
        Plane.ONIONS_IN_UNLIT_POT,
        Plane.TOMATOES_IN_UNLIT_POT,
        Plane.ONIONS_IN_SOUP,
        Plane.TOMATOES_IN_SOUP,
    )
    peaks[list(counts)] = POT_CAPACITY
    peaks[Plane.TIME_LEFT] = cooking_times(layout).max()
    return peaks


def compact(
    layout: Layout, state: State, seats: int = SEATS
) -> UInt8[Array, "seats entries *kitchens"]:
    """A vector for each of the first seats, from which `decode` gives the whole state back.

    It holds own chef and other chef (cell and facing one-hot, hand), pots (counts as thermometers,
    lit, ready, time left), counters, and the steps left in blocks of 40 and the rest.
    """
    chefs = state.chefs
    pots = _ingredients_last(state.pots)
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
    return _arranged(rows, _compact_order(layout)[:seats])


def _compact_order(layout: Layout) -> Int[np.ndarray, "2 entries"]:
    """Which of the rows above each entry of a seat's vector shows."""
    floor = len(layout.floor_cells)
    pots = len(layout.pot_cells)
    things = SEATS + len(layout.counter_cells)  # that may be or hold an item
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


def _one_hot(number: Int[Array, "*kitchens"], choices: np.ndarray) -> _Rows:
    return number == choices.reshape(-1, *(1,) * number.ndim)


def _item_entries(items: Int[Array, "items *kitchens"]) -> list[_Rows]:
    """Onion, tomato, dish, soup: which is it; and what is in the soup."""
    kinds = [items == Item.ONION, items == Item.TOMATO, items == Item.DISH, is_soup(items)]
    contents = ingredients_of(items)
    return [*kinds, *(contents[..., ingredient] for ingredient in range(INGREDIENTS))]


def _ingredients_last(pots: Pot) -> Pot:
    """The pots of many kitchens with the axis of ingredients where pots.py expects it."""
    return Pot(jnp.moveaxis(pots.contents, 1, -1), pots.ticks)


def _arranged(rows: Sequence[_Rows], order: Int[np.ndarray, "..."]) -> UInt8[Array, "..."]:
    """The rows, numbered in their order, at the places where `order` has their numbers."""
    return jnp.concatenate([row.astype(jnp.uint8) for row in rows])[order]


def decode(layout: Layout, observation: UInt8[Array, " entries"]) -> State:
    """The state of which seat 0 has this compact vector."""
    entries = observation.astype(jnp.int32)
    ends = np.cumsum(compact_sizes(layout))[:-1]
    own, other, pots, counters, left = jnp.split(entries, ends)
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
    lit = entries[:, -3] > 0
    ticks = cooking_time(layout, contents) - entries[:, -1]
    return Pot(contents, jnp.where(lit, ticks, -1))


def grid(
    layout: Layout, state: State, seats: int = SEATS
) -> UInt8[Array, "seats height width 26 *kitchens"]:
    """The 26 planes of each of the first seats that the paper's networks see, without orders."""
    order = np.zeros((SEATS, layout.height * layout.width, PLANES), np.int32)
    one = jnp.ones_like(state.time)[None]
    urgent = layout.horizon - state.time[None] < URGENT
    rows = [0 * one, one, urgent]  # numbers 0, 1 and 2 in `order`
    for tile in Tile:
        if tile is not Tile.FLOOR:
            order[:, layout.cells_of(tile), Plane[tile.name]] = 1
    order[:, :, Plane.URGENT] = 2
    for shown in _changing(layout, state):
        numbers = sum(map(len, rows)) + np.arange(len(shown.cells))
        for seat, plane in enumerate(shown.planes):
            order[seat, shown.cells, plane] = numbers
        rows.append(shown.values)
    places = order.reshape(SEATS, layout.height, layout.width, PLANES)
    return _arranged(rows, places[:seats])


class _Shown(NamedTuple):
    """Something that changes from step to step: where it shows in the grid, and its values."""

    planes: tuple[int, int]  # by seat
    cells: np.ndarray
    values: _Rows


def _changing(layout: Layout, state: State) -> Iterator[_Shown]:
    yield from _shown_chefs(layout, state)
    yield from _shown_items(layout, state)
    yield from _shown_pots(layout, _ingredients_last(state.pots))


def _shown_chefs(layout: Layout, state: State) -> Iterator[_Shown]:
    floor = layout.floor_cells
    stands = (Plane.SELF, Plane.OTHER)
    faces = (Plane.SELF_FACING, Plane.OTHER_FACING)
    for seat in range(SEATS):
        is_here = _one_hot(state.chefs.cell[seat], floor)
        yield _Shown((stands[seat], stands[1 - seat]), floor, is_here)
        for direction in Direction:
            planes = (faces[seat] + direction, faces[1 - seat] + direction)
            looks = state.chefs.facing[seat] == direction
            yield _Shown(planes, floor, is_here & looks)


def _shown_items(layout: Layout, state: State) -> Iterator[_Shown]:
    """Items in hands, where their chefs stand, and on counters."""
    floor = layout.floor_cells
    held = [
        jnp.where(_one_hot(state.chefs.cell[seat], floor), state.chefs.held[seat], Item.NOTHING)
        for seat in range(SEATS)
    ]
    items = jnp.concatenate([held[0] + held[1], state.counters])
    onion, tomato, dish, plated, onions, tomatoes = _item_entries(items)
    cells = np.concatenate([floor, layout.counter_cells])
    planes = {
        Plane.ONIONS_IN_SOUP: onions,
        Plane.TOMATOES_IN_SOUP: tomatoes,
        Plane.SOUP_READY: plated,
        Plane.DISH: dish,
        Plane.ONION: onion,
        Plane.TOMATO: tomato,
    }
    for plane, values in planes.items():
        yield _Shown((plane, plane), cells, values)


def _shown_pots(layout: Layout, pots: Pot) -> Iterator[_Shown]:
    lit = is_lit(pots)
    onions, tomatoes = pots.contents[..., 0], pots.contents[..., 1]
    planes = {
        Plane.ONIONS_IN_UNLIT_POT: jnp.where(lit, 0, onions),
        Plane.ONIONS_IN_SOUP: jnp.where(lit, onions, 0),
        Plane.TOMATOES_IN_UNLIT_POT: jnp.where(lit, 0, tomatoes),
        Plane.TOMATOES_IN_SOUP: jnp.where(lit, tomatoes, 0),
        Plane.TIME_LEFT: time_left(layout, pots),
        Plane.SOUP_READY: is_ready(layout, pots),
    }
    for plane, values in planes.items():
        yield _Shown((plane, plane), layout.pot_cells, values)
