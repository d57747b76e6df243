"""Sizes of networks, checked where they enter. Importing this loads no JAX."""

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from cochef import validation
from cochef.errors import InputError, shown

MAX_WIDTH = 4096


class ObservationKind(Enum):
    """How a network observes a kitchen."""

    COMPACT = "compact"
    GRID = "grid"


class RecurrentKind(Enum):
    """What a recurrent layer is."""

    GRU = "gru"
    """A gated recurrent unit after the last dense layer, as in the paper."""
    MINGRU = "mingru"
    """Gates that see the input alone (Feng et al. 2024), as a residual branch that starts small."""


@dataclass(frozen=True)
class NetworkConfig:
    """How the networks of an actor and its critic are built."""

    observation: ObservationKind = ObservationKind.COMPACT
    """What they observe: the compact vector, or the grid of 26 planes."""
    channels: tuple[int, ...] = (32, 64, 32)
    """Channels of the 3 x 3 convolutions on the grid."""
    hidden: tuple[int, ...] = (64, 64)
    """Widths of the layers after them."""
    layer_norm: bool = False
    """Whether each of these layers is followed by a layer normalisation."""
    recurrent: int = 0
    """Width of the recurrent layer; 0 for none."""
    recurrent_kind: RecurrentKind = RecurrentKind.GRU
    """What the recurrent layer is. A minGRU is as wide as the dense layer it stands beside."""
    shared_trunk: bool = False
    """Whether the critic takes the actor's features instead of having layers of its own."""

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        check_hidden(self.channels, "channels")
        check_hidden(self.hidden)
        validation.whole_number(self.recurrent, "recurrent", 0, MAX_WIDTH)
        beside = self.hidden[self.recurrent_after]
        is_mingru = self.recurrent_kind is RecurrentKind.MINGRU
        if self.recurrent and is_mingru and self.recurrent != beside:
            raise InputError(
                f"recurrent is {self.recurrent} beside a layer of {beside}; a minGRU is as wide"
            )

    def to_json(self) -> dict[str, Any]:
        """The settings as a file has them."""
        kinds = {"observation": self.observation.value, "recurrent_kind": self.recurrent_kind.value}
        return asdict(self) | kinds

    def check_inherits(self) -> None:
        """Raise an error if it cannot begin as a feed-forward policy."""
        if self.recurrent and self.recurrent_kind is RecurrentKind.GRU:
            raise InputError(
                "parents with a GRU between layers and head; a learner begins as a feed-forward "
                "policy with a minGRU or no recurrent layer: begin from scratch"
            )

    @property
    def recurrent_after(self) -> int:
        """The dense layer that a minGRU stands beside: the last but one, so that one mixes both."""
        return max(0, len(self.hidden) - 2)


def check_hidden(hidden: object, name: str = "hidden") -> None:
    """Refuse layer widths that make no network."""
    widths = hidden if isinstance(hidden, list | tuple) else ()
    fits = all(type(width) is int and 0 < width <= MAX_WIDTH for width in widths)
    if not 0 < len(widths) <= 8 or not fits:
        raise InputError(
            f"{name} is {shown(hidden)}; it takes 1 to 8 layer sizes from 1 to {MAX_WIDTH}"
        )
