"""Random states in the middle of play."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.kitchen import layouts, recipes
from cochef.kitchen.constants import POT_CAPACITY, Item
from cochef.kitchen.dynamics import step
from cochef.kitchen.observation import compact, decode
from cochef.kitchen.random_states import random_state
from cochef.randomness import fast

MANY = 2_000


def states(layout):
    keys = jax.random.split(fast(jax.random.key(0)), MANY)
    return jax.jit(jax.vmap(lambda key: random_state(layout, key)))(keys)


@pytest.mark.parametrize("name", layouts.names())
def test_random_states_are_states_that_play_can_reach(name):
    layout = layouts.get(name)
    found = states(layout)
    cells, held, contents, ticks = map(
        np.asarray, (found.chefs.cell, found.chefs.held, found.pots.contents, found.pots.ticks)
    )
    assert (cells[:, 0] != cells[:, 1]).all()
    for seat in range(2):
        assert set(cells[:, seat]) <= set(layout.reachable_by[seat])
    assert (contents.sum(axis=-1) <= POT_CAPACITY).all()
    times = recipes.cooking_times(layout)[contents[..., 0], contents[..., 1]]
    assert ((ticks >= -1) & (ticks <= times)).all()
    assert (contents[ticks >= 0].sum(axis=-1) > 0).all()
    assert {int(Item.NOTHING), int(Item.DISH)} <= set(held.ravel())
    assert (held >= int(Item.SOUP)).any()


def test_random_states_are_told_apart_by_the_compact_vector_and_can_be_played_on():
    layout = layouts.get("many_orders")
    found = states(layout)
    views = jax.vmap(lambda state: compact(layout, state)[0])(found)
    again = jax.vmap(lambda view: decode(layout, view))(views)
    assert all(
        jax.tree.leaves(jax.tree.map(lambda one, two: bool((one == two).all()), found, again))
    )
    after, _ = jax.vmap(lambda state: step(layout, state, jnp.array([5, 5])))(found)
    assert (np.asarray(after.time) == 1).all()


def test_every_key_gives_its_own_state():
    found = states(layouts.get("counter_circuit"))
    rows = np.column_stack([np.asarray(leaf).reshape(MANY, -1) for leaf in jax.tree.leaves(found)])
    assert len(np.unique(rows, axis=0)) > MANY * 0.95
