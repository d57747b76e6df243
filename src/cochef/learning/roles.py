"""Who plays the two roles of a training game; needs no JAX.

Learner 0 plays role 0, in the seat that is drawn for the episode. Role 1 has the other seat; it is
played by a learner, by a copy of learner 0 that is not trained, or by a frozen partner from a pool.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class LearnerRole:
    """Played by a learner of the member, which is also trained on this role's transitions."""

    learner: int


@dataclass(frozen=True)
class CopyRole:
    """Played by a copy of learner 0 that is not trained."""

    decay: float = 0.0
    """After each update the copy is decay * copy + (1 - decay) * learner; 0 copies the learner."""
    random_actions: float = 0.0
    """The probability that it takes a uniformly drawn action instead of its own."""


@dataclass(frozen=True)
class PoolRole:
    """Played by a frozen partner, drawn from a pool for every episode."""


Role = LearnerRole | CopyRole | PoolRole


@dataclass(frozen=True)
class Roles:
    """The two roles of a game, by the second; learner 0 plays the first."""

    second: Role

    @property
    def learners(self) -> int:
        """Learners of a member."""
        return 1 + self.second.learner if isinstance(self.second, LearnerRole) else 1

    @property
    def trained(self) -> int:
        """How many of the two roles are trained; they come first."""
        return 2 if isinstance(self.second, LearnerRole) else 1

    @property
    def are_one_learner(self) -> bool:
        """Whether one learner plays both roles, so that it does not matter who sits where."""
        return self.second == LearnerRole(0)


SELF_PLAY = Roles(LearnerRole(0))
TWO_LEARNERS = Roles(LearnerRole(1))
WITH_POOL = Roles(PoolRole())
