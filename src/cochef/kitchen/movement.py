"""Walking and turning: walls, collisions, swaps."""

import jax.numpy as jnp
from jaxtyping import Array, Int

from cochef.kitchen.constants import Action
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import Chef
from cochef.kitchen.tables import look_up


def in_front(layout: Layout, chefs: Chef) -> Int[Array, "*batch"]:
    """The cell each chef faces."""
    return chefs.cell + look_up(layout.steps, chefs.facing)


def move(layout: Layout, chefs: Chef, actions: Int[Array, "2"]) -> Chef:
    """Turn both chefs to their actions; they walk if the floor is free and they do not collide."""
    walks = actions < Action.STAY
    facing = jnp.where(walks, actions, chefs.facing)
    ahead = in_front(layout, Chef(chefs.cell, facing, chefs.held))
    target = jnp.where(walks & look_up(layout.is_floor, ahead), ahead, chefs.cell)
    meet = target[0] == target[1]
    swap = (target[0] == chefs.cell[1]) & (target[1] == chefs.cell[0])
    return Chef(jnp.where(meet | swap, chefs.cell, target), facing, chefs.held)
