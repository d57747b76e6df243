"""Compiled programs of a server that are ready again soon after a restart.

Compiled code is kept by JAX; most of what is left goes into tracing the Python code of agents and rules. So the traced
program is kept, too, under a name that follows from everything it depends on: the source code of the package, the
version of JAX, and the form of what the program takes. Without a place to keep it, or with a damaged file, it is
traced anew.
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

from cochef.runtime import cache_directory
from cochef.errors import InputError
from cochef.files import write_whole

Flat = Callable[..., Sequence[jax.Array]]


def compiled(function: Callable[..., Any], about: str, *examples: Any) -> Callable[..., list[jax.Array]]:  # noqa: ANN401
    """The function as a compiled program from the leaves of what it takes to the leaves of what it gives.

    `about` says what the function depends on besides its arguments and the source code.
    """
    leaves, tree = jax.tree.flatten(examples)
    forms = [jax.ShapeDtypeStruct(np.shape(leaf), np.asarray(leaf).dtype) for leaf in leaves]

    def flat(*given: Any) -> list[Any]:  # noqa: ANN401
        return jax.tree.leaves(function(*jax.tree.unflatten(tree, given)))

    key = hashlib.sha256("\n".join([jax.__version__, source_digest(), about, str(tree), str(forms)]).encode())
    path = cache_directory().parent / "programs" / f"{key.hexdigest()}.bin"
    traced = _kept(path) or _traced(path, flat, forms)
    program = jax.jit(traced.call).lower(*forms).compile()
    return lambda *given: program(*jax.tree.leaves(given))


def _kept(path: Path) -> export.Exported | None:
    try:
        return export.deserialize(bytearray(path.read_bytes()))
    except Exception:  # whatever is wrong with the file, it is traced anew
        return None


def _traced(path: Path, flat: Flat, forms: Sequence[jax.ShapeDtypeStruct]) -> export.Exported:
    traced = export.export(jax.jit(flat))(*forms)
    with contextlib.suppress(InputError):
        write_whole(path, bytes(traced.serialize()))
    return traced


@cache
def source_digest() -> str:
    """The same for two processes only if they run the same source code."""
    digest, root = hashlib.sha256(), Path(str(resources.files("cochef")))
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
