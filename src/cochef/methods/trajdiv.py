"""Trajectory diversity: adapts to policies whose trajectories tell them apart.

The policies learn together, each in self-play, and also maximise the Jensen-Shannon divergence of
their trajectories (TrajeDi, Lupu et al. 2021). Like the HSP paper, and unlike Lupu et al., the
adaptive agent is trained afterwards, in a second stage (appendix D.2 of the HSP paper).

In the names below, `policies` are all N policies, `members` those whose trajectories are given, and
`rows` their trajectories; `log_probs[j, m, t, r]` is how likely policy j would have acted as member
m did in step t of its trajectory r.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from cochef.agents.networks import Network
from cochef.learning import axes
from cochef.learning.collect import Rollout
from cochef.learning.iteration import AXIS
from cochef.learning.population import Algorithm
from cochef.learning.ppo import chosen_log_probs
from cochef.methods.parts.method import Method, PopulationSpec, doubled, first_line
from cochef.methods.parts.pools import all_levels

# PPO's clipping in the paper. The policy's own surrogate is clipped by `TrainingConfig.clip`; this
# loss does not see the configuration.
CLIP = 0.2


def divergence(
    log_probs: Float[Array, "policies members time rows"],
    members: Int[Array, " members"],
    episode_start: Bool[Array, "members time rows"],
    discount: float,
) -> Float[Array, ""]:
    """The Jensen-Shannon divergence of the policies, as the given members' part of it.

    JSD = -1/N sum_i E[tau ~ pi_i] 1/T sum_t log(mean_j d_j,t / d_i,t), where
    d_i,t = prod_t' pi_i(a_t' | s_t')^(g^|t-t'|). g is the action discount, and products stay within
    an episode. The sum over i is over the given members only, so that the devices' parts add up.
    """
    separation = _separation(log_probs, members, _kernel(episode_start, discount))
    return separation.mean(axis=(1, 2)).sum() / log_probs.shape[0]


def objective(
    log_probs: Float[Array, "policies members time rows"],
    old_log_probs: Float[Array, "members time rows"],
    members: Int[Array, " members"],
    episode_start: Bool[Array, "members time rows"],
    discount: float,
) -> Float[Array, ""]:
    """A surrogate for the divergence that also counts how policies change their trajectories.

    The trajectories in `divergence` are samples, so its gradient misses that E[tau ~ pi_i] changes
    with pi_i. A policy-gradient term adds this: an action gets credit for how far the steps around
    it, weighted by the kernel, separate its policy from the others, less the mean. As in PPO, the
    credit counts only until the action's probability has moved too far from the one it was played
    with. For one step the gradient is exact; for more, effects on steps far away are left out.
    """
    kernel = _kernel(episode_start, discount)
    separation = _separation(log_probs, members, kernel)
    # The mean is a baseline: it lowers the variance of the gradient.
    centred = separation - separation.mean(axis=(1, 2), keepdims=True)
    credit = jax.lax.stop_gradient(jnp.einsum("mtr,mtsr->msr", centred, kernel))
    ratio = jnp.exp(_own(log_probs, members) - old_log_probs)
    surrogate = jnp.minimum(ratio * credit, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * credit)
    return (separation + surrogate).mean(axis=(1, 2)).sum() / log_probs.shape[0]


def _kernel(
    episode_start: Bool[Array, "members time rows"], discount: float
) -> Float[Array, "members time time rows"]:
    """The local action kernel: g^|t-t'| within an episode, 0 between episodes."""
    steps = jnp.arange(episode_start.shape[1])
    decay = discount ** jnp.abs(steps[:, None] - steps)
    episode = jnp.cumsum(episode_start, axis=1)
    return jnp.where(episode[:, :, None] == episode[:, None], decay[None, :, :, None], 0.0)


def _separation(
    log_probs: Float[Array, "policies members time rows"],
    members: Int[Array, " members"],
    kernel: Float[Array, "members time time rows"],
) -> Float[Array, "members time rows"]:
    """log(d_i,t / mean_j d_j,t) of each member i on its own trajectories."""
    # log d_j,t sums the log-probabilities of all steps s around t. The authors' code weights step
    # t's own log-probability by its kernel's sum instead, which looks like a slip.
    log_d = jnp.einsum("jmsr,mtsr->jmtr", log_probs, kernel)
    log_mean_d = jax.nn.logsumexp(log_d, axis=0) - jnp.log(log_probs.shape[0])
    return _own(log_d, members) - log_mean_d


def _own(
    by_policy: Float[Array, "policies members time rows"], members: Int[Array, " members"]
) -> Float[Array, "members time rows"]:
    """What each member's own policy has on its trajectories; `members` are its policies."""
    return jnp.take_along_axis(by_policy, members[None, :, None, None], axis=0)[0]


@dataclass(frozen=True)
class TrajectoryDiversity:
    """A loss that raises alpha * JSD (Lupu et al. 2021, eq. 6).

    It is computed on few trajectories of each member, drawn anew for every gradient step: every
    policy is evaluated on the trajectories of all members, so whole rollouts would cost about N
    times as much as PPO's own loss. One trajectory a member costs twice as much as that loss.
    """

    weight: float = 0.1
    """alpha, the HSP paper's diversity coefficient."""
    action_discount: float = 0.5
    """g, the HSP paper's traj. gamma."""
    rows: int = 1
    """Trajectories of a member in a gradient step: ours, the paper does not say."""

    def __call__(
        self, population: Network, rollout: Rollout, key: Key[Array, ""]
    ) -> Float[Array, ""]:
        """The loss: minus alpha times the objective."""
        _, members, roles, kitchens = rollout.actions.shape
        rows = roles * kitchens
        drawn = jax.random.randint(key, (min(self.rows, rows),), 0, rows)
        role = drawn // kitchens
        kitchen = drawn % kitchens
        observations = axes.members_first(rollout.observations[:-1, :, role, kitchen])
        actions = axes.members_first(rollout.actions[:, :, role, kitchen])
        old_log_probs = axes.members_first(rollout.log_probs[:, :, role, kitchen])
        episode_start = axes.members_first(rollout.episode_start[:-1, :, kitchen])

        def log_probs(policy: Network) -> Float[Array, "members time rows"]:
            # The carry is empty: policies of a first stage are feed-forward (section 5.3, HSP).
            logits, _ = policy.step(observations, policy.initial_carry(*actions.shape))
            return chosen_log_probs(jax.nn.log_softmax(logits), actions)

        # This device holds a block of the members; `first` is its first one's number among all.
        first = jax.lax.axis_index(AXIS) * members
        return -self.weight * objective(
            jax.vmap(log_probs)(population),
            old_log_probs,
            first + jnp.arange(members),
            episode_start,
            self.action_discount,
        )


POPULATION = PopulationSpec("trajdiv", Algorithm(auxiliary_loss=TrajectoryDiversity()))

METHOD = Method(
    name="trajdiv",
    title="Trajectory diversity",
    citation="Lupu et al. 2021",
    summary=first_line(__doc__),
    populations=(POPULATION,),
    pool=all_levels,
    variants={"double": doubled},
)
