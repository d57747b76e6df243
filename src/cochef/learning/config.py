"""Training settings; can be read without loading JAX."""

import math
from dataclasses import dataclass, field, replace

from cochef.agents.network_config import NetworkConfig
from cochef.errors import InputError
from cochef.validation import number, positive_number, share_below_one, whole_number

MAX_STEPS = 2**31 - 1  # compiled programs count steps in 32 bits
_MOST_ADDED = 0.25  # share of kitchens that are added so that all partners have equally many


@dataclass(frozen=True)
class Schedule:
    """A number that changes linearly over some steps of a learner, and then stays."""

    start: float
    end: float
    steps: int

    def __post_init__(self) -> None:
        """Refuse a schedule over no steps."""
        whole_number(self.steps, "steps of a schedule", 1)


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of PPO, per policy; presets change some defaults (docs/appendix/tuning.md)."""

    kitchens: int = 64
    """Kitchens that are stepped in parallel."""
    rollout_steps: int = 100
    """Steps in each kitchen between two updates."""
    random_starts: float = 0.25
    """Share of the kitchens whose episodes begin in a random state.

    They help exploration where rewards are rare, and are left out of the reported returns.
    """
    total_steps: int = 1_000_000
    """Environment steps in all."""
    epochs: int = 4
    """Passes over a rollout in each update."""
    minibatches: int = 4
    """Gradient steps in each pass."""
    chunk: int = 10
    """Length of truncated backpropagation through time, for recurrent networks."""
    learning_rate: Schedule = Schedule(1e-3, 1e-3, 1)
    adam_epsilon: float = 1e-5
    weight_decay: float = 0.0
    max_grad_norm: float = 10.0
    """The gradients of actor and critic are each clipped to this norm."""
    clip: float = 0.2
    """PPO's clipping of the probability ratio."""
    entropy: Schedule = Schedule(0.03, 0.01, 1_000_000)
    """The weight of the entropy bonus."""
    discount: float = 0.99
    gae_lambda: float = 0.95
    value_clip: float = 0.2
    """PPO's clipping of values around those before the update, in normalised units."""
    value_weight: float = 1.0
    huber_delta: float = 10.0
    """Where the Huber loss of values becomes linear, in normalised units."""
    value_norm_decay: float = 0.99999
    """Decay of the running mean and variance that normalise values."""
    shaping: Schedule = Schedule(1.0, 0.0, 1_000_000)
    """The weight of the shaped reward."""
    restart_at: float = 0.0
    """Share of training after which members that earn nothing begin anew, once; 0 for never.

    It concerns members with the task reward alone, whose last rollout had none of it.
    """
    snapshots: int = 20
    """How many snapshots of the actors are saved, from the first update to the last."""
    network: NetworkConfig = field(default_factory=NetworkConfig)

    def __post_init__(self) -> None:
        """Refuse what cannot be trained."""
        for name in ("kitchens", "rollout_steps", "total_steps", "epochs", "minibatches", "chunk"):
            whole_number(getattr(self, name), name, 1, MAX_STEPS)
        whole_number(self.snapshots, "snapshots", 2)
        for name in ("adam_epsilon", "max_grad_norm", "clip", "value_clip", "huber_delta"):
            positive_number(getattr(self, name), name)
        for name in ("weight_decay", "value_weight"):
            number(getattr(self, name), name, 0)
        for name in ("discount", "gae_lambda", "value_norm_decay"):
            number(getattr(self, name), name, 0, 1)
        for name in ("random_starts", "restart_at"):
            share_below_one(getattr(self, name), name)
        self._check_chunks()

    def _check_chunks(self) -> None:
        if self.rollout_steps % self.chunk_length:
            raise InputError(
                f"{self.rollout_steps} steps in chunks of {self.chunk_length}; "
                "the chunk must divide the steps"
            )
        if self.kitchens % self.row_blocks:
            chunks = self.rollout_steps // self.chunk_length
            raise InputError(
                f"{self.minibatches} minibatches of {chunks} chunks of {self.chunk_length} steps "
                f"in {self.kitchens} kitchens; so the kitchens must be a multiple of "
                f"{self.row_blocks}"
            )
        if self.iterations < 1:
            raise InputError(
                f"total_steps is {self.total_steps}; "
                f"an update alone takes {self.steps_per_iteration} steps"
            )

    @property
    def chunk_length(self) -> int:
        """Consecutive steps that stay together when an update shuffles; 1 if not recurrent."""
        return self.chunk if self.network.recurrent else 1

    @property
    def row_blocks(self) -> int:
        """Blocks into which the rows of a chunk are cut, so that minibatches share chunks evenly.

        It is 1 where the minibatches divide the chunks.
        """
        chunks = self.rollout_steps // self.chunk_length
        return self.minibatches // math.gcd(chunks, self.minibatches)

    @property
    def random_start_kitchens(self) -> int:
        """Kitchens whose episodes begin in a random state."""
        return int(self.random_starts * self.kitchens)

    @property
    def restart_iteration(self) -> int:
        """The iteration after which members that earn nothing begin anew; 0 for never."""
        return round(self.restart_at * self.iterations)

    @property
    def steps_per_iteration(self) -> int:
        """Environment steps of one policy between two updates."""
        return self.kitchens * self.rollout_steps

    @property
    def iterations(self) -> int:
        """How many rollouts are collected, each followed by an update."""
        return self.total_steps // self.steps_per_iteration

    def with_partners(self, partners: int) -> "TrainingConfig":
        """These settings with equally many kitchens for each partner of a pool, if few are added.

        The kitchens are rounded up to a multiple of the partners, and of the blocks of an update:
        then partners act by one batched product. Where that took many more, agents with this pool
        would learn from other batches than agents with others; so it keeps its kitchens, and
        partners take turns in them.
        """
        multiple = math.lcm(partners, self.row_blocks)
        rounded = -(-self.kitchens // multiple) * multiple
        few = rounded <= (1 + _MOST_ADDED) * self.kitchens
        return replace(self, kitchens=rounded) if few else self

    def lasting(self, total_steps: int) -> "TrainingConfig":
        """These settings over another number of steps; schedules are stretched in proportion."""
        whole_number(total_steps, "steps", 1)
        stretched = {
            name: replace(
                schedule, steps=max(1, round(schedule.steps * total_steps / self.total_steps))
            )
            for name, schedule in vars(self).items()
            if isinstance(schedule, Schedule)
        }
        return replace(self, total_steps=total_steps, **stretched)

    def settled(self) -> "TrainingConfig":
        """These settings for learners that are trained further.

        All schedules are at their end, and nobody begins anew.
        """
        ended = {
            name: Schedule(schedule.end, schedule.end, 1)
            for name, schedule in vars(self).items()
            if isinstance(schedule, Schedule)
        }
        return replace(self, restart_at=0.0, **ended)

    @property
    def snapshot_iterations(self) -> tuple[int, ...]:
        """The iterations after which a snapshot is saved, evenly spread."""
        last = self.iterations
        intervals = self.snapshots - 1
        marks = {1 + round(number * (last - 1) / intervals) for number in range(self.snapshots)}
        return tuple(sorted(marks))
