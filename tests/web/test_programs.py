"""Programs that are kept over a restart."""

import jax.numpy as jnp
import numpy as np
import pytest

from cochef.web.programs import compiled


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("COCHEF_CACHE", str(tmp_path))
    return tmp_path / "programs"


def counting(traces):
    def add(one, other):
        traces.append(1)
        return {"sum": one["value"] + other, "product": one["value"] * other}

    return add


def run(traces, context="adding"):
    example = ({"value": np.arange(3, dtype=np.int32)}, np.int32(4))
    product, total = compiled(counting(traces), context, *example)(
        *example
    )  # leaves come in the order of their names
    assert np.asarray(total).tolist() == [4, 5, 6] and np.asarray(product).tolist() == [0, 4, 8]


def test_a_program_is_traced_once_and_then_kept(kept):
    traces = []
    run(traces)
    run(traces)
    assert len(traces) == 1 and len(list(kept.iterdir())) == 1


def test_what_a_program_depends_on_tells_it_from_others(kept):
    traces = []
    run(traces)
    run(traces, context="another")
    assert len(traces) == 2 and len(list(kept.iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"nonsense" * 100])
def test_a_damaged_file_is_traced_anew(kept, damage):
    traces = []
    run(traces)
    (file,) = kept.iterdir()
    file.write_bytes(damage)
    run(traces)
    run(traces)
    assert len(traces) == 2


def test_another_form_of_arguments_is_another_program(kept):
    traces = []
    run(traces)
    example = ({"value": jnp.ones(2)}, np.float32(2))
    compiled(counting(traces), "adding", *example)(*example)
    assert len(traces) == 2
