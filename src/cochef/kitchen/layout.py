"""A layout: the fixed part of a kitchen, its grid and orders, and lookup tables for the rules."""

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
Position = tuple[int, int]  # x, y


def letters(onions: SupportsInt, tomatoes: SupportsInt) -> str:
    """The contents of a pot or soup as letters."""
    return "o" * int(onions) + "t" * int(tomatoes)


@dataclass(frozen=True)
class Order:
    """A soup that pays: its contents, what its delivery is worth, and how long it cooks."""

    contents: Contents
    value: int
    time: int


@dataclass(frozen=True)
class Layout:
    """A layout; hashable, so that compiled programs can be specialised to it.

    A cell is numbered y * width + x. Tables are numpy arrays, constants in compiled programs.
    """

    name: str
    rows: tuple[str, ...]
    starts: tuple[Position, Position]
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
        """A checksum of the game's rules; name and horizon are not in it."""
        rules = (self.rows, self.starts, sorted(map(astuple, self.orders)), self.cooking.value)
        return hashlib.sha256(json.dumps(rules).encode()).hexdigest()[:16]

    @property
    def seed(self) -> int:
        """The fingerprint as a number, for draws that differ from layout to layout."""
        return int(self.fingerprint, 16)

    @property
    def has_tomato_orders(self) -> bool:
        """Whether an order asks for tomatoes."""
        return any(order.contents[1] for order in self.orders)

    @property
    def rows_with_starts(self) -> list[str]:
        """The rows with '1' and '2' where the chefs begin, as in a layout file."""
        rows = [list(row) for row in self.rows]
        for seat, (x, y) in enumerate(self.starts):
            rows[y][x] = str(seat + 1)
        return ["".join(row) for row in rows]

    def cell(self, position: Position) -> int:
        """The number of the cell at (x, y)."""
        x, y = position
        return y * self.width + x

    def position(self, cell: SupportsInt) -> Position:
        """The (x, y) of a cell."""
        return int(cell) % self.width, int(cell) // self.width

    def tile(self, position: Position) -> Tile:
        """What stands at (x, y)."""
        x, y = position
        return Tile(self.rows[y][x])

    def cells_of(self, *tiles: Tile) -> np.ndarray:
        """The cells of some kinds of tile, row by row."""
        letters = {tile.value for tile in tiles}
        grid = "".join(self.rows)
        return np.array([cell for cell, letter in enumerate(grid) if letter in letters], np.int32)

    @cached_property
    def start_cells(self) -> np.ndarray:
        """Where the two chefs begin."""
        return np.array([self.cell(position) for position in self.starts], np.int32)

    @cached_property
    def steps(self) -> np.ndarray:
        """What a step in each direction adds to a cell's number."""
        offsets = [direction.offset for direction in Direction]
        return np.array([dx + dy * self.width for dx, dy in offsets], np.int32)

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
        first, second = self.start_cells
        return self._reachable_from(int(first)), self._reachable_from(int(second))

    def _reachable_from(self, start: int) -> frozenset[int]:
        seen = {start}
        frontier = [start]
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
        reachable = self.reachable_by[0] | self.reachable_by[1]
        return reachable | {cell + int(step) for cell in reachable for step in self.steps}

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
        """The counters that a chef can face, row by row; nothing ever lies on the others."""
        counters = self.cells_of(Tile.COUNTER)
        return np.array([cell for cell in counters if int(cell) in self.touchable], np.int32)

    @cached_property
    def dispensed(self) -> np.ndarray:
        """Per cell: the item its dispenser gives, or NOTHING."""
        gives = {
            Tile.ONION_DISPENSER.value: Item.ONION,
            Tile.TOMATO_DISPENSER.value: Item.TOMATO,
            Tile.DISH_DISPENSER.value: Item.DISH,
        }
        grid = "".join(self.rows)
        return np.array([gives.get(letter, Item.NOTHING) for letter in grid], np.int32)
