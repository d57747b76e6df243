"""What soups are worth, how long they cook, and the best order a pot can still become.

Every table has an axis for the number of onions and one for the number of tomatoes.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from cochef.kitchen.constants import POT_CAPACITY
from cochef.kitchen.layout import UNLISTED_COOKING_TIME, Contents, Layout


def all_contents() -> Iterator[Contents]:
    """Every filling of a pot, the empty one first."""
    counts = range(POT_CAPACITY + 1)
    return (pair for pair in itertools.product(counts, counts) if sum(pair) <= POT_CAPACITY)


def _table(fill: int, kind: type) -> np.ndarray:
    return np.full((POT_CAPACITY + 1, POT_CAPACITY + 1), fill, kind)


def values(layout: Layout) -> np.ndarray:
    """What delivering each soup pays: its order's value, 0 without such an order."""
    table = _table(0, np.float32)
    for order in layout.orders:
        table[order.contents] = order.value
    return table


def cooking_times(layout: Layout) -> np.ndarray:
    """How many ticks each soup cooks."""
    table = _table(UNLISTED_COOKING_TIME, np.int32)
    for order in layout.orders:
        table[order.contents] = order.time
    return table


def reachable_values(layout: Layout) -> np.ndarray:
    """V(contents): the highest value of an order that adding ingredients can still reach."""
    worth = values(layout)
    table = _table(0, np.float32)
    for onions, tomatoes in all_contents():
        reachable = [(o, t) for o, t in all_contents() if o >= onions and t >= tomatoes]
        table[onions, tomatoes] = max(worth[contents] for contents in reachable)
    return table
