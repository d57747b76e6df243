"""Scripts in single situations; chances are shares of many draws."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.scripted import SCRIPTS, Script, ScriptTask, names_for, script
from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action, Cooking, Item, Tile
from cochef.kitchen.text import from_json
from cochef.randomness import fast

N, S, E, W, INTERACT = Action.NORTH, Action.SOUTH, Action.EAST, Action.WEST, Action.INTERACT
ANYWHERE = {N: 1 / 4, S: 1 / 4, E: 1 / 4, W: 1 / 4}
DRAWS = 2_000
STEPS = 4

ROOM = layouts.get("cramped_room")
COOKING, READY = [2, 0, "ooo", 5], [2, 0, "ooo", 20]
CORNER = [3, 2, "N", None]  # here the other chef is in the way of the serving tile only


def situation(layout, chef, other, pots=(), counters=(), seat=0):
    chefs = [list(chef), list(other)] if seat == 0 else [list(other), list(chef)]
    return from_json(layout, {"chefs": chefs, "pots": [*pots], "counters": [*counters], "t": 7})


@partial(jax.jit, static_argnames="seat")
def _draws(agent, states, seat, key):
    def one(key):
        key_begin, key_act = jax.random.split(key)

        def step(carry, inputs):
            action, carry = agent.act(inputs[0], seat, carry, inputs[1])
            return carry, action

        return jax.lax.scan(
            step, agent.begin(key_begin), (states, jax.random.split(key_act, STEPS))
        )[1]

    return jax.vmap(one)(jax.random.split(key, DRAWS))


def draws(name, layout, *states, seat=0):
    """What the script does in one state after the other, the last one repeated: [draws, steps]."""
    states = [*states, *[states[-1]] * (STEPS - len(states))]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    return np.asarray(_draws(script(name, layout), stacked, seat, fast(jax.random.key(0))))


def assert_chances(actions, chances):
    """Each action was taken as often as its chance says, within five standard errors."""
    for action in Action:
        chance = chances.get(action, 0.0)
        error = np.sqrt(chance * (1 - chance) / len(actions))
        assert abs((actions == action).mean() - chance) <= 5 * error + 1e-9, (action.name, chance)


def test_asking_for_tomatoes_in_an_onion_layout_is_an_error_that_lists_what_makes_sense_there():
    complaint = (
        "script 'tomato_placement' makes no sense in cramped_room; "
        "there: onion_placement, delivery, "
    )
    with pytest.raises(InputError, match=complaint):
        script("tomato_placement", ROOM)


def test_an_unknown_script_is_an_error_that_lists_the_known_ones():
    with pytest.raises(
        InputError,
        match="unknown script 'onions'; known: onion_placement, tomato_placement, delivery",
    ):
        script("onions", ROOM)


@pytest.mark.parametrize("name", layouts.names())
def test_scripts_apply_where_their_items_are_and_the_middle_counter_only_in_counter_circuit(name):
    layout = layouts.get(name)
    found, tomatoes = names_for(layout), any("T" in row for row in layout.rows)
    assert ("onion_to_middle_counter" in found) == (name == "counter_circuit")
    assert {"onion_placement", "delivery", "onion_everywhere", "dish_everywhere"} <= set(found)
    assert ("onion_placement_and_delivery" in found) == (
        layout.cooking is Cooking.AUTOMATIC
    )  # no script lights a pot
    assert tomatoes == any("tomato" in script_name for script_name in found)
    assert set(found) <= set(SCRIPTS)


def test_a_goal_is_drawn_uniformly_and_used_when_faced():
    state = situation(ROOM, (1, 1, "W", None), CORNER)
    assert_chances(draws("onion_placement", ROOM, state)[:, 0], {INTERACT: 1 / 2, E: 1 / 2})


def test_a_goal_is_kept_while_it_is_valid():
    between, there = (
        situation(ROOM, chef, CORNER) for chef in ((2, 1, "N", None), (1, 1, "W", None))
    )
    actions = draws("onion_placement", ROOM, between, there)
    goes_west = actions[:, 0] == W
    assert_chances(actions[:, 0], {W: 1 / 2, E: 1 / 2})
    assert (actions[goes_west, 1] == INTERACT).all()
    assert (actions[~goes_west, 1] == E).all()


def test_placing_takes_onions_from_counters_and_littering_only_from_dispensers():
    state = situation(ROOM, (1, 2, "W", None), (3, 1, "N", None), counters=[[0, 2, "onion"]])
    assert_chances(draws("onion_placement", ROOM, state)[:, 0], {INTERACT: 1 / 2, N: 1 / 2})
    assert_chances(draws("onion_everywhere", ROOM, state)[:, 0], {N: 1})


def test_a_dispenser_that_only_the_other_chef_can_face_is_no_goal():
    state = situation(ROOM, (1, 1, "W", None), (3, 1, "N", None))
    assert_chances(draws("onion_placement", ROOM, state)[:, 0], {INTERACT: 1})


def test_littering_fills_any_empty_counter_that_can_be_reached():
    state = situation(ROOM, (1, 2, "W", "onion"), CORNER, counters=[[2, 3, "dish"]])
    # Left are (0, 2) in front and (1, 0), (3, 0) to the north; the other chef blocks (4, 2).
    assert_chances(draws("onion_everywhere", ROOM, state)[:, 0], {INTERACT: 1 / 3, N: 2 / 3})


def test_placing_puts_an_ingredient_into_any_pot_with_room_whatever_is_in_it():
    layout = layouts.get("many_orders")
    pots = [[1, 0, "oo", -1], [3, 0, "oot", 3]]
    state = situation(layout, (1, 1, "N", "tomato"), (3, 3, "N", None), pots)
    assert_chances(draws("tomato_placement", layout, state)[:, 0], {INTERACT: 1 / 2, E: 1 / 2})


def test_a_chef_that_does_not_leave_its_cell_for_three_steps_walks_anywhere_until_it_does():
    waiting = situation(ROOM, (2, 1, "N", "dish"), CORNER, [COOKING])
    actions = draws("delivery", ROOM, waiting)
    assert (actions[:, :2] == INTERACT).all()
    assert_chances(actions[:, 2], ANYWHERE)
    assert_chances(actions[:, 3], ANYWHERE)
    moved = situation(ROOM, (1, 1, "W", "dish"), CORNER, [COOKING])
    assert_chances(draws("delivery", ROOM, waiting, waiting, waiting, moved)[:, 3], {E: 1})


def test_with_nothing_to_go_to_it_walks_to_a_random_floor_cell_drawn_anew_at_every_step():
    state = situation(ROOM, (1, 1, "W", "onion"), CORNER, [COOKING])
    # Of the five cells it can reach, two lie to the east, two to the south (where ties go), and
    # one is its own.
    chances = {N: 1 / 20, W: 1 / 20, S: 2 / 5 + 1 / 20, E: 2 / 5 + 1 / 20}
    actions = draws("onion_placement", ROOM, state)
    assert_chances(actions[:, 0], chances)
    assert_chances(actions[actions[:, 0] == E][:, 1], chances)


def test_a_soup_goes_to_the_nearest_serving_tile():
    layout = layouts.parse(
        "grid = '''\nXXXPOXX\nS1   2S\nXXDXXXX\n'''\n[orders]\nooo = { value = 20, time = 20 }",
        "two_hatches",
    )
    nearer_west = situation(layout, (2, 1, "N", "soup:ooo"), (4, 1, "N", None))
    assert_chances(draws("delivery", layout, nearer_west)[:, 0], {W: 1})
    nearer_east = situation(layout, (4, 1, "N", "soup:ooo"), (2, 1, "N", None))
    assert_chances(draws("delivery", layout, nearer_east)[:, 0], {E: 1})


def test_a_chef_that_cannot_reach_a_serving_tile_steps_anywhere():
    state = situation(ROOM, (1, 1, "W", "soup:ooo"), CORNER)
    assert_chances(draws("delivery", ROOM, state)[:, 0], ANYWHERE)


def test_the_wrong_item_is_first_put_down_on_a_random_tile_that_takes_it():
    onion = situation(ROOM, (2, 1, "N", "onion"), CORNER, [[2, 0, "o", -1]])
    # An onion may go into the pot in front, or onto one of four counters: two to the west, two on
    # other ways.
    assert (draws("delivery", ROOM, onion)[:, 0] == INTERACT).mean() == pytest.approx(
        1 / 5, abs=0.04
    )
    dish = situation(ROOM, (2, 1, "N", "dish"), CORNER, [READY])
    assert (draws("onion_placement", ROOM, dish)[:, 0] != INTERACT).all()
    counter = situation(ROOM, (2, 2, "S", "dish"), CORNER, [READY])
    assert (draws("onion_placement", ROOM, counter)[:, 0] == INTERACT).mean() == pytest.approx(
        1 / 4, abs=0.05
    )


def test_who_places_and_delivers_does_what_can_be_done():
    before_dishes = situation(ROOM, (1, 2, "S", None), CORNER, [COOKING])
    assert_chances(draws("onion_placement_and_delivery", ROOM, before_dishes)[:, 0], {INTERACT: 1})
    before_onions = situation(ROOM, (1, 1, "W", None), CORNER, [[2, 0, "oo", -1]])
    assert_chances(
        draws("onion_placement_and_delivery", ROOM, before_onions)[:, 0],
        {INTERACT: 1 / 2, E: 1 / 2},
    )


def test_who_places_and_delivers_draws_either_when_both_can_be_done():
    layout = layouts.get("asymmetric_advantages")
    before_dishes = situation(layout, (5, 3, "S", None), (1, 1, "N", None), [[4, 2, "ooo", 5]])
    actions = draws("onion_placement_and_delivery", layout, before_dishes)
    assert_chances(actions[:, 0], {INTERACT: 1 / 2, N: 1 / 2})


def test_who_places_and_delivers_draws_again_only_after_placing_or_serving():
    layout, pots = layouts.get("asymmetric_advantages"), [[4, 2, "ooo", 5]]
    before_dishes = situation(layout, (5, 3, "S", None), (1, 1, "N", None), pots)
    for item, chance in (("soup:ooo", 1 / 4), ("onion", 3 / 4), (None, 1 / 2)):
        start = situation(layout, (7, 1, "E", item), (1, 1, "N", None), pots)
        actions = draws("onion_placement_and_delivery", layout, start, before_dishes)
        # Half of the draws begin with each task, and what is in hand belongs to one of them: only
        # that one is done.
        assert_chances(actions[:, 1], {INTERACT: chance, N: 1 - chance})


def test_onions_for_the_middle_counter_are_carried_in_the_lower_rows_only():
    layout = layouts.get("counter_circuit")
    # The other chef is in the way below, so everything but (2, 2), which is taken, would need the
    # upper way round.
    state = situation(layout, (1, 3, "N", "onion"), (2, 3, "N", None), counters=[[2, 2, "onion"]])
    assert_chances(
        draws("onion_to_middle_counter", layout, state)[:, 0],
        {N: 5 / 8, S: 1 / 8, E: 1 / 8, W: 1 / 8},
    )
    free = situation(
        layout, (4, 3, "N", "onion"), (4, 1, "N", None), counters=[[2, 2, "onion"], [3, 2, "dish"]]
    )
    assert_chances(
        draws("onion_to_middle_counter", layout, free)[:, 0], {INTERACT: 1 / 2, E: 1 / 2}
    )


def test_the_seat_does_not_matter():
    for seat in (0, 1):
        state = situation(ROOM, (1, 1, "W", None), CORNER, seat=seat)
        assert_chances(
            draws("onion_placement", ROOM, state, seat=seat)[:, 0], {INTERACT: 1 / 2, E: 1 / 2}
        )


@pytest.mark.parametrize(
    ("tasks", "complaint"),
    [
        ((ScriptTask(Item.ONION, Tile.SERVING, from_counters=False),), "a task goes to pots or"),
        ((), "0 tasks; a script has one, or two"),
        (
            (
                ScriptTask(Item.ONION, Tile.COUNTER, from_counters=False),
                ScriptTask(Item.DISH, Tile.COUNTER, from_counters=False),
            ),
            "first one that fills pots, then one that delivers",
        ),
    ],
)
def test_a_script_that_would_not_do_what_it_says_is_refused(tasks, complaint):
    with pytest.raises(InputError, match=complaint):
        Script("odd", "does something odd", tasks)
