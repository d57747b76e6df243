"""The networks of clones of people: our own, and those of Carroll et al. 2019."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from cochef.kitchen.constants import Action
from cochef.kitchen.features import FEATURES, features
from cochef.kitchen.features_2019 import FEATURES_2019, features_2019
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State

Weights = tuple[Float[Array, "..."], ...]


class CloneNetwork(eqx.Module):
    """A small network from the 96 features to the log-odds of the six actions."""

    weights: Weights
    biases: Weights
    # The stuck rule holds from the step on that has so many steps before it.
    history: ClassVar[int] = 3

    def __init__(self, hidden: Sequence[int], key: Key[Array, ""]) -> None:
        """Initialise the weights by He's method."""
        widths = [FEATURES, *hidden, len(Action)]
        draws = [jax.nn.initializers.he_uniform()] * (len(widths) - 1)
        self.weights = _weights(widths, draws, key)
        self.biases = _biases(widths)

    @staticmethod
    def observe(layout: Layout, state: State) -> Float[Array, "2 96"]:
        """The inputs of both seats."""
        return features(layout, state)

    def __call__(self, inputs: Float[Array, "96"]) -> Float[Array, "6"]:
        """The log-odds of the actions."""
        return _log_odds(self.weights, self.biases, jax.nn.relu, inputs)


class CloneNetwork2019(eqx.Module):
    """The network of 2019: from the 62 features through layers with tanh."""

    weights: Weights
    biases: Weights
    # In 2019, the fourth action of an episode was not ruled out yet.
    history: ClassVar[int] = 4

    def __init__(self, hidden: Sequence[int], key: Key[Array, ""]) -> None:
        """Initialise the weights as orthogonal matrices, small ones for the last layer."""
        widths = [FEATURES_2019, *hidden, len(Action)]
        draws = [jax.nn.initializers.orthogonal(math.sqrt(2))] * len(hidden)
        draws.append(jax.nn.initializers.orthogonal(0.01))
        self.weights = _weights(widths, draws, key)
        self.biases = _biases(widths)

    @staticmethod
    def observe(layout: Layout, state: State) -> Float[Array, "2 62"]:
        """The inputs of both seats."""
        return features_2019(layout, state)

    def __call__(self, inputs: Float[Array, "62"]) -> Float[Array, "6"]:
        """The log-odds of the actions."""
        return _log_odds(self.weights, self.biases, jnp.tanh, inputs)


def _weights(
    widths: Sequence[int], draws: Sequence[jax.nn.initializers.Initializer], key: Key[Array, ""]
) -> Weights:
    """The weights of all layers, each drawn by its own initialiser."""
    shapes = list(itertools.pairwise(widths))
    keys = jax.random.split(key, len(shapes))
    return tuple(
        draw(key_layer, shape, jnp.float32)
        for draw, key_layer, shape in zip(draws, keys, shapes, strict=True)
    )


def _biases(widths: Sequence[int]) -> Weights:
    return tuple(jnp.zeros(width) for width in widths[1:])


def _log_odds(
    weights: Weights,
    biases: Weights,
    activation: Callable[[Array], Array],
    inputs: Float[Array, " features"],
) -> Float[Array, "6"]:
    signal = inputs
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        signal = activation(signal @ weight + bias)
    return signal @ weights[-1] + biases[-1]
