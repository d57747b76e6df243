"""The vocabulary of the game: tiles, items, actions and directions, one enumeration each."""

from enum import Enum, IntEnum

SEATS = 2
POT_CAPACITY = 3
INGREDIENTS = 2  # axis of every "contents": onions, tomatoes


class Tile(Enum):
    """What stands on a cell; the value is its letter in a layout's grid."""

    FLOOR = " "
    COUNTER = "X"
    POT = "P"
    ONION_DISPENSER = "O"
    TOMATO_DISPENSER = "T"
    DISH_DISPENSER = "D"
    SERVING = "S"


class Item(IntEnum):
    """What a hand or a counter holds. A plated soup is `SOUP + onions + 4 * tomatoes`."""

    NOTHING = 0
    ONION = 1
    TOMATO = 2
    DISH = 3
    SOUP = 16


class Direction(IntEnum):
    """Where a chef looks."""

    NORTH = 0
    SOUTH = 1
    EAST = 2
    WEST = 3

    @property
    def offset(self) -> tuple[int, int]:
        """The step (dx, dy) in this direction; y grows to the south."""
        return ((0, -1), (0, 1), (1, 0), (-1, 0))[self]


class Action(IntEnum):
    """What a chef can do in a step; the first four are the directions."""

    NORTH = 0
    SOUTH = 1
    EAST = 2
    WEST = 3
    STAY = 4
    INTERACT = 5


class Cooking(Enum):
    """How a pot starts: by itself with its third item, or by an interact with empty hands."""

    AUTOMATIC = "automatic"
    MANUAL = "manual"
