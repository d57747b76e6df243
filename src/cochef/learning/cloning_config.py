"""How people are cloned: settings that can be read without loading what learns."""

from dataclasses import dataclass

from cochef.agents.network_config import check_hidden
from cochef.errors import InputError


@dataclass(frozen=True)
class CloningConfig:
    """How people are cloned."""

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 1e-3
    weight_decay: float = 0.1
    dropout: float = 0.3  # share of the hidden units that rest in a training step
    averaging: float = 0.999  # what the running average of the parameters keeps in a training step
    batch: int = 128
    epochs: int = 80
    folds: int = 5  # each is predicted by a network that was trained without it
    stretch: int = 50  # steps that go to one fold together: neighbours are nearly the same

    def __post_init__(self) -> None:
        """Complain about settings that nothing can be learned with."""
        for name, least in {"batch": 1, "epochs": 1, "folds": 2, "stretch": 1}.items():
            if getattr(self, name) < least:
                raise InputError(
                    f"{name} is {getattr(self, name)}; it takes a whole number from {least}"
                )
        if not 0 < self.learning_rate < 1:
            raise InputError(
                f"learning_rate is {self.learning_rate}; it takes a number between 0 and 1"
            )
        for name in ("weight_decay", "dropout", "averaging"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(
                    f"{name} is {getattr(self, name)}; it takes a number from 0 to below 1"
                )
        check_hidden(self.hidden)
