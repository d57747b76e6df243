"""Sizes of networks, checked where they enter; loads nothing that learns."""

from dataclasses import dataclass
from enum import Enum

from cochef.errors import InputError, shown

MAX_WIDTH = 4096


class ObservationKind(Enum):
    """What a network sees of a kitchen."""

    COMPACT = "compact"
    GRID = "grid"


@dataclass(frozen=True)
class NetworkConfig:
    """How the networks of an actor and its critic are built."""

    observation: ObservationKind = ObservationKind.COMPACT
    """What they see: the compact vector, or the grid of 26 planes."""
    channels: tuple[int, ...] = (32, 64, 32)
    """Channels of the 3 x 3 convolutions on the grid."""
    hidden: tuple[int, ...] = (64, 64)
    """Widths of the layers after them."""
    layer_norm: bool = False
    """Whether each of these layers is followed by a layer normalisation."""
    recurrent: int = 0
    """Width of the recurrent recurrent; 0 for none."""

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        check_hidden(self.channels, "channels")
        check_hidden(self.hidden)
        if type(self.recurrent) is not int or not 0 <= self.recurrent <= MAX_WIDTH:
            raise InputError(f"recurrent is {shown(self.recurrent)}; it takes a whole number from 0 to {MAX_WIDTH}")


def check_hidden(hidden: object, name: str = "hidden") -> None:
    """Complain about layer sizes that make no network."""
    sizes = hidden if isinstance(hidden, (list, tuple)) else ()
    if not 0 < len(sizes) <= 8 or not all(type(size) is int and 0 < size <= MAX_WIDTH for size in sizes):
        raise InputError(f"{name} is {shown(hidden)}; it takes 1 to 8 layer sizes from 1 to {MAX_WIDTH}")
