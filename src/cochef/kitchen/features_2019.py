"""The 62 features per seat on which people were cloned in 2019 (Carroll et al.), oddities included.

Per chef 29 whole numbers: facing; whether it holds an onion, a soup, a dish; the ways (dx, dy) to
the closest onion dispenser, empty pot, pot with one onion, pot with two, pot that cooks, pot that
is ready, dish dispenser, soup on a counter and serving tile; and walls around. A seat sees its own
29, the other chef's 29, the way to the other chef, and a place. (0, 0) means that there is no such
thing, that it cannot be reached, or that its item is in hand.

The networks of 2019 were trained on what their code computed, which was not all that it meant to:

- Seat 1 is told the place of chef 0 instead of its own.
- The ways to pots with one or two onions are (0, 0) always: such pots were asked for by a name that
  they do not have. They are seen only as no longer empty.
- Nothing on a counter is seen, no onion, dish or soup: no counter was a goal of the planner.
- Closest is by moves and turns until the station is faced, as if the other chef was not there.
  Ties go to the first in row-major order.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from cochef.errors import InputError
from cochef.kitchen.constants import Direction, Item, Tile
from cochef.kitchen.features import Way, closest, positions
from cochef.kitchen.items import is_soup
from cochef.kitchen.layout import Layout
from cochef.kitchen.pots import is_lit, is_ready
from cochef.kitchen.state import Chef, Pot, State

FEATURES_2019 = 62


def features_2019(layout: Layout, state: State) -> Float[Array, "2 62"]:
    """The features of both seats, in a layout without tomatoes."""
    if len(layout.cells_of(Tile.TOMATO_DISPENSER)):
        raise InputError(
            f"{layout.name} has tomatoes, and the 62 features of 2019 have none; "
            "they take layouts with onions only"
        )
    own = jax.vmap(partial(_chef_features, layout, state.pots))(state.chefs)
    places = positions(layout, state.chefs.cell)
    told = jnp.stack([places[0], places[0]])  # seat 1, too, is told where chef 0 stands
    parts = [own, own[::-1], places[::-1] - places, told]
    return jnp.concatenate(parts, axis=1).astype(jnp.float32)


def _chef_features(layout: Layout, pots: Pot, chef: Chef) -> Int[Array, "29"]:
    holds = [chef.held == Item.ONION, is_soup(chef.held), chef.held == Item.DISH]
    ready = is_ready(layout, pots)
    never = jnp.zeros(2, jnp.int32)
    walls = ~jnp.asarray(layout.is_floor)[chef.cell + jnp.asarray(layout.steps)]
    parts = [
        chef.facing == jnp.arange(len(Direction)),
        jnp.stack(holds),
        _way_to_dispenser(layout, chef, Tile.ONION_DISPENSER, Item.ONION),
        closest(layout, chef, layout.pot_cells, pots.contents.sum(axis=1) == 0)[0],
        never,  # pot with one onion
        never,  # pot with two onions
        closest(layout, chef, layout.pot_cells, is_lit(pots) & ~ready)[0],
        closest(layout, chef, layout.pot_cells, ready)[0],
        _way_to_dispenser(layout, chef, Tile.DISH_DISPENSER, Item.DISH),
        never,  # soup on a counter
        closest(layout, chef, layout.serving_cells)[0],
        walls,
    ]
    return jnp.concatenate([part.astype(jnp.int32) for part in parts])


def _way_to_dispenser(layout: Layout, chef: Chef, dispenser: Tile, item: Item) -> Way:
    way, _, _ = closest(layout, chef, layout.cells_of(dispenser))
    return jnp.where(chef.held == item, 0, way)
