"""The rules of the kitchen as sentences."""

import pytest

from cochef.kitchen import layouts
from tests.kitchen.small_room import (
    ASIDE,
    AT_COUNTER,
    AT_DISHES,
    AT_ONIONS,
    AT_POT,
    AT_SERVING,
    AT_TOMATOES,
    COUNTER,
    EAST,
    INGREDIENTS,
    ITEMS,
    MANUAL,
    NEXT_POT,
    NORTH,
    POT,
    ROOM,
    SOUTH,
    STAY,
    USE,
    WEST,
    After,
    play,
)


def use(chef, held, pots=(), counters=(), layout=ROOM):
    """What a chef alone brings about: its hand, the pots and counters, its events, its reward."""
    aside = next(place for place in ASIDE if place[:2] != chef[:2])
    after = play([USE, STAY], [[*chef, held], aside], pots, counters, layout)
    mirrored = play([STAY, USE], [aside, [*chef, held]], pots, counters, layout)
    assert (after.pots, after.counters) == (mirrored.pots, mirrored.counters)
    assert (after.chefs[0], after.events[0], after.reward[0]) == (
        mirrored.chefs[1],
        mirrored.events[1],
        mirrored.reward[1],
    )
    assert (after.chefs[1], after.events[1], after.reward[1]) == (aside, set(), 0)
    return After(after.chefs[:1], after.pots, after.counters, after.events[0], after.reward[0])


def kind(item):
    return item.split(":")[0]


@pytest.mark.parametrize("item", ITEMS)
def test_an_empty_hand_takes_what_lies_on_a_counter(item):
    after = use(AT_COUNTER, None, counters=[[*COUNTER, item]])
    assert (after.held, after.counters) == ([item], [])
    assert after.events == {f"pickup_{kind(item)}_from_counter"}


@pytest.mark.parametrize("item", ITEMS)
def test_a_full_hand_puts_down_on_an_empty_counter(item):
    after = use(AT_COUNTER, item)
    assert (after.held, after.counters) == ([None], [[*COUNTER, item]])
    assert after.events == {f"put_{kind(item)}_on_counter"}


@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("lying", ITEMS)
def test_a_full_hand_keeps_its_item_at_an_occupied_counter(item, lying):
    after = use(AT_COUNTER, item, counters=[[*COUNTER, lying]])
    assert (after.held, after.counters, after.events) == ([item], [[*COUNTER, lying]], set())


def test_an_empty_hand_finds_nothing_on_an_empty_counter():
    after = use(AT_COUNTER, None)
    assert (after.held, after.counters, after.events) == ([None], [], set())


DISPENSERS = [(AT_ONIONS, "onion"), (AT_TOMATOES, "tomato"), (AT_DISHES, "dish")]


@pytest.mark.parametrize(("place", "item"), DISPENSERS)
def test_an_empty_hand_takes_from_a_dispenser(place, item):
    after = use(place, None)
    assert (after.held, after.events) == ([item], {f"pickup_{item}_from_dispenser"})


@pytest.mark.parametrize(("place", "item"), DISPENSERS)
@pytest.mark.parametrize("held", ITEMS)
def test_a_full_hand_gets_nothing_from_a_dispenser(place, item, held):
    after = use(place, held)
    assert (after.held, after.events) == ([held], set())


@pytest.mark.parametrize("item", INGREDIENTS)
@pytest.mark.parametrize("layout", [ROOM, MANUAL], ids=["automatic", "manual"])
@pytest.mark.parametrize("contents", ["", "o", "t", "ot"])
def test_an_ingredient_goes_into_a_pot_that_has_room(contents, item, layout):
    pots = [[*POT, contents, -1]] if contents else []
    after = use(AT_POT, item, pots, layout=layout)
    filled = "".join(sorted(contents + item[0]))
    ticks = 1 if len(filled) == 3 and layout is ROOM else -1
    assert (after.held, after.pots) == ([None], [[*POT, filled, ticks]])
    assert {"placement_in_pot", f"potting_{item}"} <= after.events


@pytest.mark.parametrize("item", INGREDIENTS)
@pytest.mark.parametrize(
    ("layout", "contents", "ticks"),
    [
        (ROOM, "ooo", 3),
        (ROOM, "ooo", 20),
        (MANUAL, "ooo", -1),
        (MANUAL, "oo", 2),
        (MANUAL, "oo", 5),
    ],
)
def test_a_full_or_cooking_or_ready_pot_takes_no_ingredient(layout, contents, ticks, item):
    after = use(AT_POT, item, [[*POT, contents, ticks]], layout=layout)
    assert (after.held, after.events) == ([item], set())
    assert after.pots[0][2] == contents


@pytest.mark.parametrize(
    ("layout", "contents", "time"),
    [(ROOM, "ooo", 20), (ROOM, "ttt", 10), (ROOM, "oot", 20), (MANUAL, "oo", 5)],
)
def test_a_dish_plates_a_ready_soup_and_empties_the_pot(layout, contents, time):
    after = use(AT_POT, "dish", [[*POT, contents, time]], layout=layout)
    assert (after.held, after.pots, after.events) == ([f"soup:{contents}"], [], {"soup_pickup"})


@pytest.mark.parametrize(
    ("layout", "contents", "ticks"),
    [(ROOM, "oo", -1), (ROOM, "ooo", 19), (ROOM, "ttt", 9), (MANUAL, "ooo", -1), (MANUAL, "oo", 4)],
)
def test_a_dish_gets_nothing_from_a_pot_that_is_not_ready(layout, contents, ticks):
    after = use(AT_POT, "dish", [[*POT, contents, ticks]], layout=layout)
    assert (after.held, after.events) == (["dish"], set())


@pytest.mark.parametrize(("contents", "ticks"), [("", -1), ("oo", -1), ("ooo", 5), ("ooo", 20)])
def test_a_soup_in_hand_and_a_pot_have_nothing_to_do_with_each_other(contents, ticks):
    after = use(AT_POT, "soup:ooo", [[*POT, contents, ticks]] if contents else [])
    assert (after.held, after.events) == (["soup:ooo"], set())


def test_a_dish_gets_nothing_from_an_empty_pot():
    after = use(AT_POT, "dish")
    assert (after.held, after.pots, after.events) == (["dish"], [], set())


@pytest.mark.parametrize(
    ("contents", "ticks", "later"), [("oo", -1, -1), ("ooo", 5, 6), ("ooo", 20, 20)]
)
def test_an_empty_hand_changes_no_pot_that_cooks_by_itself(contents, ticks, later):
    after = use(AT_POT, None, [[*POT, contents, ticks]])
    assert (after.held, after.pots, after.events) == ([None], [[*POT, contents, later]], set())


@pytest.mark.parametrize("contents", ["o", "ot", "ooo"])
def test_an_empty_hand_lights_a_filled_pot_that_is_lit_by_hand(contents):
    after = use(AT_POT, None, [[*POT, contents, -1]], layout=MANUAL)
    assert (after.held, after.pots, after.events) == ([None], [[*POT, contents, 1]], set())


@pytest.mark.parametrize(("ticks", "later"), [(1, 2), (4, 5), (5, 5)])
def test_lighting_a_pot_twice_changes_nothing(ticks, later):
    after = use(AT_POT, None, [[*POT, "oo", ticks]], layout=MANUAL)
    assert after.pots == [[*POT, "oo", later]]


def test_an_empty_pot_cannot_be_lit():
    after = use(AT_POT, None, layout=MANUAL)
    assert (after.pots, after.events) == ([], set())


@pytest.mark.parametrize(
    ("layout", "soup", "value"),
    [
        (ROOM, "ooo", 20),
        (ROOM, "ttt", 15),
        (ROOM, "oot", 0),
        (MANUAL, "oo", 7),
        (MANUAL, "t", 0),
        (MANUAL, "ooo", 20),
    ],
)
def test_a_soup_is_delivered_and_pays_its_order_or_nothing(layout, soup, value):
    after = use(AT_SERVING, f"soup:{soup}", layout=layout)
    assert (after.held, after.events, after.reward) == ([None], {"delivery"}, value)


@pytest.mark.parametrize("held", [None, "onion", "tomato", "dish"])
def test_only_soups_are_delivered(held):
    after = use(AT_SERVING, held)
    assert (after.held, after.events, after.reward) == ([held], set(), 0)


def test_each_chef_is_told_its_own_part_of_the_reward():
    layout = layouts.get("asymmetric_advantages")
    after = play([USE, USE], [[7, 1, "E", "soup:ooo"], [3, 2, "N", "soup:ooo"]], layout=layout)
    assert (after.reward, after.events) == ([20, 20], [{"delivery"}, {"delivery"}])


@pytest.mark.parametrize("held", [None, *ITEMS])
def test_nothing_happens_before_a_floor_tile_even_if_a_chef_stands_there(held):
    assert use([3, 1, "S"], held).events == set()
    after = play([USE, STAY], [[3, 1, "S", held], [3, 2, "N", "onion"]])
    assert (after.held, after.events) == ([held, "onion"], [set(), set()])


@pytest.mark.parametrize("action", [NORTH, SOUTH, EAST, WEST, STAY])
def test_only_an_interact_uses_what_a_chef_faces(action):
    after = play([action, STAY], [[*AT_POT, "onion"], [4, 2, "N", None]])
    assert (after.held, after.pots, after.events) == (["onion", None], [], [set(), set()])


def test_an_interact_uses_what_a_chef_faced_before_the_step():
    after = play([USE, WEST], [[*AT_ONIONS, None], [2, 1, "N", "dish"]])
    assert after.chefs == [[1, 1, "W", "onion"], [2, 1, "W", "dish"]]


@pytest.mark.parametrize(
    ("action", "later"),
    [
        (NORTH, [2, 1, "N"]),
        (SOUTH, [2, 2, "S"]),
        (EAST, [3, 2, "E"]),
        (WEST, [1, 2, "W"]),
        (STAY, [2, 2, "S"]),
    ],
)
def test_a_chef_walks_over_free_floor_and_turns_where_it_goes(action, later):
    after = play([action, STAY], [[2, 2, "S", "dish"], [4, 1, "N", None]])
    assert after.chefs == [[*later, "dish"], [4, 1, "N", None]]


# Places are column, row and facing; the floor of the room is columns 1 to 4 of rows 1 and 2.
WALKS = {
    "against a counter: turns only": ([SOUTH, STAY], "12E 41N", "12S 41N"),
    "against a station: turns only": ([NORTH, EAST], "21S 42S", "21N 42E"),
    "into a standing chef: turns only": ([EAST, STAY], "21S 31N", "21E 31N"),
    "into a chef that turns at a wall: turns only": ([EAST, NORTH], "21S 31S", "21E 31N"),
    "into a chef that interacts: turns only": ([EAST, USE], "21S 31N", "21E 31N"),
    "both to one cell: both stay and turn": ([EAST, WEST], "11S 31S", "11E 31W"),
    "both to one cell around a corner: both stay": ([EAST, NORTH], "11N 22S", "11E 22N"),
    "swapping cells: both stay and turn": ([EAST, WEST], "21S 31S", "21E 31W"),
    "following the other: both go": ([EAST, EAST], "11S 21S", "21E 31E"),
    "following around a corner: both go": ([EAST, SOUTH], "11S 21E", "21E 22S"),
    "apart: both go": ([WEST, EAST], "21S 31S", "11W 41E"),
    "following a chef that a counter stops: turns only": ([EAST, EAST], "31S 41S", "31E 41E"),
}


@pytest.mark.parametrize(("actions", "before", "later"), WALKS.values(), ids=WALKS)
def test_two_chefs_walk(actions, before, later):
    assert _places(play(actions, _chefs(before)).chefs) == later
    assert _places(play(actions[::-1], _chefs(before)[::-1]).chefs[::-1]) == later


def _chefs(places):
    return [[int(x), int(y), facing, None] for x, y, facing in places.split()]


def _places(chefs):
    return " ".join(f"{x}{y}{facing}" for x, y, facing, _ in chefs)


@pytest.mark.parametrize(
    ("contents", "item", "time"), [("oo", "onion", 20), ("tt", "tomato", 10), ("ot", "onion", 20)]
)
def test_a_soup_is_first_plated_as_many_steps_after_its_third_item_as_it_cooks(
    contents, item, time
):
    chefs = [[*AT_POT, item], [3, 2, "N", None]]
    after = play([USE, STAY], chefs, [[*POT, contents, -1]])
    filled = "".join(sorted(contents + item[0]))
    assert after.pots == [[*POT, filled, 1]]
    for step_after in range(1, time):
        after = play([USE, STAY], [[*AT_POT, "dish"], chefs[1]], after.pots)
        assert after.pots == [[*POT, filled, step_after + 1]]
    assert play([USE, STAY], [[*AT_POT, "dish"], chefs[1]], after.pots).held[0] == f"soup:{filled}"


def test_a_ready_soup_stays_ready_and_soups_elsewhere_do_not_change():
    pots, counters = [[*POT, "ooo", 20], [*NEXT_POT, "ttt", 10]], [[*COUNTER, "soup:oot"]]
    after = play([STAY, STAY], [[1, 1, "N", "soup:ooo"], [4, 2, "N", None]], pots, counters)
    assert (after.pots, after.counters, after.held) == (pots, counters, ["soup:ooo", None])


def test_pots_cook_on_their_own_and_idle_ones_wait():
    pots = [[*POT, "oo", -1], [*NEXT_POT, "ooo", 4]]
    assert play([STAY, STAY], ASIDE, pots).pots == [[*POT, "oo", -1], [*NEXT_POT, "ooo", 5]]


def test_a_soup_lit_by_hand_is_first_plated_as_many_steps_later_as_it_cooks():
    pots = play([USE, STAY], [[*AT_POT, None], ASIDE[0]], [[*POT, "oo", -1]], layout=MANUAL).pots
    for _ in range(4):
        after = play([USE, STAY], [[*AT_POT, "dish"], ASIDE[0]], pots, layout=MANUAL)
        assert after.held[0] == "dish"
        pots = after.pots
    assert (
        play([USE, STAY], [[*AT_POT, "dish"], ASIDE[0]], pots, layout=MANUAL).held[0] == "soup:oo"
    )


FACING_ROOMS = layouts.get("distant_tomato")
SHARED_COUNTER, SHARED_POT = (2, 3), (2, 4)


def use_both(place, hands, pots=(), counters=(), layout=FACING_ROOMS):
    """Both chefs use the tile between them in one step."""
    x, y = place
    chefs = [[x - 1, y, "E", hands[0]], [x + 1, y, "W", hands[1]]]
    return play([USE, USE], chefs, pots, counters, layout)


def test_seat_1_takes_what_seat_0_puts_down_in_the_same_step():
    after = use_both(SHARED_COUNTER, ["dish", None])
    assert (after.held, after.counters) == ([None, "dish"], [])
    assert after.events == [{"put_dish_on_counter"}, {"pickup_dish_from_counter"}]


def test_seat_0_cannot_take_what_seat_1_puts_down_in_the_same_step():
    after = use_both(SHARED_COUNTER, [None, "dish"])
    assert (after.held, after.counters) == ([None, None], [[*SHARED_COUNTER, "dish"]])


def test_of_two_items_for_one_counter_the_one_of_seat_0_lies_there():
    after = use_both(SHARED_COUNTER, ["onion", "dish"])
    assert (after.held, after.counters) == ([None, "dish"], [[*SHARED_COUNTER, "onion"]])


def test_seat_1_puts_down_where_seat_0_took_something_away():
    after = use_both(SHARED_COUNTER, [None, "dish"], counters=[[*SHARED_COUNTER, "onion"]])
    assert (after.held, after.counters) == (["onion", None], [[*SHARED_COUNTER, "dish"]])


def test_the_last_place_in_a_pot_goes_to_seat_0():
    after = use_both(SHARED_POT, ["onion", "tomato"], [[*SHARED_POT, "oo", -1]])
    assert (after.held, after.pots) == ([None, "tomato"], [[*SHARED_POT, "ooo", 1]])


def test_both_chefs_fill_one_pot_in_one_step():
    after = use_both(SHARED_POT, ["onion", "onion"], [[*SHARED_POT, "o", -1]])
    assert (after.held, after.pots) == ([None, None], [[*SHARED_POT, "ooo", 1]])


def test_the_soup_goes_to_seat_0():
    after = use_both(SHARED_POT, ["dish", "dish"], [[*SHARED_POT, "ooo", 20]])
    assert (after.held, after.pots) == (["soup:ooo", "dish"], [])


def test_seat_1_fills_the_pot_that_seat_0_emptied_in_the_same_step():
    after = use_both(SHARED_POT, ["dish", "tomato"], [[*SHARED_POT, "ooo", 20]])
    assert (after.held, after.pots) == (["soup:ooo", None], [[*SHARED_POT, "t", -1]])


def test_seat_1_lights_the_pot_that_seat_0_filled_in_the_same_step():
    layout = layouts.get("asymmetric_advantages_multi")
    after = use_both((4, 2), ["onion", None], layout=layout)
    assert (after.held, after.pots) == ([None, None], [[4, 2, "o", 1]])


def test_seat_1_cannot_fill_the_pot_that_seat_0_lit_in_the_same_step():
    layout = layouts.get("asymmetric_advantages_multi")
    after = use_both((4, 2), [None, "onion"], [[4, 2, "o", -1]], layout=layout)
    assert (after.held, after.pots) == ([None, "onion"], [[4, 2, "o", 1]])


def test_a_dispenser_serves_both_chefs_in_one_step():
    after = use_both((2, 1), [None, None])
    assert after.held == ["tomato", "tomato"]
