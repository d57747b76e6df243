"""Walking distances, computed once per layout; the other chef is ignored."""

from functools import cache

import numpy as np

from cochef.kitchen.constants import Direction
from cochef.kitchen.layout import Layout

UNREACHABLE = np.iinfo(np.int16).max // 2


@cache
def facing_distances(layout: Layout) -> np.ndarray:
    """How many steps and turns it takes from (cell, facing) until a chef faces a tile: [cells, 4, cells]."""
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
