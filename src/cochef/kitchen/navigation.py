"""Walking distances and walks, computed once per layout."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from cochef.kitchen.constants import Direction
from cochef.kitchen.layout import Layout

UNREACHABLE = np.iinfo(np.int16).max // 2
THERE = len(Direction)  # instead of a first direction
NO_WAY = -1


@cache
def facing_distances(layout: Layout) -> np.ndarray:
    """Steps and turns from (cell, facing) until a chef faces a tile: [cells, 4, cells].

    The other chef is ignored.
    """
    cells = layout.height * layout.width
    floor = layout.floor_cells
    distance = np.full((cells, len(Direction), cells), UNREACHABLE, np.int16)
    for cell in floor:
        for direction in Direction:
            distance[cell, direction, cell + layout.steps[direction]] = 0
    here = np.arange(cells)[:, None]
    after = here + layout.steps
    after = np.where(layout.is_floor[after.clip(0, cells - 1)], after, here)
    while True:
        # After an action the chef looks where it went, and stands there unless something was there.
        ahead = np.stack([distance[after[floor, d], d] for d in Direction]).min(axis=0) + 1
        shorter = np.minimum(distance[floor], ahead[:, None])
        if np.array_equal(shorter, distance[floor]):
            return distance
        distance[floor] = shorter


@dataclass(frozen=True, eq=False)
class Routes:
    """Shortest walks to every target past the other chef, by index of own and other floor cell.

    Among equally short walks, the first step goes north, else south, else east, else west.
    """

    targets: np.ndarray  # cells: counters, pots, other stations that can be faced, then the floor
    stations: int  # how many of the targets are stations
    first: np.ndarray  # [own, other, target]: first direction to take, THERE on the spot, or NO_WAY
    length: np.ndarray  # [own, other, target]


@cache
def routes(layout: Layout, forbidden_rows: int = 0) -> Routes:
    """The walks of a layout; cells in the topmost `forbidden_rows` rows are not entered."""
    floor = layout.floor_cells
    cells = layout.height * layout.width
    stations = _stations(layout)
    targets = np.concatenate([stations, floor])
    allowed = np.arange(cells) >= forbidden_rows * layout.width

    # Axes: [other, from, target], and [other, from, direction, target] one step further. Walks to
    # a target grow from the target itself, so its own cell counts as reached from the outset.
    length = np.full((len(floor), cells, len(targets)), UNREACHABLE, np.int16)
    for index, target in enumerate(targets):
        length[:, target, index] = np.where(allowed[target] & (floor != target), 0, UNREACHABLE)
    ahead = floor[:, None] + layout.steps
    enterable = allowed[ahead][None] & (ahead[None] != floor[:, None, None])
    while True:
        onward = np.where(enterable[..., None], length[:, ahead], UNREACHABLE) + 1
        shorter = np.minimum(length[:, floor], onward.min(axis=2))
        if np.array_equal(shorter, length[:, floor]):
            break
        length[:, floor] = shorter
    walks = length[:, floor].copy()
    leads = (onward == walks[:, :, None]) & (walks < UNREACHABLE)[:, :, None]
    first = np.where(leads.any(axis=2), leads.argmax(axis=2), NO_WAY).astype(np.int8)

    own = np.arange(len(floor))
    first[:, own, len(stations) + own] = THERE
    walks[:, own, len(stations) + own] = 0
    return Routes(targets, len(stations), first.swapaxes(0, 1), walks.swapaxes(0, 1))


def _stations(layout: Layout) -> np.ndarray:
    """Counters, pots, then all other stations that can be faced, each row by row."""
    known = {
        *layout.floor_cells.tolist(),
        *layout.counter_cells.tolist(),
        *layout.pot_cells.tolist(),
    }
    others = np.array(sorted(layout.touchable - known), np.int32)
    return np.concatenate([layout.counter_cells, layout.pot_cells, others])
