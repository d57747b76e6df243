"""States as rows of numbers, the form in which the two engines are compared."""

from math import prod

import jax
import numpy as np

from cochef.kitchen.constants import Item
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State, start
from cochef.kitchen.text import item_name

ITEMS = {item_name(item): int(item) for item in (*Item, *range(Item.SOUP, 2 * Item.SOUP))}


def rows_of_states(states: State) -> np.ndarray:
    """Some states [N, ...], a row of numbers each: chefs, pots, counters, time."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(states)]
    return np.concatenate([leaf.reshape(len(leaf), -1) for leaf in leaves], axis=1)


def states_of_rows(layout: Layout, rows: np.ndarray) -> State:
    """The states [N, ...] that rows stand for."""
    leaves, structure = jax.tree.flatten(start(layout))
    columns = np.split(rows, np.cumsum([prod(leaf.shape) for leaf in leaves])[:-1], axis=1)
    shaped = [
        column.reshape(len(rows), *leaf.shape).astype(leaf.dtype)
        for column, leaf in zip(columns, leaves, strict=True)
    ]
    return jax.tree.unflatten(structure, shaped)


class Numbering:
    """Turns JSON into rows, without asking the package how."""

    def __init__(self, layout: Layout):
        self._width = layout.width
        self._pots = {layout.position(cell): index for index, cell in enumerate(layout.pot_cells)}
        self._counters = {
            layout.position(cell): index for index, cell in enumerate(layout.counter_cells)
        }

    def row(self, data: dict) -> list[int]:
        """The row of a state in JSON."""
        chefs = data["chefs"]
        contents, ticks = [0] * (2 * len(self._pots)), [-1] * len(self._pots)
        for x, y, filling, since in data["pots"]:
            pot = self._pots[x, y]
            contents[2 * pot : 2 * pot + 2] = filling.count("o"), filling.count("t")
            ticks[pot] = since
        counters = [0] * len(self._counters)
        for x, y, item in data["counters"]:
            counters[self._counters[x, y]] = ITEMS[item]
        return [
            *(y * self._width + x for x, y, _, _ in chefs),
            *("NSEW".index(facing) for _, _, facing, _ in chefs),
            *(ITEMS[held] for _, _, _, held in chefs),
            *contents,
            *ticks,
            *counters,
            data["t"],
        ]
