"""Walking and turning: walls, collisions, swaps."""

import jax.numpy as jnp
from jaxtyping import Array, Int

from cochef.kitchen.constants import Action
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import Chef


def in_front(layout: Layout, chefs: Chef) -> Int[Array, "*batch"]:
    """The cell each chef faces."""
    return chefs.cell + jnp.asarray(layout.steps)[chefs.facing]


def move(layout: Layout, chefs: Chef, actions: Int[Array, "2"]) -> Chef:
    """Both chefs turn where they want to go, and go there if the floor is free and they do not collide."""
    walks = actions < Action.STAY
    facing = jnp.where(walks, actions, chefs.facing)
    ahead = in_front(layout, Chef(chefs.cell, facing, chefs.held))
    wanted = jnp.where(walks & jnp.asarray(layout.is_floor)[ahead], ahead, chefs.cell)
    meet = wanted[0] == wanted[1]
    swap = (wanted[0] == chefs.cell[1]) & (wanted[1] == chefs.cell[0])
    return Chef(jnp.where(meet | swap, chefs.cell, wanted), facing, chefs.held)
