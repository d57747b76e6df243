"""Entries of small fixed tables."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped

# With more of them indexing is faster, and programs would become long.
_MOST_COMPARISONS = 32


def look_up(
    table: Shaped[np.ndarray, " entries"], number: Int[Array | np.ndarray, "*batch"]
) -> Shaped[Array, "*batch"]:
    """The entry of a table with this number.

    It is found by comparing the number with those of all entries that differ from the most common
    one: a CPU compares many kitchens in one instruction, but indexes one after the other.
    """
    values, counts = np.unique(table, return_counts=True)
    usual = values[counts.argmax()]
    others = np.flatnonzero(table != usual)
    if len(others) > _MOST_COMPARISONS:
        return jnp.asarray(table)[number]
    found = jnp.full(number.shape, usual, table.dtype)
    for other in others:
        found = jnp.where(number == int(other), table[other], found)
    return found
