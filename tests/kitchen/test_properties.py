"""What holds in every state of every kitchen, whatever the chefs do.

Each state is drawn with its pots, counters and hands; from there a thousand steps are made at once,
with the chefs in other places and doing other things, mostly using what they face.
"""

import json
from functools import cache
from typing import NamedTuple

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cochef.kitchen import layouts
from cochef.kitchen.constants import POT_CAPACITY, SEATS, Action, Direction, Item, Tile
from cochef.kitchen.dynamics import Outcome, step
from cochef.kitchen.events import Event
from cochef.kitchen.layout import Layout
from cochef.kitchen.movement import in_front
from cochef.kitchen.observation import compact, decode
from cochef.kitchen.state import State
from cochef.kitchen.text import StateError, from_json, to_json
from tests.kitchen.kinds import one_of_each_kind
from tests.kitchen.strategies import EXAMPLES, nearly_states, states

each_layout = pytest.mark.parametrize("name", layouts.names())

STEPS = 1000
COUNTED = ("onion", "tomato", "dish", "soup")

QUICKLY = {"xla_backend_optimization_level": 0}  # there is more to compile than to run

step_one = jax.jit(step, static_argnums=0)
step_many = jax.jit(
    jax.vmap(step, in_axes=(None, 0, 0)), static_argnums=0, compiler_options=QUICKLY
)


class Steps(NamedTuple):
    """Many steps in one kitchen, as arrays with a first axis over them."""

    layout: Layout
    before: State
    actions: np.ndarray
    after: State
    outcome: Outcome

    def happened(self, *names):
        """How many of these events each chef caused: [step, seat]."""
        return sum(self.outcome.events[..., Event[name.upper()]].astype(int) for name in names)


@cache
def doings(layout):
    """Two cells, two directions and two actions for each step."""
    chance = np.random.default_rng(0)
    cells = np.array(
        [chance.choice(layout.floor_cells, SEATS, replace=False) for _ in range(STEPS)], np.int32
    )
    facings = chance.integers(len(Direction), size=(STEPS, SEATS), dtype=np.int32)
    anything = chance.integers(len(Action), size=(STEPS, SEATS), dtype=np.int32)
    return (
        cells,
        facings,
        np.where(chance.random((STEPS, SEATS)) < 0.6, np.int32(Action.INTERACT), anything),
    )


def many_steps(layout, state):
    cells, facings, actions = doings(layout)
    same = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf)[None], STEPS, axis=0), state)
    before = changed(same, cell=cells, facing=facings)
    return Steps(layout, before, actions, *jax.device_get(step_many(layout, before, actions)))


def drawn_steps(data, name):
    layout = layouts.get(name)
    return many_steps(layout, from_json(layout, data.draw(states(layout))))


def changed(state, **arrays):
    """The same with some of its arrays replaced."""
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: arrays.get(path[-1].name, leaf), state
    )


def pick(tree, index):
    return jax.tree.map(lambda leaf: leaf[index], tree)


def equal(one, other):
    same = jax.tree.map(lambda a, b: a.dtype == b.dtype and np.array_equal(a, b), one, other)
    return all(jax.tree.leaves(same))


@each_layout
@EXAMPLES
@given(data=st.data())
def test_a_step_leads_from_a_state_to_a_state_one_tick_later(name, data):
    steps = drawn_steps(data, name)
    assert (steps.after.time == steps.before.time + 1).all()
    items, ticks = steps.after.pots.contents.sum(axis=-1), steps.after.pots.ticks
    assert (items <= POT_CAPACITY).all()
    assert (ticks[items == 0] == -1).all()
    after = pick(steps.after, data.draw(st.integers(0, STEPS - 1)))
    assert equal(jax.device_get(from_json(steps.layout, to_json(steps.layout, after))), after)


@each_layout
@EXAMPLES
@given(data=st.data())
def test_chefs_turn_where_they_want_to_go_walk_one_cell_at_most_and_never_share_one(name, data):
    steps = drawn_steps(data, name)
    was, now, walks = steps.before.chefs.cell, steps.after.chefs.cell, steps.actions < Action.STAY
    ahead = was + np.append(steps.layout.steps, [0, 0])[steps.actions]
    assert (
        steps.after.chefs.facing == np.where(walks, steps.actions, steps.before.chefs.facing)
    ).all()
    assert ((now == was) | (now == ahead)).all()
    assert steps.layout.is_floor[now].all()
    assert (now[:, 0] != now[:, 1]).all()


@each_layout
@EXAMPLES
@given(data=st.data())
def test_nothing_comes_from_nowhere_and_nothing_is_lost(name, data):
    steps = drawn_steps(data, name)
    hands = steps.before.chefs.held
    delivered = np.where(steps.happened("delivery")[..., None], parts(hands), 0).sum(axis=1)
    taken = [
        steps.happened(f"pickup_{item}_from_dispenser").sum(axis=1)
        for item in ("onion", "tomato", "dish")
    ]
    assert (
        belongings(steps.after) - belongings(steps.before) == np.stack(taken, axis=-1) - delivered
    ).all()


def belongings(state):
    """How many onions, tomatoes and dishes there are, also in pots and soups: [step, 3]."""
    in_pots = np.pad(state.pots.contents.sum(axis=1), ((0, 0), (0, 1)))
    return parts(state.chefs.held).sum(axis=1) + parts(state.counters).sum(axis=1) + in_pots


def parts(items):
    """The onions, tomatoes and dishes in items; a soup is one dish and what is in it."""
    soup = items >= Item.SOUP
    onions = np.where(soup, (items - Item.SOUP) % 4, items == Item.ONION)
    tomatoes = np.where(soup, (items - Item.SOUP) // 4, items == Item.TOMATO)
    return np.stack([onions, tomatoes, soup | (items == Item.DISH)], axis=-1)


@each_layout
@EXAMPLES
@given(data=st.data())
def test_events_account_for_what_moves_between_hands_counters_and_pots(name, data):
    steps = drawn_steps(data, name)
    for item, more in zip(COUNTED, lying(steps.after) - lying(steps.before), strict=True):
        put, taken = (
            steps.happened(f"put_{item}_on_counter"),
            steps.happened(f"pickup_{item}_from_counter"),
        )
        assert (more == (put - taken).sum(axis=1)).all()
    plated = np.where(
        steps.happened("soup_pickup")[..., None], parts(steps.after.chefs.held), 0
    ).sum(axis=1)
    more = (steps.after.pots.contents - steps.before.pots.contents).sum(axis=1)
    potted = [steps.happened(f"potting_{item}").sum(axis=1) for item in ("onion", "tomato")]
    assert (more == np.stack(potted, axis=-1) - plated[:, :2]).all()
    assert (steps.happened("placement_in_pot").sum(axis=1) == sum(potted)).all()
    paid = steps.outcome.reward > 0
    assert (steps.happened("delivery")[paid] == 1).all()


def lying(state):
    """How many of each kind lie on counters: [kind, step]."""
    kinds = (Item.ONION, Item.TOMATO, Item.DISH)
    plain = [(state.counters == kind).sum(axis=1) for kind in kinds]
    return np.stack([*plain, (state.counters >= Item.SOUP).sum(axis=1)])


MOVES_A_DISH = (
    "pickup_dish_from_dispenser",
    "pickup_dish_from_counter",
    "put_dish_on_counter",
    "soup_pickup",
)
MOVES_A_TOMATO_OR_CHANGES_A_POT = (
    "pickup_tomato_from_dispenser",
    "pickup_tomato_from_counter",
    "put_tomato_on_counter",
    "placement_in_pot",
    "soup_pickup",
)


@each_layout
@EXAMPLES
@given(data=st.data())
def test_swapping_seats_mirrors_the_outcome_except_where_seat_order_decides(name, data):
    """Seat order decides when both chefs use the same counter or pot in one step.

    Then anything may differ. Otherwise it only decides whether a pickup was useful: that of a dish
    if the other chef moved a dish in the same step, that of a tomato if the other moved a tomato or
    changed a pot's contents.
    """
    steps = drawn_steps(data, name)
    after, outcome = jax.device_get(
        step_many(steps.layout, mirror(steps.before), steps.actions[:, ::-1])
    )
    free = ~use_one_counter_or_pot(steps)
    assert equal(pick(mirror(after), free), pick(steps.after, free))
    assert equal(outcome.reward[free, ::-1], steps.outcome.reward[free])
    differ = outcome.events[:, ::-1] != steps.outcome.events
    may_differ = np.broadcast_to(~free[:, None, None], differ.shape).copy()
    may_differ[..., Event.USEFUL_DISH_PICKUP] |= steps.happened(*MOVES_A_DISH)[:, ::-1] > 0
    may_differ[..., Event.USEFUL_TOMATO_PICKUP] |= (
        steps.happened(*MOVES_A_TOMATO_OR_CHANGES_A_POT)[:, ::-1] > 0
    )
    assert not (differ & ~may_differ).any()


def mirror(state):
    """The same kitchens with the seats swapped."""
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: leaf[..., ::-1] if path[0].name == "chefs" else leaf, state
    )


def use_one_counter_or_pot(steps):
    fronts = np.asarray(in_front(steps.layout, steps.before.chefs))
    shared = np.isin(fronts[:, 0], steps.layout.cells_of(Tile.COUNTER, Tile.POT))
    return shared & (fronts[:, 0] == fronts[:, 1]) & (steps.actions == Action.INTERACT).all(axis=1)


@each_layout
@EXAMPLES
@given(data=st.data())
def test_the_time_changes_nothing_but_the_time(name, data):
    early = drawn_steps(data, name)
    last = np.full_like(early.before.time, early.layout.horizon - 1)
    after, outcome = jax.device_get(
        step_many(early.layout, changed(early.before, time=last), early.actions)
    )
    assert (after.time == early.layout.horizon).all()
    assert equal(changed(after, time=early.after.time), early.after)
    assert equal(outcome, early.outcome)


@one_of_each_kind
@settings(EXAMPLES, max_examples=4)
@given(data=st.data())
def test_a_step_is_the_same_compiled_or_not_and_alone_or_among_many(name, data):
    steps = drawn_steps(data, name)
    index = data.draw(st.integers(0, STEPS - 1))
    state, actions = jax.tree.map(jax.numpy.asarray, pick((steps.before, steps.actions), index))
    among_many = pick((steps.after, steps.outcome), index)
    assert equal(step_one(steps.layout, state, actions), among_many)
    assert equal(step(steps.layout, state, actions), among_many)


@each_layout
@EXAMPLES
@given(data=st.data())
def test_the_compact_vector_decodes_to_the_state_as_its_seat_sees_it(name, data):
    layout = layouts.get(name)
    state = from_json(layout, data.draw(states(layout)))
    own, others = decode_both(layout, state)
    assert equal(own, state)
    assert equal(others, mirror(state))


def _decode_both(layout, state):
    views = compact(layout, state)
    return decode(layout, views[0]), decode(layout, views[1])


decode_both = jax.jit(_decode_both, static_argnums=0, compiler_options=QUICKLY)


@each_layout
@EXAMPLES
@given(data=st.data())
def test_a_state_survives_json_both_ways(name, data):
    layout = layouts.get(name)
    written = data.draw(states(layout))
    state = from_json(layout, json.loads(json.dumps(written)))
    assert to_json(layout, state) == written
    assert equal(from_json(layout, to_json(layout, state)), state)


@one_of_each_kind
@settings(EXAMPLES, max_examples=200)
@given(data=st.data())
def test_json_that_is_no_state_is_a_state_error(name, data):
    layout = layouts.get(name)
    written = data.draw(nearly_states(layout))
    try:
        state = from_json(layout, written)
    except StateError as error:
        assert str(error)
    else:
        assert equal(from_json(layout, to_json(layout, state)), state)
