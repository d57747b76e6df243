"""Agent files: one safetensors file for each agent, never a pickle.

The file's header holds a card (JSON) with the kind of agent, its layout, its config and any further
metadata, and a checksum of the card and the parameters.
"""

import hashlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
from safetensors.numpy import save as to_bytes

from cochef import validation
from cochef.errors import InputError, shown
from cochef.files import read_limited, write_whole
from cochef.kitchen.layout import Layout, Position

SUFFIX = ".safetensors"
MAX_BYTES = 1024**3

_MAX_FLOOR = 150  # cells; all pairs of them are tried as starts, a second at most

_CARD = "cochef"  # the card's key in the header
_ENTRIES = ("kind", "layout", "fingerprint", "config", "metadata")
_TYPES = {"F32": np.float32, "F16": np.float16, "I32": np.int32, "U8": np.uint8, "BOOL": np.bool_}


@dataclass(frozen=True)
class Card:
    """What an agent file says about the agent."""

    kind: str
    layout: str
    fingerprint: str  # of the layout's grid and rules
    config: Mapping[str, Any] = field(default_factory=dict)  # needed to build the agent
    metadata: Mapping[str, Any] = field(default_factory=dict)  # how it was made


StoredAgent = tuple[Card, Mapping[str, np.ndarray]]  # as `read` returns it


def save(path: Path, card: Card, parameters: Any) -> None:  # noqa: ANN401
    """Write an agent's card and parameters (a tree of arrays), completely or not at all."""
    tensors = {name: np.asarray(leaf) for name, leaf in _named_leaves(parameters)}
    text = json.dumps(vars(card), sort_keys=True)
    content = to_bytes(tensors, metadata={_CARD: text, "sha256": _checksum(text, tensors)})
    write_whole(path, _with_sorted_header(content))


def _with_sorted_header(content: bytes) -> bytes:
    """The same file with its header in one order: safetensors writes metadata in a random one.

    So equal agents have equal files, and equal checksums of files.
    """
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    padded = text + b" " * (-len(text) % 8)  # tensors begin at a multiple of 8 bytes
    return len(padded).to_bytes(8, "little") + padded + content[end:]


def checksum(card: Card, tensors: Mapping[str, np.ndarray]) -> str:
    """Checksum of an agent file's content: of the card and the arrays."""
    return _checksum(json.dumps(vars(card), sort_keys=True), tensors)


def read(path: Path) -> tuple[Card, dict[str, np.ndarray]]:
    """Read the card and the arrays of an agent file, and verify the checksum."""
    content = read_limited(path, MAX_BYTES, "an agent file")
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        tensors = {
            name: np.frombuffer(entry["data"], _TYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in safetensors.deserialize(content)
        }
        text = header["__metadata__"][_CARD]
        intact = header["__metadata__"]["sha256"] == _checksum(text, tensors)
    except (
        safetensors.SafetensorError,
        ValueError,
        KeyError,
        TypeError,
        RecursionError,
    ) as error:
        raise InputError(
            f"{path}: not an agent file, or cut short ({type(error).__name__}); save it again"
        ) from error
    if not intact:
        raise InputError(
            f"{path}: damaged, its checksum does not match; take it from a backup or train it again"
        )
    return _card(text, path), tensors


def read_kind(
    path: Path, kind: str, layout: Layout, takes: str
) -> tuple[Card, dict[str, np.ndarray]]:
    """Read a file that must be of a kind, for a layout; `takes` says in the error who wants it."""
    card, tensors = read(path)
    if card.kind != kind:
        raise InputError(f"{path}: a file of kind {shown(card.kind)}; {takes}")
    check_layout(card, layout, path)
    return card, tensors


def fill(skeleton: Any, tensors: Mapping[str, np.ndarray], path: Path) -> Any:  # noqa: ANN401
    """The tree `skeleton` with a file's arrays in it; names, shapes and types must match."""
    expected = dict(_named_leaves(skeleton))
    if expected.keys() != tensors.keys():
        odd = min(expected.keys() ^ tensors.keys())
        problem = "missing" if odd in expected else "unknown"
        raise InputError(f"{path}: array {odd!r} is {problem} for its configuration")
    for name, leaf in expected.items():
        found = tensors[name]
        if found.shape != leaf.shape or found.dtype != leaf.dtype:
            raise InputError(
                f"{path}: array {name!r} is {found.dtype}{list(found.shape)}; "
                f"it takes {leaf.dtype}{list(leaf.shape)}"
            )
        if not np.isfinite(found).all():
            raise InputError(f"{path}: array {name!r} holds a number that is not finite")
    arrays = [jnp.asarray(tensors[name]) for name in expected]
    return jax.tree.unflatten(jax.tree.structure(skeleton), arrays)


def by_name(
    files: Sequence[Mapping[str, np.ndarray]], join: Callable[[list[np.ndarray]], np.ndarray]
) -> dict[str, np.ndarray]:
    """The arrays of several files as one table: `join` makes one array of those of a name."""
    joined = {}
    for name in files[0]:
        joined[name] = join([tensors[name] for tensors in files])
    return joined


def check_layout(card: Card, layout: Layout, path: Path) -> None:
    """Refuse an agent that was made for another layout."""
    if card.fingerprint == layout.fingerprint:
        return
    namesake = card.layout == layout.name
    made_for = f"another layout called {card.layout}" if namesake else card.layout
    refusal = f"{path}: this agent was made for {made_for}, not for {layout.name}"
    starts = _starts_of(card.fingerprint, layout)
    if starts is not None:
        made, here = _described(starts), _described(layout.starts)
        refusal += f"; only the starts differ: {made} there, {here} here"
    raise InputError(refusal)


def _starts_of(fingerprint: str, layout: Layout) -> tuple[Position, Position] | None:
    """Where the chefs begin in the layout of a fingerprint, if nothing else differs."""
    floor = [layout.position(cell) for cell in layout.floor_cells]
    if len(floor) > _MAX_FLOOR:
        return None
    for starts in itertools.permutations(floor, 2):
        if replace(layout, starts=starts).fingerprint == fingerprint:
            return starts
    return None


def _described(starts: tuple[Position, Position]) -> str:
    cells = [f"column {x + 1}, row {y + 1}" for x, y in starts]
    return " and ".join(cells)


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
    if not isinstance(table, dict) or table.keys() != set(_ENTRIES):
        raise InputError(
            f"{path}: its card is of another version, not with {', '.join(_ENTRIES)}; save it again"
        )
    for name in _ENTRIES:
        check = validation.table if name in ("config", "metadata") else validation.text
        check(table[name], f"{path}: {name} in its card")
    return Card(**table)
