"""Using what stands in front of a chef: one function per kind of station.

Each function takes the item in the chef's hand and gives the item afterwards, with the station's
new contents and a flag for every event. A station that the chef does not face changes nothing. A
chef that does not interact faces NOWHERE, which no station matches.
"""

from collections.abc import Mapping

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from cochef.kitchen import recipes
from cochef.kitchen.constants import POT_CAPACITY, Cooking, Item
from cochef.kitchen.events import Event
from cochef.kitchen.items import ingredients_of, is_soup, look_up_contents, soup
from cochef.kitchen.layout import Layout
from cochef.kitchen.pots import cooking_time
from cochef.kitchen.state import Pot
from cochef.kitchen.tables import look_up

NOWHERE = -1

Hand = Int[Array, ""]
Cell = Int[Array, ""]
EventFlags = Mapping[Event, Bool[Array, ""]]  # which events a chef's interact brought about


def use_counter(
    layout: Layout, front: Cell, hand: Hand, counters: Int[Array, " counters"]
) -> tuple[Hand, Int[Array, " counters"], EventFlags]:
    """Put down on an empty counter, or take what lies there: hand and counter swap their items."""
    here = jnp.asarray(layout.counter_cells) == front
    lying = jnp.sum(jnp.where(here, counters, Item.NOTHING))
    put = here.any() & (hand != Item.NOTHING) & (lying == Item.NOTHING)
    take = (hand == Item.NOTHING) & (lying != Item.NOTHING)
    events = {
        Event.PUT_ONION_ON_COUNTER: put & (hand == Item.ONION),
        Event.PUT_TOMATO_ON_COUNTER: put & (hand == Item.TOMATO),
        Event.PUT_DISH_ON_COUNTER: put & (hand == Item.DISH),
        Event.PUT_SOUP_ON_COUNTER: put & is_soup(hand),
        Event.PICKUP_ONION_FROM_COUNTER: take & (lying == Item.ONION),
        Event.PICKUP_TOMATO_FROM_COUNTER: take & (lying == Item.TOMATO),
        Event.PICKUP_DISH_FROM_COUNTER: take & (lying == Item.DISH),
        Event.PICKUP_SOUP_FROM_COUNTER: take & is_soup(lying),
    }
    swaps = put | take
    return jnp.where(swaps, lying, hand), jnp.where(here & swaps, hand, counters), events


def use_dispenser(layout: Layout, front: Cell, hand: Hand) -> tuple[Hand, EventFlags]:
    """Take with an empty hand what the dispenser gives."""
    offered = jnp.where(front == NOWHERE, Item.NOTHING, look_up(layout.dispensed, front))
    taken = jnp.where(hand == Item.NOTHING, offered, Item.NOTHING)
    events = {
        Event.PICKUP_ONION_FROM_DISPENSER: taken == Item.ONION,
        Event.PICKUP_TOMATO_FROM_DISPENSER: taken == Item.TOMATO,
        Event.PICKUP_DISH_FROM_DISPENSER: taken == Item.DISH,
    }
    return jnp.where(taken != Item.NOTHING, taken, hand), events


def use_pot(layout: Layout, front: Cell, hand: Hand, pots: Pot) -> tuple[Hand, Pot, EventFlags]:
    """Add an ingredient, plate a ready soup, or (manual cooking, empty hand) start the fire."""
    here = jnp.asarray(layout.pot_cells) == front
    old = jnp.sum(jnp.where(here[:, None], pots.contents, 0), axis=0)
    ticks = jnp.max(jnp.where(here, pots.ticks, -1))
    items = old.sum()
    idle = here.any() & (ticks < 0)

    adding = jnp.stack([hand == Item.ONION, hand == Item.TOMATO])
    adds = idle & adding.any() & (items < POT_CAPACITY)
    plates = (ticks >= cooking_time(layout, old)) & (hand == Item.DISH)
    if layout.cooking is Cooking.AUTOMATIC:
        starts = adds & (items == POT_CAPACITY - 1)
    else:
        starts = idle & (hand == Item.NOTHING) & (items > 0)

    new = old + jnp.where(adds, adding, 0)
    contents = jnp.where(here[:, None], jnp.where(plates, 0, new), pots.contents)
    ticks = jnp.where(here, jnp.where(plates, -1, jnp.where(starts, 0, ticks)), pots.ticks)
    hand = jnp.where(adds, Item.NOTHING, jnp.where(plates, soup(old), hand))
    events = {Event.SOUP_PICKUP: plates, **_placement(layout, adds, adding, old, new)}
    return hand, Pot(contents, ticks), events


def _placement(
    layout: Layout,
    adds: Bool[Array, ""],
    adding: Bool[Array, "2"],
    old: Int[Array, "2"],
    new: Int[Array, "2"],
) -> EventFlags:
    """What a placement did to the best order that the pot can still become."""
    reachable = recipes.reachable_values(layout)
    before = look_up_contents(reachable, old)
    after = look_up_contents(reachable, new)
    onion = adds & adding[0]
    tomato = adds & adding[1]
    optimal = after == before
    empty = old.sum() == 0
    # No order can be reached any more, so nothing that is added is a step towards one.
    spoilt = before == 0
    return {
        Event.PLACEMENT_IN_POT: adds,
        Event.VIABLE_PLACEMENT: adds & (after > 0),
        Event.OPTIMAL_PLACEMENT: adds & optimal,
        Event.CATASTROPHIC_PLACEMENT: adds & ~spoilt & (after == 0),
        Event.USELESS_PLACEMENT: adds & spoilt,
        Event.POTTING_ONION: onion,
        Event.POTTING_TOMATO: tomato,
        Event.TOMATO_IN_EMPTY_POT: tomato & empty,
        Event.OPTIMAL_TOMATO_PLACEMENT: tomato & optimal & ~spoilt,
    }


def use_serving(
    layout: Layout, front: Cell, hand: Hand
) -> tuple[Hand, Float[Array, ""], EventFlags]:
    """Serve a soup; it pays its order's value, or nothing without such an order."""
    serves = (jnp.asarray(layout.serving_cells) == front).any() & is_soup(hand)
    value = look_up_contents(recipes.values(layout), ingredients_of(hand))
    pay = jnp.where(serves, value, 0.0)
    return jnp.where(serves, Item.NOTHING, hand), pay, {Event.DELIVERY: serves}
