"""Behaviours in hand-made situations: a few steps, and what has been counted after them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.evaluation.behaviours import BEHAVIOUR, counts, own_share, self_cooking, self_delivery
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.kitchen.dynamics import step
from cochef.kitchen.events import Event, counted_events
from cochef.kitchen.stepping import Transition
from cochef.kitchen.text import from_json

N, S, E, W, STAY, USE = Action
RING = layouts.get("counter_circuit")
TOMATOES = layouts.get("distant_tomato")
ORDERS = layouts.get("many_orders")


@partial(jax.jit, static_argnames="layout")
def _step(layout, measured, state, actions):
    after, outcome = step(layout, state, actions)
    return after, BEHAVIOUR.update(layout, measured, Transition(state, actions, outcome, after))


def count(layout, chefs, joint_actions, pots=(), counters=()):
    """The behaviours of the two chefs after these steps: columns of [seat]."""
    data = {
        "chefs": [list(chef) for chef in chefs],
        "pots": [*pots],
        "counters": [*counters],
        "t": 0,
    }
    state = from_json(layout, data)
    measured = BEHAVIOUR.begin(layout)
    for actions in joint_actions:
        state, measured = _step(layout, measured, state, jnp.array(actions, jnp.int32))
    episodes = jax.tree.map(lambda leaf: np.asarray(leaf)[None], measured)
    return {name: column[0].tolist() for name, column in counts(layout, episodes).items()}


BELOW, ABOVE = (
    (3, 3, "N", "onion"),
    (3, 1, "S", None),
)  # the middle counter (3, 2) lies between them


def test_an_onion_put_on_the_middle_counter_and_taken_by_the_other_is_handed_over():
    counted = count(RING, (BELOW, ABOVE), [(USE, STAY), (STAY, USE)])
    assert counted["handed_over"] == [1, 0]
    assert counted["onions_passed_over_counter"] == [1, 0]


def test_a_hand_over_within_one_step_counts():
    counted = count(RING, (BELOW, ABOVE), [(USE, USE)])
    assert counted["handed_over"] == [1, 0]
    assert counted["onions_passed_over_counter"] == [1, 0]


def test_the_giver_is_who_put_it_down():
    chefs = ((3, 3, "N", None), (3, 1, "S", "onion"))
    counted = count(
        RING, chefs, [(USE, USE), (USE, STAY)]
    )  # seat 0 acts first and finds nothing in the first step
    assert counted["handed_over"] == [0, 1]
    assert counted["onions_passed_over_counter"] == [0, 1]


def test_taking_back_what_one_has_put_down_is_no_hand_over():
    counted = count(RING, (BELOW, ABOVE), [(USE, STAY), (USE, STAY), (USE, STAY), (STAY, USE)])
    assert counted["handed_over"] == [1, 0]
    counted = count(RING, (BELOW, ABOVE), [(USE, STAY), (USE, STAY)])
    assert counted["handed_over"] == [0, 0]


def test_what_lay_there_from_the_start_is_nobodys_gift():
    counted = count(RING, ((3, 3, "N", None), ABOVE), [(STAY, USE)], counters=[[3, 2, "onion"]])
    assert counted["handed_over"] == [0, 0]


def test_a_dish_is_handed_over_but_is_no_onion():
    counted = count(RING, ((3, 3, "N", "dish"), ABOVE), [(USE, STAY), (STAY, USE)])
    assert counted["handed_over"] == [1, 0]
    assert counted["onions_passed_over_counter"] == [0, 0]


def test_an_onion_left_at_the_rim_is_handed_over_but_not_passed_over_a_counter():
    chefs = ((1, 1, "W", "onion"), (2, 1, "N", None))
    counted = count(RING, chefs, [(USE, STAY), (S, STAY), (STAY, W), (STAY, USE)])
    assert counted["handed_over"] == [1, 0]
    assert counted["onions_passed_over_counter"] == [0, 0]


LEFT, RIGHT = (1, 4, "E", "tomato"), (3, 4, "W", "onion")  # at the same pot (2, 4)


@pytest.mark.parametrize(
    ("contents", "actions", "correct", "wrong"),
    [
        ("t", (USE, STAY), [1, 0], [0, 0]),
        ("tt", (STAY, USE), [0, 0], [0, 1]),
        ("o", (USE, STAY), [0, 0], [0, 0]),
        ("ot", (STAY, USE), [0, 0], [0, 0]),
        ("", (USE, STAY), [0, 0], [0, 0]),
        ("", (USE, USE), [0, 0], [0, 1]),  # seat 1 finds the tomato of seat 0
        ("t", (USE, USE), [1, 0], [0, 1]),
        ("tt", (USE, USE), [1, 0], [0, 0]),  # seat 1 finds the pot full
    ],
)
def test_a_placement_is_judged_when_the_pot_was_begun_with_tomatoes_only(
    contents, actions, correct, wrong
):
    pots = [[2, 4, contents, -1]] if contents else []
    counted = count(TOMATOES, (LEFT, RIGHT), [actions], pots)
    assert (counted["correct_placements"], counted["wrong_placements"]) == (correct, wrong)


def test_the_other_pot_does_not_matter():
    counted = count(TOMATOES, (LEFT, RIGHT), [(USE, USE)], [[2, 5, "t", -1], [2, 4, "o", -1]])
    assert (counted["correct_placements"], counted["wrong_placements"]) == ([0, 0], [0, 0])


def test_soups_from_the_middle_pot_are_counted_and_others_not():
    pots = [[x, 0, "ooo", 20] for x in (1, 2, 3)]
    counted = count(ORDERS, ((2, 1, "N", "dish"), (3, 1, "N", "dish")), [(USE, USE)], pots)
    assert counted["soups_from_middle_pot"] == [1, 0]
    counted = count(
        ORDERS, ((1, 1, "N", "dish"), (2, 1, "N", "dish")), [(USE, STAY), (STAY, USE)], pots
    )
    assert counted["soups_from_middle_pot"] == [0, 1]


IN_A_COLUMN = """
horizon = 30
grid = '''
XXOXX
X 1 P
D   P
X 2 P
XXSXX
'''
[orders]
ooo = { value = 20, time = 5 }
"""


def test_the_middle_pot_of_a_column_is_the_one_between_the_others():
    layout = layouts.parse(IN_A_COLUMN, "column")
    pots = [[4, y, "ooo", 5] for y in (1, 2, 3)]
    chefs = ((3, 2, "E", "dish"), (3, 3, "E", "dish"))
    assert count(layout, chefs, [(USE, USE)], pots)["soups_from_middle_pot"] == [1, 0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("XXOXX", "XPOPX"),  # five round a corner
        ("X 1 P\nD   P", "P 1 P\nD   X"),  # three, on both sides
    ],
)
def test_pots_that_do_not_lie_in_one_line_have_none_in_the_middle(old, new):
    assert IN_A_COLUMN.count(old) == 1
    layout = layouts.parse(IN_A_COLUMN.replace(old, new), "corners")
    assert len(layout.pot_cells) >= 3
    chefs = tuple((*layout.position(cell), "N", None) for cell in layout.start_cells)
    assert "soups_from_middle_pot" not in count(layout, chefs, [(STAY, STAY)])


@pytest.mark.parametrize("layout", [TOMATOES, layouts.get("cramped_room")])
def test_where_no_pot_is_in_the_middle_of_others_nothing_is_counted_from_it(layout):
    assert len(layout.pot_cells) in (1, 2)
    chefs = tuple((*layout.position(cell), "N", None) for cell in layout.start_cells)
    assert "soups_from_middle_pot" not in count(layout, chefs, [(STAY, STAY)])


def test_chefs_collide_when_they_want_the_same_floor_swap_places_or_walk_into_one_who_stands():
    def facing(x):
        return (x, 1, "N", None), (4, 1, "N", None)

    assert count(RING, facing(2), [(E, W)])["collisions"] == [1, 1]
    assert count(RING, facing(3), [(E, W)])["collisions"] == [1, 1]
    assert count(RING, facing(3), [(E, STAY)])["collisions"] == [1, 0]
    assert count(RING, facing(3), [(E, USE)])["collisions"] == [1, 0]
    assert count(RING, facing(3), [(E, E)])["collisions"] == [0, 0]  # following is allowed
    assert count(RING, facing(3), [(N, S)])["collisions"] == [
        0,
        0,
    ]  # turning to a counter is no collision


def test_a_chef_is_idle_when_neither_place_nor_facing_nor_hand_nor_anything_else_changes():
    chefs = ((3, 3, "N", "onion"), (4, 1, "N", "dish"))
    assert count(RING, chefs, [(STAY, STAY)] * 3)["idle"] == [3, 3]
    assert count(RING, chefs, [(USE, USE)])["idle"] == [
        0,
        1,
    ]  # an onion on the counter; a dish and an empty pot
    assert count(RING, chefs, [(N, E)])["idle"] == [
        1,
        0,
    ]  # against the counter it faces already; a step
    assert count(RING, chefs, [(E, W)])["idle"] == [0, 0]
    assert count(RING, chefs, [(S, S)])["idle"] == [0, 0]  # a turn


def test_lighting_a_pot_is_not_idle_where_pots_are_lit_by_hand():
    layout = layouts.get("forced_coordination_multi")
    chefs = ((3, 1, "N", None), (1, 2, "N", None))
    assert count(layout, chefs, [(USE, STAY)], [[3, 0, "o", -1]])["idle"] == [0, 1]
    assert count(layout, chefs, [(USE, STAY)], [[3, 0, "o", 2]])["idle"] == [
        1,
        1,
    ]  # it is lit already


def test_policies_are_compared_by_12_events_without_tomatoes_and_by_21_elsewhere():
    for name, number in (
        ("cramped_room", 12),
        ("counter_circuit", 12),
        ("distant_tomato", 21),
        ("many_orders", 21),
    ):
        assert len(counted_events(layouts.get(name))) == number
    assert Event.PLACEMENT_IN_POT in counted_events(RING)
    assert Event.POTTING_ONION not in counted_events(RING)
    assert Event.TOMATO_IN_EMPTY_POT not in counted_events(ORDERS)


def test_shares_of_cooking_and_delivering_sum_to_one_and_are_no_number_where_nobody_did_it():
    events = np.zeros((3, 2, len(Event)), int)
    events[0, :, Event.PLACEMENT_IN_POT] = (9, 3)
    events[0, :, Event.DELIVERY] = (0, 4)
    events[1, :, Event.PLACEMENT_IN_POT] = (0, 2)
    assert self_cooking(events)[:2].tolist() == [[0.75, 0.25], [0.0, 1.0]]
    assert self_delivery(events)[0].tolist() == [0.0, 1.0]
    assert np.isnan(self_delivery(events)[1:]).all()
    assert np.isnan(self_cooking(events)[2]).all()
    assert own_share(np.array([[1, 3], [0, 0]])).tolist()[0] == [0.25, 0.75]
