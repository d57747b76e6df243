"""Who plays the two roles of a training game; needs no JAX.

Role 0 sits in the seat that is drawn for the episode, role 1 in the other. A role is played by a
learner, by a copy of a learner that is not trained, or by a frozen partner from a pool.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class LearnerRole:
    """Played by a learner of the member, which is trained on what it plays here."""

    learner: int = 0


@dataclass(frozen=True)
class CopyRole:
    """Played by a copy of a learner that is not trained."""

    learner: int = 0
    decay: float = 0.0
    """After each update the copy is decay * copy + (1 - decay) * learner; 0 keeps it up to date."""
    random_actions: float = 0.0
    """The share of its actions that are drawn uniformly instead."""


@dataclass(frozen=True)
class PoolRole:
    """Played by a frozen partner, drawn from a pool for every episode."""


Role = LearnerRole | CopyRole | PoolRole


@dataclass(frozen=True)
class Roles:
    """The two roles of a game. Learner 0 always plays the first."""

    second: Role
    first: LearnerRole = LearnerRole(0)

    @property
    def learners(self) -> int:
        """Learners of a member."""
        return 1 if not isinstance(self.second, LearnerRole) else 1 + self.second.learner

    @property
    def trained(self) -> int:
        """How many of the two roles are trained; they come first."""
        return 2 if isinstance(self.second, LearnerRole) else 1

    @property
    def are_one_learner(self) -> bool:
        """Whether one learner plays both roles, so that it does not matter who sits where."""
        return self.second == self.first


SELF_PLAY = Roles(LearnerRole(0))
TWO_LEARNERS = Roles(LearnerRole(1))
WITH_POOL = Roles(PoolRole())
