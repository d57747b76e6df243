"""The second stage, the same for every method: one recurrent agent that adapts to a whole pool.

It plays with frozen partners, in either seat, for the task reward and an annealed shaped reward
(section 5.1 of the HSP paper). Only its critic is told who the partner is.
"""

import jax
import jax.numpy as jnp

from cochef.kitchen.layout import Layout
from cochef.learning.config import TrainingConfig
from cochef.learning.environments import KitchenEnvironment
from cochef.learning.partner_sampling import PartnerPool
from cochef.learning.reward_config import RewardConfig, as_vector
from cochef.learning.roles import WITH_POOL
from cochef.learning.trainer import Algorithm, RewardWeights, Trainer

ALGORITHM = Algorithm(WITH_POOL)


def adaptive_agents(
    layout: Layout,
    rewards: RewardConfig,
    config: TrainingConfig,
    pool: PartnerPool,
    agents: int,
    seed: int,
) -> Trainer:
    """Agents that differ in nothing but chance; each plays with the whole pool."""
    shaping = jnp.asarray(as_vector(rewards.adaptive_shaping))
    shaping = jnp.broadcast_to(shaping, (agents, 1, KitchenEnvironment.events))
    weights = RewardWeights(jnp.zeros_like(shaping), jnp.ones((agents, 1)), shaping)
    environment = KitchenEnvironment(layout, config.network.observation)
    return Trainer(environment, ALGORITHM, config, weights, jax.random.key(seed), pool)
