"""Populations that learn a game of conventions."""

import jax
import jax.numpy as jnp

from cochef.agents.network_config import NetworkConfig
from cochef.learning.config import Schedule, TrainingConfig
from cochef.learning.trainer import Trainer, Utility

CONFIG = TrainingConfig(
    kitchens=32,
    steps=4,
    scattered=0.0,
    epochs=4,
    minibatches=1,
    learning_rate=Schedule(5e-3, 5e-3, 1),
    entropy=Schedule(0.01, 0.01, 1),
    network=NetworkConfig(hidden=(16,)),
)


def task(game, members):
    """Both roles want what the game pays."""
    nothing = jnp.zeros((members, 2, game.events))
    return Utility(nothing, jnp.ones((members, 2)), nothing)


def train(game, recipe, utility, seed, iterations, config=CONFIG):
    trainer = Trainer(game, recipe, config, utility, jax.random.key(seed))
    training = trainer.begin()
    for iteration in range(iterations):
        training, progress = trainer.iterate(training, iteration)
    return training, progress
