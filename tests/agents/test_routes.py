"""The routes of scripted chefs against a plain breadth-first search."""

import numpy as np
import pytest

from cochef.kitchen import layouts
from cochef.kitchen.constants import Direction
from cochef.kitchen.navigation import NO_WAY, THERE, UNREACHABLE, routes

LAYOUTS = (
    "asymmetric_advantages",
    "blocked_corridor",
    "coordination_ring",
    "cramped_room",
    "distant_tomato",
)


def search(layout, start, blocked, first_allowed):
    """Steps and first direction to every cell; neighbours in the order north, south, east, west."""
    steps, first, queue = {start: 0}, {start: THERE}, [start]
    for here in queue:
        for direction in Direction:
            ahead = here + int(layout.steps[direction])
            if ahead in steps or ahead == blocked or ahead < first_allowed:
                continue
            steps[ahead] = steps[here] + 1
            first[ahead] = direction if here == start else first[here]
            if layout.is_floor[ahead]:
                queue.append(ahead)
    return steps, first


def assert_as_searched(layout, forbidden_rows):
    paths = routes(layout, forbidden_rows)
    floor = layout.floor_cells.tolist()
    for own, start in enumerate(floor):
        for other, blocked in enumerate(floor):
            if own == other:
                continue
            steps, first = search(layout, start, blocked, forbidden_rows * layout.width)
            expected = [first.get(target, NO_WAY) for target in paths.targets.tolist()]
            assert paths.first[own, other].tolist() == expected
            reached = [target in steps for target in paths.targets.tolist()]
            far = [steps.get(target, UNREACHABLE) for target in paths.targets.tolist()]
            assert np.array_equal(paths.length[own, other][reached], np.array(far)[reached])


@pytest.mark.parametrize("name", LAYOUTS)
def test_walks_are_those_of_a_breadth_first_search_past_the_other_chef(name):
    assert_as_searched(layouts.get(name), forbidden_rows=0)


def test_walks_that_avoid_the_upper_rows_are_those_of_a_search_that_does():
    assert_as_searched(layouts.get("counter_circuit"), forbidden_rows=2)


@pytest.mark.parametrize("name", layouts.names())
def test_every_station_that_a_chef_can_face_is_a_target_and_so_is_the_floor(name):
    layout = layouts.get(name)
    paths = routes(layout)
    assert sorted(paths.targets.tolist()) == sorted(layout.touchable)
    assert sorted(paths.targets[paths.stations :].tolist()) == sorted(layout.floor_cells.tolist())
