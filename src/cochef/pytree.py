"""Frozen dataclasses that JAX can look into."""

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeVar, dataclass_transform

import jax

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def pytree(cls: type[T]) -> type[T]:
    """Make `cls` a frozen dataclass whose fields are all children of a JAX tree."""
    cls = dataclasses.dataclass(frozen=True)(cls)
    names = tuple(field.name for field in dataclasses.fields(cls))  # pyright: ignore[reportArgumentType]

    def flatten(tree: Any) -> tuple[tuple[Any, ...], None]:  # noqa: ANN401
        return tuple(getattr(tree, name) for name in names), None

    def flatten_with_keys(tree: Any) -> tuple[tuple[tuple[Any, Any], ...], None]:  # noqa: ANN401
        return tuple((jax.tree_util.GetAttrKey(name), getattr(tree, name)) for name in names), None

    def unflatten(_: None, children: Iterable[Any]) -> T:
        # Not through __init__: JAX also builds trees of axes, shapes and sentinels, which fit
        # no annotation.
        tree = object.__new__(cls)
        tree.__dict__.update(zip(names, children, strict=True))
        return tree

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls
