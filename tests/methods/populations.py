"""Populations that learn conventions."""

import jax
import jax.numpy as jnp

from cochef.agents.network_config import NetworkConfig
from cochef.learning.config import Schedule, TrainingConfig
from cochef.learning.population import RewardWeights
from cochef.learning.trainer import Trainer

CONFIG = TrainingConfig(
    kitchens=32,
    rollout_steps=4,
    random_starts=0.0,
    epochs=4,
    minibatches=1,
    learning_rate=Schedule(5e-3, 5e-3, 1),
    entropy=Schedule(0.01, 0.01, 1),
    network=NetworkConfig(hidden=(16,)),
)


def task_weights(environment, members):
    """Both roles are rewarded for the task."""
    nothing = jnp.zeros((members, 2, environment.events))
    return RewardWeights(nothing, jnp.ones((members, 2)), nothing)


def train(environment, algorithm, weights, seed, iterations, config=CONFIG):
    """The population at the end, and the metrics of its last iteration."""
    trainer = Trainer(environment, algorithm, config, weights, jax.random.key(seed))
    state = trainer.begin()
    for iteration in range(iterations):
        state, metrics = trainer.iterate(state, iteration)
    return state, metrics
