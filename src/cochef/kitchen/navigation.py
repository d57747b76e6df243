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
    """How many steps and turns it takes from (cell, facing) until a chef faces a tile: [cells, 4, cells].

    The other chef is ignored.
    """
    cells = layout.height * layout.width
    distance = np.full((cells, len(Direction), cells), UNREACHABLE, np.int16)
    for cell in layout.floor_cells:
        for direction in Direction:
            distance[cell, direction, cell + layout.steps[direction]] = 0
    after = np.arange(cells)[:, None] + layout.steps
    after = np.where(layout.is_floor[after.clip(0, cells - 1)], after, np.arange(cells)[:, None])
    floor = layout.floor_cells
    while True:
        # One action later the chef looks where it went, and stands there unless something blocked it.
        ahead = np.stack([distance[after[floor, d], d] for d in Direction]).min(axis=0) + 1
        shorter = np.minimum(distance[floor], ahead[:, None])
        if np.array_equal(shorter, distance[floor]):
            return distance
        distance[floor] = shorter


@dataclass(frozen=True, eq=False)
class Routes:
    """Shortest walks to every target past the other chef, by index of own and other floor cell.

    Among equally short walks the one that goes north, then south, east, west first is taken.
    """

    targets: (
        np.ndarray
    )  # cells: counters, pots, other stations that can be faced, each row by row, then the floor
    stations: int  # how many of the targets are stations
    first: np.ndarray  # [own, other, target]: first direction to take, THERE on the spot, or NO_WAY
    length: np.ndarray  # [own, other, target]


@cache
def routes(layout: Layout, forbidden_rows: int = 0) -> Routes:
    """The walks of a layout; cells in the topmost `forbidden_rows` rows are not entered."""
    floor, cells = layout.floor_cells, layout.height * layout.width
    known = {*floor.tolist(), *layout.counter_cells.tolist(), *layout.pot_cells.tolist()}
    others = np.array(sorted(layout.touchable - known), np.int32)
    stations = np.concatenate([layout.counter_cells, layout.pot_cells, others])
    targets = np.concatenate([stations, floor])
    allowed = np.arange(cells) >= forbidden_rows * layout.width
    length = np.full(
        (len(floor), cells, len(targets)), UNREACHABLE, np.int16
    )  # [other, from cell, target]
    for index, target in enumerate(targets):
        length[:, target, index] = np.where(allowed[target] & (floor != target), 0, UNREACHABLE)
    ahead = floor[:, None] + layout.steps
    enterable = allowed[ahead][None] & (
        ahead[None] != floor[:, None, None]
    )  # [other, from, direction]
    while True:
        onward = (
            np.where(enterable[..., None], length[:, ahead], UNREACHABLE) + 1
        )  # [other, from, direction, target]
        shorter = np.minimum(length[:, floor], onward.min(axis=2))
        if np.array_equal(shorter, length[:, floor]):
            break
        length[:, floor] = shorter
    here = length[:, floor].copy()
    leads = (onward == here[:, :, None]) & (here < UNREACHABLE)[:, :, None]
    first = np.where(leads.any(axis=2), leads.argmax(axis=2), NO_WAY).astype(np.int8)
    own = np.arange(len(floor))
    first[:, own, len(stations) + own], here[:, own, len(stations) + own] = THERE, 0
    return Routes(targets, len(stations), first.swapaxes(0, 1), here.swapaxes(0, 1))
