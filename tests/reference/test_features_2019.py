"""The 62 features of 2019 against the reference's planner, in play of people and anywhere."""

from dataclasses import replace
from functools import partial

import jax
import numpy as np
import pytest

from cochef.errors import InputError
from cochef.human.games import games, replay
from cochef.kitchen import layouts
from cochef.kitchen.features_2019 import features_2019
from cochef.kitchen.state import start
from cochef.kitchen.text import from_json, to_json
from tests.reference.anything import random_state
from tests.reference.engine import Engine

PLAYED = (
    "asymmetric_advantages",
    "coordination_ring",
    "counter_circuit",
    "cramped_room",
    "forced_coordination",
)
# The ways to pots with one onion, with two, and to soups on counters, in both chefs' blocks.
NEVER_SEEN = [11, 12, 13, 14, 21, 22, 40, 41, 42, 43, 50, 51]


def ours(layout, states):
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *states)
    return np.asarray(jax.jit(jax.vmap(partial(features_2019, layout)))(stacked))


def human_states(layout):
    """States of all games of people in a layout, one in 150 steps."""
    found = []
    for trajectory in replay(games(layout.name)):
        moments = range(0, len(trajectory.actions), 150)
        found += [jax.tree.map(lambda leaf, t=t: leaf[t], trajectory.states) for t in moments]
    return found


@pytest.mark.parametrize("name", PLAYED)
def test_the_features_of_2019_are_those_of_the_references_planner(name):
    layout = replace(layouts.get(name), horizon=2_000)  # people played longer than 400 steps
    engine = Engine(layout)
    rng = np.random.default_rng(3)
    anywhere = [from_json(layout, random_state(layout, rng)) for _ in range(150)]
    states = anywhere + human_states(layout)
    theirs = [engine.features_2019(engine.from_json(to_json(layout, state))) for state in states]
    found = ours(layout, states)
    assert np.array_equal(found, np.stack(theirs))
    assert not found[..., NEVER_SEEN].any()
    # Everything else varies, but for walls and one serving tile in the corridors of this layout.
    constant = {index for index in range(62) if np.ptp(found[..., index]) == 0}
    corridors = {23, 27, 28, 52, 56, 57} if name == "forced_coordination" else set()
    assert constant == {*NEVER_SEEN, *corridors}


def test_both_seats_are_told_where_the_first_chef_stands():
    layout = layouts.get("coordination_ring")
    (x, y), _ = layout.starts
    assert ours(layout, [start(layout)])[0, :, 60:].tolist() == [[x, y], [x, y]]


def test_what_lies_on_counters_is_not_seen_and_a_begun_pot_only_as_not_empty():
    layout = layouts.get("cramped_room")
    bare = {"chefs": [[1, 2, "W", None], [3, 2, "E", None]], "pots": [], "counters": [], "t": 9}
    littered = bare | {"counters": [[0, 2, "soup:ooo"], [1, 0, "onion"], [4, 2, "dish"]]}
    begun = bare | {"pots": [[2, 0, "o", -1]]}
    seen, seen_littered, seen_begun = ours(
        layout, [from_json(layout, state) for state in (bare, littered, begun)]
    )
    assert np.array_equal(seen, seen_littered)
    changed = np.flatnonzero((seen != seen_begun).any(axis=0))
    assert set(changed) <= {9, 10, 38, 39}
    assert not seen_begun[:, changed].any()


def test_a_layout_with_tomatoes_is_refused():
    layout = layouts.get("many_orders")
    with pytest.raises(InputError, match=r"many_orders has tomatoes, .* onions only"):
        features_2019(layout, start(layout))
