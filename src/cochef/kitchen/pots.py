"""Questions about pots that rules and observations share."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from cochef.kitchen import recipes
from cochef.kitchen.items import look_up_contents
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import Pot


def cooking_time(layout: Layout, contents: Int[Array, "*batch 2"]) -> Int[Array, "*batch"]:
    """How many ticks a soup of these contents cooks."""
    return look_up_contents(recipes.cooking_times(layout), contents)


def is_lit(pots: Pot) -> Bool[Array, "*batch"]:
    """Whether a pot is cooking or ready."""
    return pots.ticks >= 0


def time_left(layout: Layout, pots: Pot) -> Int[Array, "*batch"]:
    """Ticks until the soup is ready; 0 when it is, and while the pot is idle."""
    return jnp.where(is_lit(pots), cooking_time(layout, pots.contents) - pots.ticks, 0)


def is_ready(layout: Layout, pots: Pot) -> Bool[Array, "*batch"]:
    """Whether the soup in a pot can be plated."""
    return is_lit(pots) & (pots.ticks >= cooking_time(layout, pots.contents))
