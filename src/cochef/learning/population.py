"""What a population is: its algorithm, its rewards, where it begins, and all that changes."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Array, Bool, Float, Int, Key

from cochef.agents.networks import Network, ValueHead
from cochef.learning.collect import Kitchens, Rollout
from cochef.learning.ppo import LearnerState, UpdateMetrics
from cochef.learning.returns import ValueNormalizer
from cochef.learning.roles import SELF_PLAY, Roles
from cochef.pytree import pytree


@pytree
class RewardWeights:
    """What each role of each member is rewarded for.

    The reward of a step is (events + b * shaping) . (the role's own events) + task * (the task
    reward of both chefs), where b follows `TrainingConfig.shaping`, mostly from 1 to 0.
    """

    events: Float[Array, "members roles events"]
    task: Float[Array, "members roles"]
    shaping: Float[Array, "members roles events"]


@pytree
class Parents:
    """The policies that learners begin as, instead of with fresh weights."""

    actors: Network  # [members, learners]; feed-forward
    taken: Bool[Array, "members learners"]  # which learners have a parent


@pytree
class Origin:
    """Learners that are trained further, as they were; without a critic, that one is fresh."""

    actors: Network  # [members, learners]
    critics: Network | ValueHead | None
    value_normalizers: ValueNormalizer | None


IntrinsicReward = Callable[[Network, Rollout], Float[Array, "time members roles kitchens"]]
AuxiliaryLoss = Callable[[Network, Rollout, Key[Array, ""]], Float[Array, ""]]


@dataclass(frozen=True)
class Algorithm:
    """How the training of populations differs. It is hashable: each has a compiled program.

    Intrinsic reward and auxiliary loss get the actors of the whole population, [all members, ...],
    and the rollout of this device's members.
    """

    roles: Roles = SELF_PLAY
    intrinsic_reward: IntrinsicReward | None = None
    """Added to the rewards for events and task."""
    auxiliary_loss: AuxiliaryLoss | None = None
    """Added to PPO's loss in every gradient step."""

    @property
    def members_meet(self) -> bool:
        """Whether members learn from each other, so that their population cannot be split."""
        return bool(self.intrinsic_reward or self.auxiliary_loss)


@pytree
class TrainState:
    """All that changes during training; every array has the members first."""

    members: Int[Array, " members"]
    learners: LearnerState  # [members, learners]
    copies: Network | None  # [members], if a copy plays the second role
    kitchens: Kitchens
    critic_carry: Float[Array, "members learners rows carry"]  # before the next rollout
    restarted: Bool[Array, " members"]  # who began anew: see `TrainingConfig.restart_at`


@pytree
class IterationMetrics:
    """Metrics of an iteration, per member."""

    task_return: Float[Array, " members"]  # mean task return of an episode
    objective_return: Float[Array, "members roles"]  # of all that a role is rewarded for
    events: Float[Array, "members roles events"]  # mean counts of an episode
    partner_returns: Float[Array, "members partners"] | None  # average, if there is a pool
    update: UpdateMetrics  # [members, learners]
