"""The registry: every method describes itself, and can be listed without loading JAX."""

import subprocess
import sys
from pathlib import Path

import pytest

from cochef import methods
from cochef.errors import InputError
from cochef.methods.parts.method import Method

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"
LISTED_WITHOUT_JAX = """
import sys
from cochef import methods
for name in methods.names():
    print(name, methods.summary(name))
assert "jax" not in sys.modules, "JAX was loaded"
"""


def test_the_papers_methods_are_there():
    assert set(methods.names()) >= {"sp", "fcp", "mep", "trajdiv", "hsp"}
    assert tuple(method.name for method in methods.every()) == methods.names()


@pytest.mark.parametrize("name", methods.names())
def test_a_method_has_the_name_of_its_module_and_describes_itself(name):
    method = methods.get(name)
    assert isinstance(method, Method)
    assert method.name == name
    assert method.title
    assert method.citation[-4:].isdigit()  # authors and year
    assert method.summary == methods.summary(name)
    # One sentence: it ends with a full stop, and has no other.
    assert method.summary.endswith(".")
    assert method.summary.count(". ") == 0
    assert len(method.summary) < 100


@pytest.mark.parametrize("name", methods.names())
def test_the_glossary_cites_a_method_as_the_registry_does(name):
    assert f"({methods.get(name).citation})" in GLOSSARY.read_text("utf-8")


@pytest.mark.parametrize("method", methods.every(), ids=methods.names())
def test_sizes_variants_and_limits_name_sizes_that_a_method_has(method):
    for scale in ("full", "small", "tiny"):
        sizes = method.sizes(scale)
        assert all(size >= 1 for size in sizes.values())
        for variant in method.variants.values():
            assert variant(sizes).keys() == sizes.keys()
        for smaller, larger in method.limits.items():
            assert sizes[smaller] <= sizes[larger]
    assert len(method.sizes("full")) == len(method.populations) + len(method.pool_sizes)


@pytest.mark.parametrize("method", methods.every(), ids=methods.names())
def test_variants_are_known_and_change_the_pool(method):
    assert set(method.variants) <= {"double", "no-filter", "no-mep"}
    assert bool(method.variants) == (method.pool is not None)
    sizes = method.sizes("full")
    for variant in method.variants.values():
        assert variant(sizes) != sizes
    names = [population.name for population in method.populations]
    assert len(set(names)) == len(names)


def test_an_unknown_method_is_refused_with_the_known_ones():
    known = ", ".join(methods.names())
    for function in (methods.get, methods.summary):
        with pytest.raises(InputError, match=f"^unknown method 'xyz'; known: {known}$"):
            function("xyz")


def test_names_and_summaries_load_no_jax():
    done = subprocess.run(
        [sys.executable, "-c", LISTED_WITHOUT_JAX], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    listed = [f"{name} {methods.summary(name)}" for name in methods.names()]
    assert done.stdout.splitlines() == listed
