"""The second stage, the same for every method: one recurrent agent that gets used to whoever is in the pool.

It plays with frozen policies, in either seat, for the task's reward and a share of a helping one (section 5.1 of the
paper). Who the partner is only its critic is told.
"""

import jax
import jax.numpy as jnp

from cochef.kitchen.layout import Layout
from cochef.learning.collect import Seating
from cochef.learning.config import TrainingConfig
from cochef.learning.environments import KitchenEnvironment
from cochef.learning.partner_sampling import Pool
from cochef.learning.reward_config import RewardConfig, as_vector
from cochef.learning.trainer import Recipe, Trainer, Utility

RECIPE = Recipe(Seating.POOL)


def agents(layout: Layout, rewards: RewardConfig, config: TrainingConfig, pool: Pool, members: int, seed: int) -> Trainer:
    """Learners that differ in nothing but chance; each plays with the whole pool."""
    shaping = jnp.broadcast_to(jnp.asarray(as_vector(rewards.adaptive_shaping)), (members, 1, KitchenEnvironment.events))
    utility = Utility(jnp.zeros_like(shaping), jnp.ones((members, 1)), shaping)
    return Trainer(KitchenEnvironment(layout, config.network.eyes), RECIPE, config, utility, jax.random.key(seed), pool)
