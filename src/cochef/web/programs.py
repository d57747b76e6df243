"""Compiled programs that a server has ready again soon after a restart.

JAX keeps compiled code on disk; most of the remaining time goes into tracing the Python code of
agents and rules. So the traced program is kept, too, under a name that follows from everything it
depends on: the source code of the package, the version of JAX, and the shapes of its arguments.
Without a place to keep it, or with a damaged file, it is traced anew.
"""

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import export

from cochef.errors import InputError
from cochef.files import write_whole
from cochef.runtime import cache_directory


def compiled(
    function: Callable[..., Any],
    context: str,
    *examples: Any,  # noqa: ANN401
) -> Callable[..., list[jax.Array]]:
    """Compile a function; the program takes what the function takes and gives the result's leaves.

    `context` says what the function depends on besides its arguments and the source code.
    """
    leaves, tree = jax.tree.flatten(examples)
    shapes = [jax.ShapeDtypeStruct(np.shape(leaf), np.asarray(leaf).dtype) for leaf in leaves]

    def flat(*given: Any) -> list[Any]:  # noqa: ANN401
        return jax.tree.leaves(function(*jax.tree.unflatten(tree, given)))

    depends_on = [jax.__version__, source_digest(), context, str(tree), str(shapes)]
    key = hashlib.sha256("\n".join(depends_on).encode()).hexdigest()
    path = cache_directory().parent / "programs" / f"{key}.bin"
    traced = _kept(path) or _traced(path, flat, shapes)
    program = jax.jit(traced.call).lower(*shapes).compile()

    def run(*given: Any) -> list[jax.Array]:  # noqa: ANN401
        return program(*jax.tree.leaves(given))

    return run


def _kept(path: Path) -> export.Exported | None:
    try:
        return export.deserialize(bytearray(path.read_bytes()))
    except Exception:  # whatever is wrong with the file, it is traced anew
        return None


def _traced(
    path: Path, flat: Callable[..., Any], shapes: Sequence[jax.ShapeDtypeStruct]
) -> export.Exported:
    traced = export.export(jax.jit(flat))(*shapes)
    with contextlib.suppress(InputError):
        write_whole(path, bytes(traced.serialize()))
    return traced


@cache
def source_digest() -> str:
    """A checksum of the package's source code."""
    digest = hashlib.sha256()
    root = Path(str(resources.files("cochef")))
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
