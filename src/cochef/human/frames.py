"""Reading the pickled table of the archive without trusting it.

The file is a pandas table, pickled in 2019. Its objects are rebuilt as inert parts that only keep
what they were made with: no code of pandas or numpy is called by the file, and any other name in it
is refused.
"""

import io
import pickle
from typing import Any

import numpy as np

from cochef.errors import InputError


class _PickledPart:
    """Stands for any object or call in the file: keeps its arguments and state, does nothing."""

    arguments: tuple[Any, ...]
    state: Any = None

    def __new__(cls, *arguments: object) -> "_PickledPart":
        part = super().__new__(cls)
        part.arguments = arguments
        return part

    def __setstate__(self, state: object) -> None:
        self.state = state


_ADMITTED = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("pandas.core.frame", "DataFrame"),
    ("pandas.core.indexes.base", "Index"),
    ("pandas.core.indexes.base", "_new_Index"),
    ("pandas.core.indexes.numeric", "Int64Index"),
    ("pandas.core.internals.managers", "BlockManager"),
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type[_PickledPart]:
        """A part, for a name that the tables of the archive need."""
        if (module, name) not in _ADMITTED:
            allowed = ", ".join(sorted(".".join(pair) for pair in _ADMITTED))
            raise InputError(
                f"the pickle asks for {module}.{name}, which is refused; admitted: {allowed}"
            )
        return _PickledPart


def columns(pickled: bytes) -> dict[str, np.ndarray]:
    """The columns of a pickled table by name."""
    try:
        frame = _Unpickler(io.BytesIO(pickled)).load()
        _, blocks, names, *_ = frame.state["_data"].state
        return {
            name: column
            for index, block in zip(names, blocks, strict=True)
            for name, column in zip(
                _array(index.arguments[1]["data"]).tolist(), _array(block), strict=True
            )
        }
    except InputError:
        raise
    except Exception as error:  # bytes that are no such table can make an unpickler raise anything
        raise InputError(
            f"not a pickled table of games ({type(error).__name__}: {error})"
        ) from error


def _array(part: _PickledPart) -> np.ndarray:
    """The array that a part describes: text and other objects come as a list, numbers as bytes."""
    _, shape, dtype, fortran, content = part.state
    if isinstance(content, list):
        array = np.empty(len(content), object)
        array[:] = content
        return array.reshape(shape)
    kind = np.dtype(dtype.arguments[0])
    return np.frombuffer(content, kind).reshape(shape, order="F" if fortran else "C")
