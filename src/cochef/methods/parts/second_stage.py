"""The second stage, the same for every method: one recurrent agent that adapts to a whole pool.

The adaptive policy pi_A maximises the expected task reward with partners drawn from the pool
(equation 1 and the loop of algorithm 2 in the HSP paper, sections 5.1 and 5.3). The partners are
frozen and sit in either seat; an annealed shaped reward helps at first (appendix E.3). Only the
critic is told who the partner is: pi_A has to infer it from what it observes.
"""

import jax
import jax.numpy as jnp

from cochef.agents.networks import Network
from cochef.kitchen.layout import Layout
from cochef.learning.config import TrainingConfig
from cochef.learning.environments import KitchenEnvironment
from cochef.learning.partner_sampling import PartnerPool
from cochef.learning.population import Algorithm, Parents, RewardWeights
from cochef.learning.reward_config import RewardConfig, as_vector
from cochef.learning.roles import WITH_POOL
from cochef.learning.trainer import Trainer

ALGORITHM = Algorithm(WITH_POOL)


def adaptive_agents(
    layout: Layout,
    rewards: RewardConfig,
    config: TrainingConfig,
    pool: PartnerPool,
    agents: int,
    seed: int,
    parents: Network | None = None,
) -> Trainer:
    """Adaptive agents that differ in their random numbers only; each plays with the whole pool.

    They may begin as some policies, [agents].
    """
    # One role is trained; the partner's is not rewarded.
    shaping = jnp.asarray(as_vector(rewards.adaptive_shaping))
    shaping = jnp.broadcast_to(shaping, (agents, 1, KitchenEnvironment.events))
    weights = RewardWeights(jnp.zeros_like(shaping), jnp.ones((agents, 1)), shaping)
    return Trainer(
        environment=KitchenEnvironment(layout, config.network.observation),
        algorithm=ALGORITHM,
        config=config,
        weights=weights,
        key=jax.random.key(seed),
        pool=pool,
        parents=None if parents is None else _all_begin_as(parents),
    )


def _all_begin_as(policies: Network) -> Parents:
    """Every agent begins as the policy of its number."""
    actors = jax.tree.map(lambda leaf: leaf[:, None], policies)
    agents = actors.head.bias.shape[0]
    return Parents(actors, jnp.ones((agents, 1), bool))
