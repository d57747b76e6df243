"""Settings of behaviour cloning; can be read without loading JAX."""

from dataclasses import dataclass
from enum import StrEnum

from cochef.agents.network_config import check_hidden
from cochef.errors import InputError, shown
from cochef.validation import share_below_one, whole_number


class CloningRecipe(StrEnum):
    """How people are cloned."""

    REGULARISED = "regularised"
    """96 features, dropout, decay and averaging, the epoch that predicts people best."""
    CARROLL_2019 = "2019"
    """As Carroll et al. did: 62 features, nothing against overfitting, the last epoch."""


# Epochs of training in 2019, layout by layout.
EPOCHS_2019 = {
    "asymmetric_advantages": 120,
    "coordination_ring": 120,
    "counter_circuit": 110,
    "cramped_room": 100,
    "forced_coordination": 90,
}


@dataclass(frozen=True)
class Cloning2019Config:
    """The settings of 2019, but for the epochs, which differ from layout to layout."""

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 1e-3
    batch: int = 64
    learned: float = 0.85
    """Share of the steps that are learned from; the others only measure."""
    seeds: int = 5
    """Networks, trained from this many seeds; all of them are kept."""


@dataclass(frozen=True)
class CloningConfig:
    """How people are cloned with the recipe `regularised`."""

    hidden: tuple[int, ...] = (64, 64)
    """Sizes of the network's hidden layers."""
    learning_rate: float = 1e-3
    weight_decay: float = 0.1
    dropout: float = 0.3
    """Share of the hidden units that are dropped in a training step."""
    averaging: float = 0.999
    """Decay of the running average of the parameters, per training step."""
    batch: int = 128
    epochs: int = 80
    folds: int = 5
    """Each fold is predicted by a network that was trained without it."""
    stretch: int = 50
    """Steps that go to one fold together: neighbouring steps are nearly the same."""

    def __post_init__(self) -> None:
        """Refuse settings that nothing can be learned with."""
        for name, least in {"batch": 1, "epochs": 1, "folds": 2, "stretch": 1}.items():
            whole_number(getattr(self, name), name, least)
        if not 0 < self.learning_rate < 1:
            raise InputError(
                f"learning_rate is {shown(self.learning_rate)}; it takes a number between 0 and 1"
            )
        for name in ("weight_decay", "dropout", "averaging"):
            share_below_one(getattr(self, name), name)
        check_hidden(self.hidden)
