"""A kitchen's fixed part: its grid, its orders, and the lookup tables that the rules read."""

import hashlib
import json
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import SupportsInt

import numpy as np

from cochef.kitchen.constants import Cooking, Direction, Item, Tile

DEFAULT_HORIZON = 400
UNLISTED_COOKING_TIME = 20  # of a soup that no order asks for

Contents = tuple[int, int]  # onions, tomatoes
Place = tuple[int, int]  # x, y


@dataclass(frozen=True)
class Order:
    """A soup that pays: its contents, what its delivery is worth, and how long it cooks."""

    contents: Contents
    value: int
    time: int


@dataclass(frozen=True)
class Layout:
    """A kitchen. Hashable, so that compiled programs can be specialised to it.

    A cell is numbered y * width + x. Tables are numpy arrays that a compiled program holds as constants.
    """

    name: str
    rows: tuple[str, ...]
    starts: tuple[Place, Place]
    orders: tuple[Order, ...]
    cooking: Cooking = Cooking.AUTOMATIC
    horizon: int = DEFAULT_HORIZON

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.rows[0])

    @property
    def height(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @cached_property
    def fingerprint(self) -> str:
        """The same for two layouts only if they are the same game, whatever its name and however long it lasts."""
        rules = (self.rows, self.starts, sorted(map(astuple, self.orders)), self.cooking.value)
        return hashlib.sha256(json.dumps(rules).encode()).hexdigest()[:16]

    @property
    def has_tomato_orders(self) -> bool:
        """Whether an order asks for tomatoes."""
        return any(order.contents[1] for order in self.orders)

    def cell(self, place: Place) -> int:
        """The number of the cell at (x, y)."""
        return place[1] * self.width + place[0]

    def place(self, cell: SupportsInt) -> Place:
        """The (x, y) of a cell."""
        return int(cell) % self.width, int(cell) // self.width

    def tile(self, place: Place) -> Tile:
        """What stands at (x, y)."""
        return Tile(self.rows[place[1]][place[0]])

    def cells_of(self, *tiles: Tile) -> np.ndarray:
        """The cells of some kinds of tile, row by row."""
        letters = {tile.value for tile in tiles}
        return np.array(
            [cell for cell, letter in enumerate("".join(self.rows)) if letter in letters], np.int32
        )

    @cached_property
    def start_cells(self) -> np.ndarray:
        """Where the two chefs begin."""
        return np.array([self.cell(place) for place in self.starts], np.int32)

    @cached_property
    def steps(self) -> np.ndarray:
        """What a step in each direction adds to a cell's number."""
        return np.array(
            [dx + dy * self.width for dx, dy in (d.offset for d in Direction)], np.int32
        )

    @cached_property
    def is_floor(self) -> np.ndarray:
        """Per cell: whether a chef can stand here."""
        return np.array([letter == Tile.FLOOR.value for letter in "".join(self.rows)])

    @cached_property
    def floor_cells(self) -> np.ndarray:
        """The cells that chefs can stand on."""
        return self.cells_of(Tile.FLOOR)

    @cached_property
    def reachable_by(self) -> tuple[frozenset[int], frozenset[int]]:
        """Per seat: the floor cells its chef can walk to, the other chef ignored."""
        return self._walk_from(int(self.start_cells[0])), self._walk_from(int(self.start_cells[1]))

    def _walk_from(self, start: int) -> frozenset[int]:
        seen, frontier = {start}, [start]
        while frontier:
            here = frontier.pop()
            ahead = {here + int(step) for step in self.steps}
            fresh = {cell for cell in ahead - seen if self.is_floor[cell]}
            seen |= fresh
            frontier.extend(fresh)
        return frozenset(seen)

    @cached_property
    def touchable(self) -> frozenset[int]:
        """The cells that at least one chef can stand on or face."""
        walked = self.reachable_by[0] | self.reachable_by[1]
        return walked | {cell + int(step) for cell in walked for step in self.steps}

    @cached_property
    def pot_cells(self) -> np.ndarray:
        """The pots, row by row."""
        return self.cells_of(Tile.POT)

    @cached_property
    def serving_cells(self) -> np.ndarray:
        """The tiles that take a soup, row by row."""
        return self.cells_of(Tile.SERVING)

    @cached_property
    def counter_cells(self) -> np.ndarray:
        """The counters that a chef can face, row by row; nothing can ever lie on the others."""
        return np.array(
            [cell for cell in self.cells_of(Tile.COUNTER) if int(cell) in self.touchable], np.int32
        )

    @cached_property
    def dispensed(self) -> np.ndarray:
        """Per cell: the item its dispenser gives, or NOTHING."""
        gives = {
            Tile.ONION_DISPENSER: Item.ONION,
            Tile.TOMATO_DISPENSER: Item.TOMATO,
            Tile.DISH_DISPENSER: Item.DISH,
        }
        return np.array(
            [gives.get(Tile(letter), Item.NOTHING) for letter in "".join(self.rows)], np.int32
        )
