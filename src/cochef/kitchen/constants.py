"""The vocabulary of the game: tiles, items, actions, directions and events, one enumeration each."""

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


class Event(IntEnum):
    """What a chef's interact can bring about; counted per chef and step."""

    PUT_ONION_ON_COUNTER = 0
    PUT_TOMATO_ON_COUNTER = 1
    PUT_DISH_ON_COUNTER = 2
    PUT_SOUP_ON_COUNTER = 3
    PICKUP_ONION_FROM_COUNTER = 4
    PICKUP_TOMATO_FROM_COUNTER = 5
    PICKUP_DISH_FROM_COUNTER = 6
    PICKUP_SOUP_FROM_COUNTER = 7
    PICKUP_ONION_FROM_DISPENSER = 8
    PICKUP_TOMATO_FROM_DISPENSER = 9
    PICKUP_DISH_FROM_DISPENSER = 10
    USEFUL_DISH_PICKUP = 11
    SOUP_PICKUP = 12
    PLACEMENT_IN_POT = 13
    VIABLE_PLACEMENT = 14
    OPTIMAL_PLACEMENT = 15
    CATASTROPHIC_PLACEMENT = 16
    USELESS_PLACEMENT = 17
    POTTING_ONION = 18
    POTTING_TOMATO = 19
    DELIVERY = 20
    TOMATO_IN_EMPTY_POT = 21
    OPTIMAL_TOMATO_PLACEMENT = 22
    USEFUL_TOMATO_PICKUP = 23

    @property
    def label(self) -> str:
        """The event's name in files and on the command line."""
        return self.name.lower()
