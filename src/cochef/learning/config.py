"""How learners learn: settings that can be read without loading what learns."""

from dataclasses import dataclass, field, replace

from cochef.agents.network_config import NetworkConfig
from cochef.errors import InputError, shown


@dataclass(frozen=True)
class Schedule:
    """A number that changes evenly from one value to another over some steps of a learner, and then stays."""

    start: float
    end: float
    steps: int

    def __post_init__(self) -> None:
        """Refuse a schedule over no steps."""
        if self.steps < 1:
            raise InputError(f"a schedule over {shown(self.steps)} steps; it takes at least 1")


@dataclass(frozen=True)
class TrainingConfig:
    """PPO as in the paper, and how long; all numbers are per policy."""

    kitchens: int = 64
    """Kitchens that are played at once."""
    steps: int = 100
    """Steps in each of them between two updates."""
    scattered: float = 0.25
    """Share of the kitchens whose episodes begin in a random state; they do not count in what is reported."""
    total: int = 1_000_000
    """Environment steps in all."""
    epochs: int = 4
    """How often each update goes through what was played."""
    minibatches: int = 4
    """In how many parts it does."""
    chunk: int = 10
    """Steps through which a recurrent learner's gradients flow; they start from the memory it had when playing."""
    learning_rate: Schedule = Schedule(1e-3, 1e-3, 1)
    adam_epsilon: float = 1e-5
    weight_decay: float = 0.0
    gradient_norm: float = 10.0
    """The gradients of actor and critic are each cut to this length."""
    clip: float = 0.2
    """How far a probability may move from the one it was played with, as a share of it."""
    entropy: Schedule = Schedule(0.03, 0.01, 1_000_000)
    """What uncertainty about the action is worth."""
    discount: float = 0.99
    trace: float = 0.95
    """Lambda of the generalised advantage estimate."""
    value_clip: float = 0.2
    """How far a value may move from the one it was played with, in normalised units."""
    value_weight: float = 1.0
    huber: float = 10.0
    """Errors of values beyond this count linearly."""
    value_decay: float = 0.99999
    """Memory of the running mean and variance that normalise values."""
    shaping: Schedule = Schedule(1.0, 0.0, 1_000_000)
    """The share of the helping reward."""
    snapshots: int = 20
    """How often the actors are kept on the way; the first is kept after the first update, the last at the end."""
    network: NetworkConfig = field(default_factory=NetworkConfig)

    def __post_init__(self) -> None:
        """Refuse what cannot be trained."""
        for name in ("kitchens", "steps", "total", "epochs", "minibatches", "chunk"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 1:
                raise InputError(f"{name} is {shown(getattr(self, name))}; it takes a whole number from 1")
        if type(self.snapshots) is not int or self.snapshots < 2:
            raise InputError(f"snapshots is {shown(self.snapshots)}; it takes a whole number from 2")
        for name in ("adam_epsilon", "gradient_norm", "clip", "value_clip", "huber"):
            if not 0 < getattr(self, name) < float("inf"):
                raise InputError(f"{name} is {shown(getattr(self, name))}; it takes a number above 0")
        for name in ("discount", "trace", "value_decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} is {shown(getattr(self, name))}; it takes a number from 0 to 1")
        if not 0 <= self.scattered < 1:
            raise InputError(f"scattered is {shown(self.scattered)}; it takes a share from 0 to below 1")
        self._check_blocks()

    def _check_blocks(self) -> None:
        if self.steps % self.block:
            raise InputError(f"{self.steps} steps in chunks of {self.block}; the chunk must divide the steps")
        if self.steps // self.block % self.minibatches:
            raise InputError(
                f"{self.minibatches} minibatches of {self.steps // self.block} blocks of {self.block} steps; "
                "they must divide the blocks"
            )
        if self.iterations < 1:
            raise InputError(f"total is {self.total}; an update alone takes {self.steps * self.kitchens} steps")

    @property
    def block(self) -> int:
        """Steps that stay together when what was played is shuffled."""
        return self.chunk if self.network.memory else 1

    @property
    def scattered_kitchens(self) -> int:
        """Kitchens whose episodes begin in a random state."""
        return int(self.scattered * self.kitchens)

    @property
    def steps_per_iteration(self) -> int:
        """Environment steps of one policy between two updates."""
        return self.kitchens * self.steps

    @property
    def iterations(self) -> int:
        """How often is played and updated."""
        return self.total // self.steps_per_iteration

    def lasting(self, total: int) -> "TrainingConfig":
        """The same over another number of steps: what changes with time does so in proportion."""
        if total < 1:
            raise InputError(f"total is {shown(total)}; it takes a whole number from 1")
        stretched = {
            name: replace(schedule, steps=max(1, round(schedule.steps * total / self.total)))
            for name, schedule in vars(self).items()
            if isinstance(schedule, Schedule)
        }
        return replace(self, total=total, **stretched)

    @property
    def snapshot_iterations(self) -> tuple[int, ...]:
        """After which iterations the actors are kept."""
        last = self.iterations
        marks = {1 + round(number * (last - 1) / (self.snapshots - 1)) for number in range(self.snapshots)}
        return tuple(sorted(marks))
