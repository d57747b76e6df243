"""Kitchens in the middle of things: random states from which learners get to know what ordinary play rarely reaches."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key, UInt32

from cochef.kitchen.constants import SEATS, Cooking, Direction, Item
from cochef.kitchen.items import soup
from cochef.kitchen.layout import Layout
from cochef.kitchen.pots import cooking_time
from cochef.kitchen.state import Chef, Pot, State, start


def random_state(layout: Layout, key: Key[Array, ""]) -> State:
    """Chefs anywhere they can get to, with anything in hand; pots empty, begun, cooking or ready; counters empty."""
    first, pots = start(layout), len(layout.pot_cells)
    chance = jax.random.bits(key, (3 * SEATS + 2 * pots,))
    where, facing, hands, fillings, cooked = jnp.split(
        chance, np.cumsum([SEATS, SEATS, SEATS, pots])
    )
    cells = jnp.stack(
        [_pick(sorted(layout.reachable_by[seat]), where[seat]) for seat in range(SEATS)]
    )
    meet = cells[0] == cells[1]
    contents = _pick(_fillings(layout), fillings)
    full = (
        (contents[:, None] == jnp.asarray([order.contents for order in layout.orders]))
        .all(axis=-1)
        .any(axis=-1)
    )
    lit = full & ((layout.cooking is Cooking.AUTOMATIC) | (cooked % 2 == 0))
    ticks = jnp.where(
        lit, cooked // 2 % (cooking_time(layout, contents) + 1).astype(jnp.uint32), -1
    )
    return State(
        chefs=Chef(
            cell=jnp.where(meet, first.chefs.cell, cells),
            facing=(facing % len(Direction)).astype(jnp.int32),
            held=_pick(_hands(layout), hands),
        ),
        pots=Pot(contents, ticks.astype(jnp.int32)),
        counters=first.counters,
        time=first.time,
    )


def _pick(choices: list, chance: UInt32[Array, "*many"]) -> Int[Array, "*many_rest"]:
    return jnp.asarray(choices, jnp.int32)[chance % len(choices)]


def _hands(layout: Layout) -> list[int]:
    """What a hand may hold: nothing, what dispensers give, and what is ordered, all about as often."""
    given = sorted({int(item) for item in layout.dispensed if item != Item.NOTHING})
    with jax.ensure_compile_time_eval():
        soups = [int(soup(jnp.array(order.contents))) for order in layout.orders]
    return (
        [int(Item.NOTHING)] * len(given)
        + given
        + [soups[number % len(soups)] for number in range(len(given))]
    )


def _fillings(layout: Layout) -> list[tuple[int, int]]:
    """What may be in a pot: nothing, part of an order, or a whole one."""
    parts = {
        (onions, tomatoes)
        for order in layout.orders
        for onions in range(order.contents[0] + 1)
        for tomatoes in range(order.contents[1] + 1)
    }
    return sorted(parts)
