"""The events that say whether what a chef did was useful, as sentences."""

import numpy as np
import pytest

from cochef.kitchen import layouts
from cochef.kitchen.events import (
    Event,
    counted_events,
    event_distances,
    normalised_counts,
    reference_events,
)
from tests.kitchen.small_room import (
    ASIDE,
    AT_COUNTER,
    AT_DISHES,
    AT_POT,
    AT_TOMATOES,
    COUNTER,
    MANUAL,
    NEXT_POT,
    POT,
    ROOM,
    STAY,
    USE,
    play,
)

USEFUL_DISHES = {
    "no pot is begun": (ROOM, [], [], None, False),
    "a pot is partly filled": (ROOM, [[*POT, "o", -1]], [], None, True),
    "a pot cooks": (ROOM, [[*POT, "ooo", 3]], [], None, True),
    "a soup is ready": (ROOM, [[*POT, "ooo", 20]], [], None, True),
    "a full pot waits for its fire": (MANUAL, [[*POT, "ooo", -1]], [], None, False),
    "a dish lies on a counter": (ROOM, [[*POT, "ooo", 3]], [[*COUNTER, "dish"]], None, False),
    "something else lies on a counter": (
        ROOM,
        [[*POT, "ooo", 3]],
        [[*COUNTER, "onion"]],
        None,
        True,
    ),
    "the partner holds a dish for the only pot": (ROOM, [[*POT, "ooo", 3]], [], "dish", False),
    "the partner holds a plated soup": (ROOM, [[*POT, "ooo", 3]], [], "soup:ooo", True),
    "the partner's dish leaves a second pot": (
        ROOM,
        [[*POT, "o", -1], [*NEXT_POT, "ooo", 3]],
        [],
        "dish",
        True,
    ),
}


@pytest.mark.parametrize(
    ("layout", "pots", "counters", "partner", "useful"), USEFUL_DISHES.values(), ids=USEFUL_DISHES
)
def test_a_dish_from_the_dispenser_is_useful_while_a_pot_lacks_one(
    layout, pots, counters, partner, useful
):
    chefs = [[*AT_DISHES, None], [1, 2, "N", partner]]
    expected = {"pickup_dish_from_dispenser", *(["useful_dish_pickup"] if useful else [])}
    assert play([USE, STAY], chefs, pots, counters, layout).events[0] == expected
    assert play([STAY, USE], chefs[::-1], pots, counters, layout).events[1] == expected


def test_a_dish_taken_from_a_counter_is_never_a_useful_pickup():
    after = play(
        [USE, STAY], [[*AT_COUNTER, None], ASIDE[0]], [[*POT, "ooo", 20]], [[*COUNTER, "dish"]]
    )
    assert after.events[0] == {"pickup_dish_from_counter"}


def test_of_two_dishes_for_one_pot_the_one_of_seat_0_is_useful():
    after = play([USE, USE], [[*AT_DISHES, None], [3, 2, "S", None]], [[*POT, "ooo", 3]])
    assert ["useful_dish_pickup" in events for events in after.events] == [True, False]


def test_pots_that_want_a_dish_are_counted_at_the_start_of_the_step():
    after = play([USE, USE], [[*AT_POT, "onion"], [*AT_DISHES, None]])
    assert after.events[1] == {"pickup_dish_from_dispenser"}


def test_dishes_in_hands_are_counted_after_what_the_earlier_seat_did():
    plating, taking, pots = [*AT_POT, "dish"], [*AT_DISHES, None], [[*POT, "ooo", 20]]
    assert "useful_dish_pickup" in play([USE, USE], [plating, taking], pots).events[1]
    assert "useful_dish_pickup" not in play([USE, USE], [taking, plating], pots).events[0]


USEFUL_TOMATOES = {
    "no pot is begun": ([], None, False),
    "a pot holds a tomato": ([[*POT, "t", -1]], None, True),
    "a pot holds two tomatoes": ([[*POT, "tt", -1]], None, True),
    "a pot is full of tomatoes": ([[*POT, "ttt", 3]], None, False),
    "a pot holds an onion": ([[*POT, "o", -1]], None, False),
    "a pot holds an onion and a tomato": ([[*POT, "ot", -1]], None, False),
    "another pot holds a tomato": ([[*POT, "oo", -1], [*NEXT_POT, "t", -1]], None, True),
    "the partner holds a tomato": ([[*POT, "tt", -1]], "tomato", False),
    "the partner holds an onion": ([[*POT, "tt", -1]], "onion", True),
}


@pytest.mark.parametrize("source", ["dispenser", "counter"])
@pytest.mark.parametrize(
    ("pots", "partner", "useful"), USEFUL_TOMATOES.values(), ids=USEFUL_TOMATOES
)
def test_a_tomato_is_useful_while_a_pot_is_begun_with_tomatoes_only(pots, partner, useful, source):
    place, counters = (
        (AT_TOMATOES, []) if source == "dispenser" else (AT_COUNTER, [[*COUNTER, "tomato"]])
    )
    chefs = [[*place, None], [4, 1, "N", partner]]
    expected = {f"pickup_tomato_from_{source}", *(["useful_tomato_pickup"] if useful else [])}
    assert play([USE, STAY], chefs, pots, counters).events[0] == expected
    assert play([STAY, USE], chefs[::-1], pots, counters).events[1] == expected


def test_a_tomatos_use_is_judged_just_before_it_is_taken():
    placing, taking = [*AT_POT, "tomato"], [*AT_TOMATOES, None]
    assert "useful_tomato_pickup" in play([USE, USE], [placing, taking]).events[1]
    assert (
        "useful_tomato_pickup"
        not in play([USE, USE], [taking, placing], [[*POT, "t", -1]]).events[0]
    )


PLACEMENTS = """
distant_tomato: optimal viable:  +o +t o+o t+t oo+o tt+t
distant_tomato: catastrophic:    o+t t+o oo+t tt+o
distant_tomato: optimal useless: ot+o ot+t
many_orders:    optimal viable:  +o +t o+o t+t oo+o tt+t ot+t
many_orders:    viable:          o+t t+o tt+o
many_orders:    catastrophic:    ot+o oo+t
"""
AT_A_POT = {
    "distant_tomato": ([1, 4, "E"], (2, 4), [3, 1, "N", None]),
    "many_orders": ([1, 1, "N"], (1, 0), ASIDE[0]),
}


def placements():
    for line in PLACEMENTS.strip().splitlines():
        name, judged, examples = (part.split() for part in line.split(":"))
        for example in examples:
            yield name[0], *example.split("+"), judged


@pytest.mark.parametrize(("name", "contents", "letter", "judged"), list(placements()))
def test_a_placement_is_judged_by_the_best_order_that_the_pot_can_still_become(
    name, contents, letter, judged
):
    place, pot, other = AT_A_POT[name]
    item = {"o": "onion", "t": "tomato"}[letter]
    pots = [[*pot, contents, -1]] if contents else []
    after = play([USE, STAY], [[*place, item], other], pots, layout=layouts.get(name))
    events = {"placement_in_pot", f"potting_{item}", *(f"{word}_placement" for word in judged)}
    if item == "tomato" and not contents:
        events.add("tomato_in_empty_pot")
    # The first tomato is one, too; what is added to a pot that is spoilt is not.
    if item == "tomato" and {"optimal", "viable"} <= set(judged):
        events.add("optimal_tomato_placement")
    assert after.events[0] == events


def test_an_event_without_a_subset_cannot_be_made():
    with pytest.raises(TypeError, match="subset"):
        Event.__new_member__(Event, 24)


def test_events_are_compared_in_the_papers_subsets():
    onions, tomatoes = layouts.get("counter_circuit"), layouts.get("many_orders")
    assert len(counted_events(onions)) == 12
    assert len(counted_events(tomatoes)) == 21
    assert len(reference_events(onions)) == 15
    assert reference_events(tomatoes) == counted_events(tomatoes)
    assert set(counted_events(onions)) < set(counted_events(tomatoes)) < set(Event)


def test_the_distance_between_event_counts_is_relative_to_the_largest_count():
    counts = np.array([[10, 0, 0], [5, 2, 0], [0, 2, 0]])
    assert normalised_counts(counts).tolist() == [[1, 0, 0], [0.5, 1, 0], [0, 1, 0]]
    expected = [[0, 1.5, 2], [1.5, 0, 0.5], [2, 0.5, 0]]
    assert event_distances(counts).tolist() == expected
    assert event_distances(counts / 2).tolist() == expected
