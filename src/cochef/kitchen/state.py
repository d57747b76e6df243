"""What changes in a kitchen from step to step."""

import jax.numpy as jnp
from jaxtyping import Array, Int

from cochef.kitchen.constants import INGREDIENTS, SEATS, Direction, Item
from cochef.kitchen.layout import Layout
from cochef.pytree import pytree


@pytree
class Chef:
    """A chef: the cell it stands on (y * width + x), where it looks, what it holds."""

    cell: Int[Array, "*batch"]
    facing: Int[Array, "*batch"]
    held: Int[Array, "*batch"]


@pytree
class Pot:
    """A cooking pot: how many of each ingredient, and ticks since cooking began (-1 while idle)."""

    contents: Int[Array, "*batch ingredients"]
    ticks: Int[Array, "*batch"]


@pytree
class State:
    """A kitchen at one moment: chefs, pots and reachable counters in row-major order, and time."""

    chefs: Chef
    pots: Pot
    counters: Int[Array, "*batch counters"]
    time: Int[Array, "*batch"]


def start(layout: Layout) -> State:
    """The state every episode begins with: chefs look north, nothing lies or cooks anywhere."""
    pots = len(layout.pot_cells)
    return State(
        chefs=Chef(
            cell=jnp.asarray(layout.start_cells, jnp.int32),
            facing=jnp.full(SEATS, int(Direction.NORTH), jnp.int32),
            held=jnp.full(SEATS, int(Item.NOTHING), jnp.int32),
        ),
        pots=Pot(
            contents=jnp.zeros((pots, INGREDIENTS), jnp.int32), ticks=jnp.full(pots, -1, jnp.int32)
        ),
        counters=jnp.full(len(layout.counter_cells), int(Item.NOTHING), jnp.int32),
        time=jnp.int32(0),
    )


def seen_from(state: State, seat: Int[Array, ""]) -> State:
    """The state with the chef of a seat first, so that whoever sits there can act as seat 0."""

    def first(leaf: Array) -> Array:
        return jnp.where(seat == 0, leaf, leaf[::-1])

    chefs = state.chefs
    mirrored = Chef(first(chefs.cell), first(chefs.facing), first(chefs.held))
    return State(mirrored, state.pots, state.counters, state.time)
