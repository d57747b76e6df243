"""Agents on disk: one safetensors file each, with a card that says what it is. No pickle on any path.

The card (JSON in the file's header) names the kind of agent, the kitchen it belongs to, its configuration, and
whatever its maker wants to tell; a checksum covers the card and the parameters.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
from safetensors.numpy import save as to_bytes

from cochef.errors import InputError, shown
from cochef.files import read_limited, write_whole
from cochef.kitchen.layout import Layout

SUFFIX = ".safetensors"
MAX_BYTES = 1024**3

_KEY = "cochef"
_ENTRIES = {"kind": str, "layout": str, "fingerprint": str, "config": dict, "about": dict}
_TYPES = {"F32": np.float32, "I32": np.int32, "U8": np.uint8, "BOOL": np.bool_}


@dataclass(frozen=True)
class Card:
    """What an agent file says about itself."""

    kind: str
    layout: str
    fingerprint: str  # of the kitchen's rules and grid
    config: Mapping[str, Any] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)


def save(path: Path, card: Card, parameters: Any) -> None:  # noqa: ANN401
    """Write an agent's card and parameters (a tree of arrays); the file is there whole or not at all."""
    tensors = {name: np.asarray(leaf) for name, leaf in _named_leaves(parameters)}
    text = json.dumps(vars(card), sort_keys=True)
    content = to_bytes(tensors, metadata={_KEY: text, "sha256": _checksum(text, tensors)})
    write_whole(path, content)


def checksum(card: Card, tensors: Mapping[str, np.ndarray]) -> str:
    """What tells the content of an agent file from another; the bytes of equal files may differ in order."""
    return _checksum(json.dumps(vars(card), sort_keys=True), tensors)


def read(path: Path) -> tuple[Card, dict[str, np.ndarray]]:
    """The card and the arrays in an agent file, checked against its checksum."""
    content = read_limited(path, MAX_BYTES, "an agent file")
    try:
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
        tensors = {
            name: np.frombuffer(entry["data"], _TYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in safetensors.deserialize(content)
        }
        text = metadata[_KEY]
        intact = metadata["sha256"] == _checksum(text, tensors)
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: not an agent file, or cut short ({type(error).__name__}); save it again") from error
    if not intact:
        raise InputError(f"{path}: damaged, its checksum does not match; take it from a backup or train it again")
    return _card(text, path), tensors


def fill(skeleton: Any, tensors: Mapping[str, np.ndarray], path: Path) -> Any:  # noqa: ANN401
    """The tree `skeleton` with its arrays replaced by those of a file; names, shapes and types must fit."""
    wanted = dict(_named_leaves(skeleton))
    if wanted.keys() != tensors.keys():
        odd = min(wanted.keys() ^ tensors.keys())
        raise InputError(f"{path}: array {odd!r} is {'missing' if odd in wanted else 'unknown'} for its configuration")
    for name, leaf in wanted.items():
        found = tensors[name]
        if found.shape != leaf.shape or found.dtype != leaf.dtype:
            raise InputError(
                f"{path}: array {name!r} is {found.dtype}{list(found.shape)}; it takes {leaf.dtype}{list(leaf.shape)}"
            )
        if not np.isfinite(found).all():
            raise InputError(f"{path}: array {name!r} holds a number that is not finite")
    return jax.tree.unflatten(jax.tree.structure(skeleton), [jnp.asarray(tensors[name]) for name in wanted])


def check_kitchen(card: Card, layout: Layout, path: Path) -> None:
    """An agent plays only in the kitchen it was made for."""
    if card.fingerprint != layout.fingerprint:
        known_as = card.layout if card.layout != layout.name else f"another kitchen called {card.layout}"
        raise InputError(f"{path}: this agent was made for {known_as}, not for {layout.name}")


def _named_leaves(tree: Any) -> list[tuple[str, Any]]:  # noqa: ANN401
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return [(jax.tree_util.keystr(path, simple=True, separator="."), leaf) for path, leaf in leaves]


def _checksum(text: str, tensors: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        digest.update(f"\n{name} {array.dtype} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _card(text: str, path: Path) -> Card:
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: its card is not JSON ({error}); save it again") from error
    if not isinstance(table, dict) or table.keys() != _ENTRIES.keys():
        raise InputError(f"{path}: its card is of another version, not with {', '.join(_ENTRIES)}; save it again")
    for name, kind in _ENTRIES.items():
        if not isinstance(table[name], kind):
            wanted = "text" if kind is str else "a table"
            raise InputError(f"{path}: {name} in its card is {shown(table[name])}; it takes {wanted}")
    return Card(**table)
