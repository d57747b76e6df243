import jax
import jax.numpy as jnp
import numpy as np

from cochef.adapters.packing import pack


def test_a_packed_tree_comes_back_whole_whatever_its_types():
    tree = {
        "numbers": jnp.array([[-1, 2**31 - 1], [0, 5]], jnp.int32),
        "bits": jnp.array([2**32 - 1, 7], jnp.uint32),
        "floats": jnp.array([[[0.1, -3e38]], [[jnp.inf, 1e-40]]], jnp.float32),
        "truths": jnp.array([[True, False]]),
        "none": jnp.zeros((0, 2), jnp.float32),  # an agent without recurrent state
        "bytes": jnp.array([[200, 3]], jnp.uint8),  # these stay as they are
    }
    packed = jax.jit(pack)(tree)
    assert len(jax.tree.leaves(packed)) == 2
    back = jax.jit(lambda one: one.unpack())(packed)
    assert back.keys() == tree.keys()
    for name, leaf in tree.items():
        assert back[name].dtype == leaf.dtype, name
        assert np.array_equal(np.asarray(back[name]), np.asarray(leaf)), name
