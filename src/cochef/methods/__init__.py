"""The registry of methods: every module here is one, and defines its `METHOD`.

To add a method, add a module. Names and summaries can be read without loading JAX, so that the
command line is quick; `get` loads a method's module.
"""

import ast
import importlib.util
import pkgutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cochef.validation import known

if TYPE_CHECKING:
    from cochef.methods.parts.method import Method


OWN = "hsp"
"""The method of the paper that the package reproduces; the others are what it is compared with."""


@cache
def names() -> tuple[str, ...]:
    """The names of all methods, which are those of their modules; the paper's own comes first."""
    # `parts` is a package and no method.
    found = [module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg]
    return tuple(sorted(found, key=lambda name: (name != OWN, name)))


@cache
def summary(name: str) -> str:
    """What a method does, in one sentence: the first line of its module."""
    known(name, "method", names())
    spec = importlib.util.find_spec(f"{__name__}.{name}")
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text("utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


@cache
def get(name: str) -> "Method":
    """A method by its name."""
    known(name, "method", names())
    return importlib.import_module(f"{__name__}.{name}").METHOD


def every() -> "tuple[Method, ...]":
    """All methods."""
    return tuple(get(name) for name in names())
