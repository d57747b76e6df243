"""How people are cloned: settings that can be read without loading what learns."""

from dataclasses import dataclass

from cochef.agents.sizes import check_hidden
from cochef.errors import InputError


@dataclass(frozen=True)
class CloningConfig:
    """How people are cloned."""

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 1e-3
    batch: int = 128
    epochs: int = 100
    validation: float = 0.15
    stretch: int = 50  # steps that go to training or validation together: neighbours are nearly the same
    seeds: int = 5

    def __post_init__(self) -> None:
        """Complain about settings that nothing can be learned with."""
        for name in ("batch", "epochs", "stretch", "seeds"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it takes a whole number from 1")
        if not 0 < self.learning_rate < 1 or not 0 < self.validation < 1:
            wrong = "validation" if 0 < self.learning_rate < 1 else "learning_rate"
            raise InputError(f"{wrong} is {getattr(self, wrong)}; it takes a number between 0 and 1")
        check_hidden(self.hidden)
