"""The 96 hand-made features per seat on which people are cloned (overcooked_ai 1.1.0).

Per chef 46 numbers: facing, what it holds, the way (dx, dy) to the closest onion, tomato, dish,
soup (and what is in that soup), serving tile and empty counter, the two closest pots, and walls
around. A seat sees its own 46, the other chef's 46, the way to the other chef, and where it stands
itself. Things on counters count. Ties go to dispensers in row-major order, then to counters.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from cochef.kitchen.constants import INGREDIENTS, POT_CAPACITY, Direction, Item, Tile
from cochef.kitchen.items import ingredients_of, is_soup
from cochef.kitchen.layout import Layout
from cochef.kitchen.navigation import UNREACHABLE, facing_distances
from cochef.kitchen.pots import is_lit, is_ready, time_left
from cochef.kitchen.recipes import cooking_times
from cochef.kitchen.state import Chef, State

FEATURES = 96
_CLOSEST_POTS = 2

Way = Int[Array, "2"]


def features(layout: Layout, state: State) -> Float[Array, "2 96"]:
    """The features of both seats."""
    own = jax.vmap(lambda chef: _chef_features(layout, state, chef))(state.chefs)
    places = positions(layout, state.chefs.cell)
    parts = [own, own[::-1], places[::-1] - places, places]
    return jnp.concatenate(parts, axis=1).astype(jnp.float32)


def feature_peaks(layout: Layout) -> np.ndarray:
    """The largest size of each feature; ways and places can be as long as the longer side."""
    side = max(layout.width, layout.height)
    way = [side, side]
    pot = [1] * 5 + [POT_CAPACITY] * INGREDIENTS + [int(cooking_times(layout).max())] + way
    chef = [
        *[1] * len(Direction),
        *[1] * 4,  # what it holds
        *way * 4,  # to onion, tomato, dish and soup
        *[POT_CAPACITY] * INGREDIENTS,
        *way * 2,  # to serving tile and empty counter
        *pot * _CLOSEST_POTS,
        *[1] * len(Direction),  # walls
    ]
    return np.array([*chef, *chef, *way, *way])


def _chef_features(layout: Layout, state: State, chef: Chef) -> Int[Array, "46"]:
    walls = ~jnp.asarray(layout.is_floor)[chef.cell + jnp.asarray(layout.steps)]
    holds = [
        chef.held == Item.ONION,
        is_soup(chef.held),
        chef.held == Item.DISH,
        chef.held == Item.TOMATO,
    ]
    parts = [
        chef.facing == jnp.arange(len(Direction)),
        jnp.stack(holds),
        _way_to_item(layout, state, chef, Tile.ONION_DISPENSER, Item.ONION),
        _way_to_item(layout, state, chef, Tile.TOMATO_DISPENSER, Item.TOMATO),
        _way_to_item(layout, state, chef, Tile.DISH_DISPENSER, Item.DISH),
        *_way_to_soup(layout, state, chef),
        closest(layout, chef, layout.serving_cells)[0],
        closest(layout, chef, layout.counter_cells, state.counters == Item.NOTHING)[0],
        _closest_pots(layout, state, chef),
        walls,
    ]
    return jnp.concatenate([part.astype(jnp.int32) for part in parts])


def positions(layout: Layout, cells: Int[Array, "*batch"]) -> Int[Array, "*batch 2"]:
    """Where cells are: (x, y)."""
    return jnp.stack([cells % layout.width, cells // layout.width], axis=-1)


def closest(
    layout: Layout, chef: Chef, cells: np.ndarray, present: Bool[Array, " n"] | None = None
) -> tuple[Way, Int[Array, ""], Bool[Array, ""]]:
    """The way to the closest of some cells, its index among them, and whether there is one."""
    if not len(cells):
        return jnp.zeros(2, jnp.int32), jnp.int32(0), jnp.bool_(False)
    cost = jnp.asarray(facing_distances(layout)[:, :, cells])[chef.cell, chef.facing]
    cost = cost if present is None else jnp.where(present, cost, UNREACHABLE)
    best = cost.argmin()
    found = cost[best] < UNREACHABLE
    way = positions(layout, jnp.asarray(cells)[best]) - positions(layout, chef.cell)
    return jnp.where(found, way, 0), best, found


def _way_to_item(layout: Layout, state: State, chef: Chef, dispenser: Tile, item: Item) -> Way:
    dispensers = layout.cells_of(dispenser)
    cells = np.concatenate([dispensers, layout.counter_cells])
    present = jnp.concatenate([jnp.ones(len(dispensers), bool), state.counters == item])
    return jnp.where(chef.held == item, 0, closest(layout, chef, cells, present)[0])


def _way_to_soup(layout: Layout, state: State, chef: Chef) -> tuple[Way, Int[Array, "2"]]:
    """The way to the closest soup on a counter and what is in it; a soup in hand is closest."""
    way, index, found = closest(layout, chef, layout.counter_cells, is_soup(state.counters))
    lying: Int[Array, ""] = jnp.int32(Item.NOTHING)
    if len(layout.counter_cells):
        lying = jnp.where(found, state.counters[index], Item.NOTHING)
    holds = is_soup(chef.held)
    return jnp.where(holds, 0, way), ingredients_of(jnp.where(holds, chef.held, lying))


def _closest_pots(layout: Layout, state: State, chef: Chef) -> Int[Array, "20"]:
    """Facts about the two closest pots; zeros where the chef can reach no such pot."""
    left = jnp.ones(len(layout.pot_cells), bool)
    facts = []
    for _ in range(_CLOSEST_POTS):
        way, index, found = closest(layout, chef, layout.pot_cells, left)
        facts.append(jnp.where(found, jnp.concatenate([_pot_facts(layout, state)[index], way]), 0))
        left = left & (jnp.arange(left.size) != index)
    return jnp.concatenate(facts)


def _pot_facts(layout: Layout, state: State) -> Int[Array, "pots 8"]:
    pots = state.pots
    items = pots.contents.sum(axis=1)
    lit = is_lit(pots)
    ready = is_ready(layout, pots)
    columns = [
        jnp.ones_like(items),
        items == 0,
        lit | (items == POT_CAPACITY),
        lit & ~ready,
        ready,
        pots.contents[:, 0],
        pots.contents[:, 1],
        time_left(layout, pots),
    ]
    return jnp.stack([column.astype(jnp.int32) for column in columns], axis=1)
