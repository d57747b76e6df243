"""Trajectory diversity (Lupu et al. 2021): policies whose courses of action tell them apart."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from cochef.agents.networks import Network
from cochef.kitchen.layout import Layout
from cochef.learning.collect import Rollout
from cochef.learning.config import TrainingConfig
from cochef.learning.ppo import chosen_log_probs
from cochef.learning.reward_config import RewardConfig
from cochef.learning.trainer import AXIS, Recipe, Trainer
from cochef.methods import selfplay

WEIGHT = 0.1
ACTION_DISCOUNT = 0.5
ROWS = 4
CLIP = 0.2


def divergence(
    log_probs: Float[Array, "policies members time rows"],
    members: Int[Array, " members"],
    begins: Bool[Array, "members time rows"],
    discount: float,
) -> Float[Array, ""]:
    """The Jensen-Shannon divergence of trajectories of some members, under all policies; summed over those members.

    JSD = -1/N sum_i E[tau ~ pi_i] 1/T sum_t log(mean_j d_j,t / d_i,t), d_i,t = prod_t' pi_i(a_t' | s_t')^(g^|t-t'|),
    where N is the number of policies and products stay within an episode.
    """
    apart = _apart(log_probs, members, _closeness(begins, discount))
    return apart.mean(axis=(1, 2)).sum() / log_probs.shape[0]


def objective(
    log_probs: Float[Array, "policies members time rows"],
    played: Float[Array, "members time rows"],
    members: Int[Array, " members"],
    begins: Bool[Array, "members time rows"],
    discount: float,
) -> Float[Array, ""]:
    """Something whose gradient is the divergence's, although the trajectories were drawn from the policies.

    E[tau ~ pi_i] changes with pi_i too: an action gets credit for how far the steps around it set its policy apart,
    more than usual. As in PPO that counts only until a probability has moved too far from the one it was played with.
    """
    closeness = _closeness(begins, discount)
    apart = _apart(log_probs, members, closeness)
    unusual = apart - apart.mean(axis=(1, 2), keepdims=True)
    credit = jax.lax.stop_gradient(jnp.einsum("mtr,mtsr->msr", unusual, closeness))
    ratio = jnp.exp(_own(log_probs, members) - played)
    gain = jnp.minimum(ratio * credit, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * credit)
    return (apart + gain).mean(axis=(1, 2)).sum() / log_probs.shape[0]


def _closeness(begins: Bool[Array, "members time rows"], discount: float) -> Float[Array, "members time time rows"]:
    """g^|t-t'| within an episode, nothing beyond it."""
    steps = jnp.arange(begins.shape[1])
    near = discount ** jnp.abs(steps[:, None] - steps)
    episode = jnp.cumsum(begins, axis=1)
    return jnp.where(episode[:, :, None] == episode[:, None], near[None, :, :, None], 0.0)


def _apart(
    log_probs: Float[Array, "policies members time rows"],
    members: Int[Array, " members"],
    closeness: Float[Array, "members time time rows"],
) -> Float[Array, "members time rows"]:
    """log(d_i,t / mean_j d_j,t) of each member's own trajectories."""
    courses = jnp.einsum("jmsr,mtsr->jmtr", log_probs, closeness)
    average = jax.nn.logsumexp(courses, axis=0) - jnp.log(log_probs.shape[0])
    return _own(courses, members) - average


def _own(
    of_all: Float[Array, "policies members time rows"], members: Int[Array, " members"]
) -> Float[Array, "members time rows"]:
    return jnp.take_along_axis(of_all, members[None, :, None, None], axis=0)[0]


@dataclass(frozen=True)
class TrajectoryDiversity:
    """A loss that raises alpha * JSD, on trajectories of a few kitchens that are drawn anew for every gradient step."""

    weight: float = WEIGHT
    discount: float = ACTION_DISCOUNT
    rows: int = ROWS

    def __call__(self, everyone: Network, played: Rollout, key: Key[Array, ""]) -> Float[Array, ""]:
        """The loss."""
        _, members, roles, kitchens = played.actions.shape
        drawn = jax.random.randint(key, (min(self.rows, roles * kitchens),), 0, roles * kitchens)
        role, kitchen = drawn // kitchens, drawn % kitchens
        views = jnp.moveaxis(played.views[:-1, :, role, kitchen], 0, 1)
        actions = jnp.moveaxis(played.actions[:, :, role, kitchen], 0, 1)
        before = jnp.moveaxis(played.log_probs[:, :, role, kitchen], 0, 1)
        begins = jnp.moveaxis(played.begins[:-1, :, kitchen], 0, 1)
        log_probs = jax.vmap(lambda one: _log_probs(one, views, actions))(everyone)
        first = jax.lax.axis_index(AXIS) * members
        return -self.weight * objective(log_probs, before, first + jnp.arange(members), begins, self.discount)


def _log_probs(
    one: Network, views: UInt8[Array, "*members_time_rows_view"], actions: Int[Array, "members time rows"]
) -> Float[Array, "members time rows"]:
    logits, _ = one.step(views, one.begin(*actions.shape))
    return chosen_log_probs(jax.nn.log_softmax(logits), actions)


def population(
    layout: Layout, rewards: RewardConfig, config: TrainingConfig, members: int, seed: int, weight: float = WEIGHT
) -> Trainer:
    """Learners that are pushed to act differently from each other over whole stretches of play."""
    recipe = Recipe(penalty=TrajectoryDiversity(weight))
    return selfplay.population(layout, rewards, config, members, seed, recipe)
