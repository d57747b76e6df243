"""The ladder is climbed with optimised programs: running takes longer than compiling here."""

import jax
import pytest


@pytest.fixture(scope="module", autouse=True)
def optimised():
    name = "jax_disable_most_optimizations"
    before = jax.config.read(name)
    jax.config.update(name, False)
    yield
    jax.config.update(name, before)
