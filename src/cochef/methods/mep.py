"""Maximum entropy population (Zhao et al. 2023): do well, and not what the others would do."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from cochef.agents.networks import Network
from cochef.kitchen.layout import Layout
from cochef.learning.collect import Rollout
from cochef.learning.config import TrainingConfig
from cochef.learning.ppo import chosen_log_probs
from cochef.learning.reward_config import RewardConfig
from cochef.learning.trainer import Recipe, Trainer
from cochef.methods import selfplay

WEIGHT = 0.01


@dataclass(frozen=True)
class PopulationEntropy:
    """The bonus alpha * -log(1/N sum_j pi_j(a | s)): what no policy of the population would do is worth most."""

    weight: float = WEIGHT

    def __call__(self, everyone: Network, played: Rollout) -> Float[Array, "time members 2 kitchens"]:
        """The bonus of every step that was played."""
        time, members, roles, kitchens = played.actions.shape
        views = played.views[:-1].reshape(time * members * roles * kitchens, *played.views.shape[4:])
        actions = played.actions.reshape(-1)

        def probability(one: Network) -> Float[Array, " rows"]:
            logits, _ = one.step(views, one.begin(len(views)))
            return jnp.exp(chosen_log_probs(jax.nn.log_softmax(logits), actions))

        mean = jax.lax.map(probability, everyone).mean(axis=0)
        return -self.weight * jnp.log(mean).reshape(time, members, roles, kitchens)


def population(
    layout: Layout, rewards: RewardConfig, config: TrainingConfig, members: int, seed: int, weight: float = WEIGHT
) -> Trainer:
    """Learners that are rewarded for surprising the population they belong to."""
    recipe = Recipe(bonus=PopulationEntropy(weight))
    return selfplay.population(layout, rewards, config, members, seed, recipe)
