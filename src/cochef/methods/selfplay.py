"""Self-play: one learner in both seats. Everybody wants the task; FCP's population is made of it."""

import jax
import jax.numpy as jnp

from cochef.kitchen.constants import SEATS
from cochef.kitchen.layout import Layout
from cochef.learning.config import TrainingConfig
from cochef.learning.environments import KitchenEnvironment
from cochef.learning.reward_config import RewardConfig, as_vector
from cochef.learning.trainer import Recipe, Trainer, Utility

RECIPE = Recipe()


def population(
    layout: Layout, rewards: RewardConfig, config: TrainingConfig, members: int, seed: int, recipe: Recipe = RECIPE
) -> Trainer:
    """Learners that play with themselves for the task's reward."""
    game = KitchenEnvironment(layout, config.network.eyes)
    return Trainer(game, recipe, config, task(rewards, members), jax.random.key(seed))


def task(rewards: RewardConfig, members: int) -> Utility:
    """Both roles want the task's reward, and learn with a helping one."""
    shaping = jnp.asarray(as_vector(rewards.shaping))
    everywhere = jnp.broadcast_to(shaping, (members, SEATS, len(shaping)))
    return Utility(jnp.zeros_like(everywhere), jnp.ones((members, SEATS)), everywhere)
