"""How many multiply-adds an update takes."""

import math

import equinox as eqx
import jax

from cochef.agents.networks import Network, ValueHead
from cochef.agents.recurrent import Gru
from cochef.learning.ppo import new_learner
from cochef.learning.trainer import Trainer


def update_multiply_adds(trainer: Trainer) -> int:
    """Multiply-adds of the layers of all actors and critics in an iteration's update."""
    config = trainer.config
    environment = trainer.environment
    learner = eqx.filter_eval_shape(
        new_learner, config, environment.observation_spec, environment.actions, jax.random.key(0)
    )
    rows = trainer.members * trainer.algorithm.roles.trained * config.steps_per_iteration
    return config.epochs * rows * (multiply_adds(learner.actor) + multiply_adds(learner.critic))


def multiply_adds(network: Network | ValueHead) -> int:
    """Multiply-adds of a network's layers to learn from one row.

    A layer takes three products: forward, the gradient of its weights, and that of its input, which
    the first layer on an observation does not need. Convolutions count as if nothing were cut off
    at the edges.
    """
    if isinstance(network, ValueHead):
        return 3 * sum(math.prod(one.weight.shape) for one in (network.layer, network.head))
    cells = math.prod(network.spec.shape[:-1])
    products = [cells * math.prod(one.kernel.shape) for one in network.convolutions]
    linear = [*network.layers, network.head]
    if isinstance(network.recurrent, Gru):
        linear += [network.recurrent.from_input, network.recurrent.from_carry]
    elif network.recurrent:
        linear.append(network.recurrent.from_input)
    products += [math.prod(layer.weight.shape) for layer in linear]
    return 3 * sum(products) - products[0]
