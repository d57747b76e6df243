import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.kitchen import layouts
from cochef.kitchen.constants import Item
from cochef.kitchen.events import Event
from cochef.kitchen.state import start
from cochef.kitchen.text import (
    StateError,
    draw,
    each_to_json,
    event_names,
    from_json,
    item_name,
    to_json,
)

LAYOUT = layouts.get("many_orders")
STATE = {
    "chefs": [[1, 1, "W", "dish"], [3, 2, "S", "soup:ott"]],
    "pots": [[1, 0, "ott", 10], [3, 0, "o", -1]],
    "counters": [[1, 4, "soup:ooo"], [3, 4, "tomato"]],
    "t": 123,
}


def without(key):
    return {name: part for name, part in STATE.items() if name != key}


def test_a_start_state_as_json():
    assert to_json(LAYOUT, start(LAYOUT)) == {
        "chefs": [[1, 1, "N", None], [3, 1, "N", None]],
        "pots": [],
        "counters": [],
        "t": 0,
    }


def test_json_holds_numbers_cells_and_items_as_the_rules_use_them():
    state = from_json(LAYOUT, STATE)
    assert state.chefs.cell.tolist() == [1 * 5 + 1, 2 * 5 + 3]
    assert state.chefs.facing.tolist() == [3, 1]
    assert state.chefs.held.tolist() == [Item.DISH, Item.SOUP + 1 + 4 * 2]
    assert state.pots.contents.tolist() == [[1, 2], [0, 0], [1, 0]]
    assert state.pots.ticks.tolist() == [10, -1, -1]
    assert int(state.time) == 123


def test_pots_and_counters_are_written_sorted_by_column_then_row_and_contents_by_letter():
    shuffled = {
        **STATE,
        "pots": [[3, 0, "o", -1], [1, 0, "tot", 10]],
        "counters": STATE["counters"][::-1],
    }
    assert to_json(LAYOUT, from_json(LAYOUT, shuffled)) == STATE


def test_the_states_of_an_episode_are_written_one_by_one():
    first, second = start(LAYOUT), from_json(LAYOUT, STATE)
    both = jax.tree.map(lambda *leaves: jnp.stack(leaves), first, second)
    assert list(each_to_json(LAYOUT, both)) == [to_json(LAYOUT, first), STATE]


def test_what_is_empty_or_at_its_start_may_be_left_out():
    state = from_json(LAYOUT, {"chefs": STATE["chefs"]})
    assert to_json(LAYOUT, state) == {**STATE, "pots": [], "counters": [], "t": 0}


def test_items_and_events_have_names():
    assert [item_name(item) for item in (0, 1, 2, 3)] == [None, "onion", "tomato", "dish"]
    assert item_name(Item.SOUP + 2 + 4 * 1) == "soup:oot"
    happened = np.zeros(len(Event), bool)
    happened[[Event.VIABLE_PLACEMENT, Event.POTTING_ONION]] = True
    assert event_names(happened) == ["potting_onion", "viable_placement"]


def test_a_kitchen_is_drawn_four_characters_a_cell():
    assert draw(LAYOUT, from_json(LAYOUT, STATE)) == "\n".join(
        [
            "X   P310P   Po  X",
            "O   1<d         T",
            "O           2vsoT",
            "D               D",
            "X   Xso S   Xt  X",
        ]
    )


NO_FLOOR = (
    "; floor cells of many_orders: "
    "(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (3, 2), (1, 3), (2, 3), (3, 3)"
)
FAULTS = {
    "a list": ([], "a state is []; it takes an object with chefs, pots, counters and t"),
    "an unknown key": (
        {**STATE, "time": 3},
        "unknown key 'time'; allowed: chefs, pots, counters, t",
    ),
    "no chefs": (without("chefs"), "chefs is None; it takes a list"),
    "three chefs": (
        {**STATE, "chefs": [*STATE["chefs"], [2, 3, "N", None]]},
        "3 chefs; a kitchen has 2",
    ),
    "a short chef": (
        {**STATE, "chefs": [[1, 1, "N"], [2, 2, "N", None]]},
        "a chef is [1, 1, 'N']; it takes [x, y, facing, held]",
    ),
    "a chef in a wall": (
        {**STATE, "chefs": [[0, 0, "N", None], STATE["chefs"][1]]},
        f"no floor at (0, 0){NO_FLOOR}",
    ),
    "a chef outside": (
        {**STATE, "chefs": [[1, -4, "N", None], STATE["chefs"][1]]},
        f"no floor at (1, -4){NO_FLOOR}",
    ),
    "a chef between cells": (
        {**STATE, "chefs": [[1.0, 1, "N", None], STATE["chefs"][1]]},
        f"no floor at (1.0, 1){NO_FLOOR}",
    ),
    "two chefs on a cell": (
        {**STATE, "chefs": [[1, 1, "N", None], [1, 1, "S", None]]},
        "both chefs stand at (1, 1); each needs a cell of its own",
    ),
    "a strange direction": (
        {**STATE, "chefs": [[1, 1, "up", None], STATE["chefs"][1]]},
        "a chef faces 'up'; allowed: N, S, E, W",
    ),
    "a strange item": (
        {**STATE, "counters": [[1, 4, "cheese"]]},
        "unknown item 'cheese'; allowed: onion, tomato, dish, soup:ooo (o and t, 1 to 3 of them)",
    ),
    "a soup of cheese": (
        {**STATE, "counters": [[1, 4, "soup:c"]]},
        "contents 'c'; allowed: 1 to 3 letters o or t",
    ),
    "a soup too small to cook here": (
        {**STATE, "counters": [[1, 4, "soup:oo"]]},
        "'soup:oo' cannot be cooked here; soups of this kitchen have 3 items",
    ),
    "an overfull pot": (
        {**STATE, "pots": [[1, 0, "oooo", 3]]},
        "contents 'oooo'; allowed: 1 to 3 letters o or t",
    ),
    "a pot elsewhere": (
        {**STATE, "pots": [[1, 1, "o", -1]]},
        "no pot at (1, 1); pot cells of many_orders: (1, 0), (2, 0), (3, 0)",
    ),
    "a pot twice": (
        {**STATE, "pots": [[1, 0, "o", -1], [1, 0, "o", -1]]},
        "the pot at (1, 0) is listed twice",
    ),
    "a lit pot that is not full": (
        {**STATE, "pots": [[1, 0, "oo", 1]]},
        "ticks of a pot with oo is 1; it takes a whole number from -1 to -1",
    ),
    "a full pot that is not lit": (
        {**STATE, "pots": [[1, 0, "ooo", -1]]},
        "ticks of a pot with ooo is -1; it takes a whole number from 0 to 20",
    ),
    "a soup cooked too long": (
        {**STATE, "pots": [[1, 0, "ott", 11]]},
        "ticks of a pot with ott is 11; it takes a whole number from 0 to 10",
    ),
    "a counter out of reach": (
        {**STATE, "counters": [[0, 0, "onion"]]},
        "no reachable counter at (0, 0); reachable counter cells of many_orders: (1, 4), (3, 4)",
    ),
    "a counter twice": (
        {**STATE, "counters": [[1, 4, "onion"], [1, 4, "dish"]]},
        "the counter at (1, 4) is listed twice",
    ),
    "a counter that holds nothing": (
        {**STATE, "counters": [[1, 4, None]]},
        "unknown item None; allowed: onion, tomato, dish, soup:ooo (o and t, 1 to 3 of them)",
    ),
    "after the end": ({**STATE, "t": 401}, "t is 401; it takes a whole number from 0 to 400"),
    "a time that is true": (
        {**STATE, "t": True},
        "t is True; it takes a whole number from 0 to 400",
    ),
    "a huge time": (
        {**STATE, "t": 10**5000},
        "t is a huge int; it takes a whole number from 0 to 400",
    ),
}


@pytest.mark.parametrize(("data", "message"), FAULTS.values(), ids=FAULTS)
def test_every_fault_of_a_state_is_named(data, message):
    with pytest.raises(StateError) as error:
        from_json(LAYOUT, data)
    assert str(error.value) == message


def test_a_pot_lit_by_hand_may_be_small_and_a_full_one_may_wait():
    layout = layouts.get("forced_coordination_multi")
    data = {**to_json(layout, start(layout)), "pots": [[3, 0, "ot", 10], [4, 1, "ooo", -1]]}
    assert to_json(layout, from_json(layout, data)) == data
