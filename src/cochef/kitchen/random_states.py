"""Random states in the middle of an episode, which ordinary play rarely reaches.

Learners that begin some episodes there explore more of the game.
"""

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
    """Draw where chefs stand, what they hold, and how far pots are; counters are empty."""
    first = start(layout)
    pots = len(layout.pot_cells)
    bits = jax.random.bits(key, (3 * SEATS + 2 * pots,))
    sizes = np.cumsum([SEATS, SEATS, SEATS, pots])
    where, facing, hands, fillings, cooked = jnp.split(bits, sizes)

    drawn = [_pick(sorted(layout.reachable_by[seat]), where[seat]) for seat in range(SEATS)]
    cells = jnp.stack(drawn)
    # Two chefs cannot share a cell: if they would, both stand where episodes begin.
    cells = jnp.where(cells[0] == cells[1], first.chefs.cell, cells)

    contents = _pick(_fillings(layout), fillings)
    ordered = jnp.asarray([order.contents for order in layout.orders])
    full = (contents[:, None] == ordered).all(axis=-1).any(axis=-1)
    lit = full & ((layout.cooking is Cooking.AUTOMATIC) | (cooked % 2 == 0))
    time_choices = (cooking_time(layout, contents) + 1).astype(jnp.uint32)
    ticks = jnp.where(lit, cooked // 2 % time_choices, -1)
    return State(
        chefs=Chef(
            cell=cells,
            facing=(facing % len(Direction)).astype(jnp.int32),
            held=_pick(_hands(layout), hands),
        ),
        pots=Pot(contents, ticks.astype(jnp.int32)),
        counters=first.counters,
        time=first.time,
    )


def _pick(choices: list, bits: UInt32[Array, "*many"]) -> Int[Array, "*many_rest"]:
    """One of the choices for each of the random words."""
    return jnp.asarray(choices, jnp.int32)[bits % len(choices)]


def _hands(layout: Layout) -> list[int]:
    """What a hand may hold: nothing, a dispensed item, or an ordered soup, about as often."""
    given = sorted({int(item) for item in layout.dispensed if item != Item.NOTHING})
    with jax.ensure_compile_time_eval():
        soups = [int(soup(jnp.array(order.contents))) for order in layout.orders]
    repeated_soups = [soups[number % len(soups)] for number in range(len(given))]
    return [int(Item.NOTHING)] * len(given) + given + repeated_soups


def _fillings(layout: Layout) -> list[tuple[int, int]]:
    """What may be in a pot: nothing, part of an order, or a whole one."""
    parts = {
        (onions, tomatoes)
        for order in layout.orders
        for onions in range(order.contents[0] + 1)
        for tomatoes in range(order.contents[1] + 1)
    }
    return sorted(parts)
