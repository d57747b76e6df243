"""Trajectory diversity: adapts to policies whose trajectories tell them apart."""

from collections.abc import Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from cochef.agents.networks import Network
from cochef.learning.collect import Rollout
from cochef.learning.ppo import chosen_log_probs
from cochef.learning.trainer import AXIS, Algorithm
from cochef.methods.parts.method import Method, PopulationSpec, Sizes, doubled, first_line
from cochef.methods.parts.pools import PoolChoice, TrainedPopulation, skill_levels

CLIP = 0.2


def divergence(
    log_probs: Float[Array, "policies members time rows"],
    members: Int[Array, " members"],
    episode_start: Bool[Array, "members time rows"],
    discount: float,
) -> Float[Array, ""]:
    """The Jensen-Shannon divergence of the members' trajectories under all policies.

    JSD = -1/N sum_i E[tau ~ pi_i] 1/T sum_t log(mean_j d_j,t / d_i,t), where N is the number of
    policies and d_i,t = prod_t' pi_i(a_t' | s_t')^(g^|t-t'|) with products that stay within an
    episode. The result is the sum over the given members only.
    """
    apart = _apart(log_probs, members, _kernel(episode_start, discount))
    return apart.mean(axis=(1, 2)).sum() / log_probs.shape[0]


def objective(
    log_probs: Float[Array, "policies members time rows"],
    old_log_probs: Float[Array, "members time rows"],
    members: Int[Array, " members"],
    episode_start: Bool[Array, "members time rows"],
    discount: float,
) -> Float[Array, ""]:
    """A surrogate whose gradient is that of the divergence.

    E[tau ~ pi_i] changes with pi_i, too: an action gets credit for how far the steps around it set
    its policy apart, more than usual. As in PPO, that counts only until the action's probability
    has moved too far from the one it was played with.
    """
    kernel = _kernel(episode_start, discount)
    apart = _apart(log_probs, members, kernel)
    unusual = apart - apart.mean(axis=(1, 2), keepdims=True)
    credit = jax.lax.stop_gradient(jnp.einsum("mtr,mtsr->msr", unusual, kernel))
    ratio = jnp.exp(_own(log_probs, members) - old_log_probs)
    gain = jnp.minimum(ratio * credit, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * credit)
    return (apart + gain).mean(axis=(1, 2)).sum() / log_probs.shape[0]


def _kernel(
    episode_start: Bool[Array, "members time rows"], discount: float
) -> Float[Array, "members time time rows"]:
    """g^|t-t'| within an episode, nothing beyond it."""
    steps = jnp.arange(episode_start.shape[1])
    near = discount ** jnp.abs(steps[:, None] - steps)
    episode = jnp.cumsum(episode_start, axis=1)
    return jnp.where(episode[:, :, None] == episode[:, None], near[None, :, :, None], 0.0)


def _apart(
    log_probs: Float[Array, "policies members time rows"],
    members: Int[Array, " members"],
    kernel: Float[Array, "members time time rows"],
) -> Float[Array, "members time rows"]:
    """log(d_i,t / mean_j d_j,t) of each member's own trajectories."""
    courses = jnp.einsum("jmsr,mtsr->jmtr", log_probs, kernel)
    average = jax.nn.logsumexp(courses, axis=0) - jnp.log(log_probs.shape[0])
    return _own(courses, members) - average


def _own(
    of_all: Float[Array, "policies members time rows"], members: Int[Array, " members"]
) -> Float[Array, "members time rows"]:
    return jnp.take_along_axis(of_all, members[None, :, None, None], axis=0)[0]


@dataclass(frozen=True)
class TrajectoryDiversity:
    """A loss that raises alpha * JSD (Lupu et al. 2021, eq. 6).

    It is computed on the trajectories of a few kitchens, drawn anew for every gradient step.
    """

    weight: float = 0.1
    action_discount: float = 0.5
    rows: int = 4

    def __call__(
        self, population: Network, rollout: Rollout, key: Key[Array, ""]
    ) -> Float[Array, ""]:
        """The loss."""
        _, members, roles, kitchens = rollout.actions.shape
        rows = roles * kitchens
        drawn = jax.random.randint(key, (min(self.rows, rows),), 0, rows)
        role = drawn // kitchens
        kitchen = drawn % kitchens
        observations = _members_first(rollout.observations[:-1, :, role, kitchen])
        actions = _members_first(rollout.actions[:, :, role, kitchen])
        old_log_probs = _members_first(rollout.log_probs[:, :, role, kitchen])
        episode_start = _members_first(rollout.episode_start[:-1, :, kitchen])

        def log_probs(policy: Network) -> Float[Array, "members time rows"]:
            logits, _ = policy.step(observations, policy.initial_carry(*actions.shape))
            return chosen_log_probs(jax.nn.log_softmax(logits), actions)

        # This device has some of the members; their numbers in the whole population follow.
        first = jax.lax.axis_index(AXIS) * members
        return -self.weight * objective(
            jax.vmap(log_probs)(population),
            old_log_probs,
            first + jnp.arange(members),
            episode_start,
            self.action_discount,
        )


def _members_first(leaf: Array) -> Array:
    return jnp.moveaxis(leaf, 0, 1)


def pool(populations: Mapping[str, TrainedPopulation], sizes: Sizes, seed: int) -> list[PoolChoice]:
    """All policies at all levels of skill."""
    return skill_levels("trajdiv", populations["trajdiv"])


POPULATION = PopulationSpec("trajdiv", Algorithm(auxiliary_loss=TrajectoryDiversity()))

METHOD = Method(
    name="trajdiv",
    title="Trajectory diversity",
    citation="Lupu et al. 2021",
    summary=first_line(__doc__),
    populations=(POPULATION,),
    pool=pool,
    variants={"double": doubled},
)
