"""Items as numbers: what a plated soup is made of."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Shaped

from cochef.kitchen.constants import POT_CAPACITY, Item
from cochef.kitchen.tables import look_up

_RADIX = POT_CAPACITY + 1


def soup(contents: Int[Array, "*batch 2"]) -> Int[Array, "*batch"]:
    """The item that a dish becomes when a soup of these contents is plated."""
    return Item.SOUP + contents[..., 0] + _RADIX * contents[..., 1]


def is_soup(item: Int[Array, "*batch"]) -> Bool[Array, "*batch"]:
    """Whether an item is a plated soup."""
    return item >= Item.SOUP


def ingredients_of(item: Int[Array, "*batch"]) -> Int[Array, "*batch 2"]:
    """Onions and tomatoes in a plated soup; zeros for anything else."""
    code = jnp.where(is_soup(item), item - Item.SOUP, 0)
    return jnp.stack([code % _RADIX, code // _RADIX], axis=-1)


def look_up_contents(
    table: Shaped[np.ndarray, "4 4"], contents: Int[Array, "*batch 2"]
) -> Shaped[Array, "*batch"]:
    """The entry of a table over pot fillings."""
    return look_up(table.ravel(), contents[..., 0] * _RADIX + contents[..., 1])
