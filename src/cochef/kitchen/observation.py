"""What a chef sees, for both seats at once: a seat's own chef comes first.

The grid (26 planes) and the compact vector hold small whole numbers as bytes; networks scale them.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped, UInt8

from cochef.kitchen.constants import INGREDIENTS, POT_CAPACITY, SEATS, Direction, Item, Tile
from cochef.kitchen.items import ingredients_of, is_soup, soup
from cochef.kitchen.layout import Layout
from cochef.kitchen.pots import cooking_time, is_lit, is_ready, time_left
from cochef.kitchen.state import Chef, Pot, State

PLANES = 26
URGENT = 40  # steps before the end from which on it shows

_ITEM_ENTRIES = 6
_POT_ENTRIES = 2 * POT_CAPACITY + 3
_TIME_ENTRIES = 2


def compact_sizes(layout: Layout) -> tuple[int, int, int, int, int]:
    """How many entries of the compact vector speak of: own chef, other chef, pots, counters, time."""
    chef = len(layout.floor_cells) + len(Direction) + _ITEM_ENTRIES
    pots, counters = len(layout.pot_cells), len(layout.counter_cells)
    return chef, chef, pots * _POT_ENTRIES, counters * _ITEM_ENTRIES, _TIME_ENTRIES


def compact(layout: Layout, state: State) -> UInt8[Array, "2 entries"]:
    """A vector per seat from which `decode` gives the whole state back.

    Own chef and other chef (cell and facing one-hot, hand), pots (counts as thermometers, lit, ready, time
    left), counters, and the steps left in blocks of 40 and the rest.
    """
    own = jnp.concatenate(
        [
            state.chefs.cell[:, None] == jnp.asarray(layout.floor_cells),
            state.chefs.facing[:, None] == jnp.arange(len(Direction)),
            _item_entries(state.chefs.held),
        ],
        axis=1,
        dtype=jnp.uint8,
    )
    rest = jnp.concatenate(
        [
            _pot_entries(layout, state.pots).ravel(),
            _item_entries(state.counters).ravel(),
            jnp.stack(jnp.divmod(layout.horizon - state.time, URGENT)),
        ],
        dtype=jnp.uint8,
    )
    return jnp.concatenate([own, own[::-1], jnp.broadcast_to(rest, (SEATS, rest.size))], axis=1)


def _item_entries(items: Int[Array, " items"]) -> UInt8[Array, "items 6"]:
    """Onion, tomato, dish, soup: which is it; and what is in the soup."""
    contents = ingredients_of(items)
    kinds = [items == Item.ONION, items == Item.TOMATO, items == Item.DISH, is_soup(items)]
    return jnp.stack([*kinds, contents[:, 0], contents[:, 1]], axis=1).astype(jnp.uint8)


def _pot_entries(layout: Layout, pots: Pot) -> UInt8[Array, "pots 9"]:
    levels = jnp.arange(1, POT_CAPACITY + 1)
    counts = [pots.contents[:, ingredient, None] >= levels for ingredient in range(INGREDIENTS)]
    fire = jnp.stack([is_lit(pots), is_ready(layout, pots), time_left(layout, pots)], axis=1)
    return jnp.concatenate([*counts, fire], axis=1, dtype=jnp.uint8)


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


def grid(layout: Layout, state: State) -> UInt8[Array, "2 height width 26"]:
    """The 26 planes per seat that the paper's networks see; orders are not in it, policies are per layout."""
    cells = jnp.arange(layout.height * layout.width)
    stands = state.chefs.cell[:, None] == cells
    looks = stands[:, None] & (state.chefs.facing[:, None] == jnp.arange(len(Direction)))[..., None]
    urgent = jnp.broadcast_to(layout.horizon - state.time < URGENT, (1, cells.size))
    shared = jnp.concatenate(
        [_tile_planes(layout), _pot_and_item_planes(layout, state, stands), urgent], dtype=jnp.uint8
    )
    seen_by = [
        jnp.concatenate([stands[seat], stands[1 - seat], looks[seat].ravel(), looks[1 - seat].ravel()])
        for seat in range(SEATS)
    ]
    own = jnp.stack(seen_by).astype(jnp.uint8).reshape(SEATS, -1, cells.size)
    views = jnp.concatenate([own, jnp.broadcast_to(shared, (SEATS, *shared.shape))], axis=1)
    return views.reshape(SEATS, PLANES, layout.height, layout.width).transpose(0, 2, 3, 1)


def _tile_planes(layout: Layout) -> np.ndarray:
    tiles = (
        Tile.POT,
        Tile.COUNTER,
        Tile.ONION_DISPENSER,
        Tile.TOMATO_DISPENSER,
        Tile.DISH_DISPENSER,
        Tile.SERVING,
    )
    cells = np.arange(layout.height * layout.width)
    return np.stack([np.isin(cells, layout.cells_of(tile)) for tile in tiles])


def _pot_and_item_planes(layout: Layout, state: State, stands: Shaped[Array, "2 cells"]) -> UInt8[Array, "9 cells"]:
    """What pots hold and do, and what lies on counters or is carried, each at its cell."""
    pots = state.pots
    lit = _at(layout, layout.pot_cells, is_lit(pots))
    in_pots = [_at(layout, layout.pot_cells, pots.contents[:, i]) for i in range(INGREDIENTS)]
    items = _at(layout, layout.counter_cells, state.counters)
    items += jnp.sum(jnp.where(stands, state.chefs.held[:, None], Item.NOTHING), axis=0)
    plated = ingredients_of(items)
    planes = [
        *(jnp.where(lit, 0, count) for count in in_pots),
        *(jnp.where(lit, count, 0) + plated[:, i] for i, count in enumerate(in_pots)),
        _at(layout, layout.pot_cells, time_left(layout, pots)),
        _at(layout, layout.pot_cells, is_ready(layout, pots)) | is_soup(items),
        *(items == kind for kind in (Item.DISH, Item.ONION, Item.TOMATO)),
    ]
    return jnp.stack(planes).astype(jnp.uint8)


def _at(layout: Layout, cells: np.ndarray, values: Shaped[Array, " n"]) -> Shaped[Array, " cells"]:
    """A plane with `values` at `cells` and zero elsewhere."""
    source = np.full(layout.height * layout.width, len(cells))
    source[cells] = np.arange(len(cells))
    return jnp.append(values, jnp.zeros(1, values.dtype))[source]
