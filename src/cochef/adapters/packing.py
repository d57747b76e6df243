"""Trees of arrays over many kitchens as few arrays, because each that a program returns costs time.

JAX makes an object of every array that a compiled program returns, which takes two microseconds:
for the dozen arrays of a state as long as stepping it.
"""

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped

_WORDS = ("int32", "uint32", "float32")  # types that are as long as the packed array's


@dataclass(frozen=True)
class _Form:
    """What a packed tree was: its structure, and shape and type of each leaf."""

    structure: Any
    leaves: tuple[tuple[tuple[int, ...], Any], ...]


@jax.tree_util.register_pytree_node_class
class Packed:
    """A tree in one array of numbers, [rows, kitchens], and the leaves that do not fit into it."""

    def __init__(
        self, form: _Form, words: Int[Array, "rows kitchens"], others: tuple[Array, ...]
    ) -> None:
        """Use `pack`."""
        self._form = form
        self._words = words
        self._others = others

    def unpack(self) -> Any:  # noqa: ANN401
        """The tree as it was."""
        leaves = []
        others = iter(self._others)
        row = 0
        for shape, dtype in self._form.leaves:
            if not _fits(dtype):
                leaves.append(next(others))
                continue
            rows = math.prod(shape[:-1])
            leaves.append(_from_words(self._words[row : row + rows], shape, dtype))
            row += rows
        return jax.tree.unflatten(self._form.structure, leaves)

    def tree_flatten(self) -> tuple[tuple[Any, ...], _Form]:
        """The arrays, for JAX."""
        return (self._words, *self._others), self._form

    @classmethod
    def tree_unflatten(cls, form: _Form, children: tuple[Any, ...]) -> "Packed":
        """The tree that these are the arrays of, for JAX."""
        return cls(form, children[0], tuple(children[1:]))


def pack(tree: Any) -> Packed:  # noqa: ANN401
    """Pack a tree whose leaves have the kitchens as their last axis."""
    leaves, structure = jax.tree.flatten(tree)
    form = _Form(structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves))
    words = [_to_words(leaf) for leaf in leaves if _fits(leaf.dtype)]
    others = tuple(leaf for leaf in leaves if not _fits(leaf.dtype))
    return Packed(form, jnp.concatenate(words), others)


def _fits(dtype: Any) -> bool:  # noqa: ANN401
    return dtype == np.bool_ or dtype in _WORDS


def _to_words(leaf: Shaped[Array, "*some kitchens"]) -> Int[Array, "rows kitchens"]:
    flat = leaf.reshape(math.prod(leaf.shape[:-1]), leaf.shape[-1])
    if leaf.dtype == np.bool_:
        return flat.astype(jnp.int32)
    return jax.lax.bitcast_convert_type(flat, jnp.int32)


def _from_words(
    words: Int[Array, "rows kitchens"],
    shape: tuple[int, ...],
    dtype: Any,  # noqa: ANN401
) -> Shaped[Array, "*some kitchens"]:
    if dtype == np.bool_:
        return (words != 0).reshape(shape)
    return jax.lax.bitcast_convert_type(words, dtype).reshape(shape)
