"""Layers of neural networks, with orthogonal initial weights."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

HIDDEN_SCALE = math.sqrt(2.0)  # of initial weights before a rectifier
_EPSILON = 1e-5


def orthogonal(
    key: Key[Array, ""], rows: int, columns: int, scale: float
) -> Float[Array, "rows columns"]:
    """Random weights whose shorter side is a set of orthogonal vectors of length `scale`.

    By Gram-Schmidt, twice for accuracy. JAX's own initialiser factorises by LAPACK, and two such
    calls at once, as for a population on several cores, wait for each other for ever.
    """
    short, long = sorted((rows, columns))
    drawn = jax.random.normal(key, (short, long))

    def orthogonalise(
        number: Int[Array, ""], vectors: Float[Array, "short long"]
    ) -> Float[Array, "short long"]:
        vector = vectors[number]
        before = jnp.where(jnp.arange(short)[:, None] < number, vectors, 0.0)
        for _ in range(2):
            vector = vector - (before @ vector) @ before
        return vectors.at[number].set(vector / jnp.linalg.norm(vector))

    weights = scale * jax.lax.fori_loop(0, short, orthogonalise, drawn)
    return weights if rows == short else weights.T


class Linear(eqx.Module):
    """A linear layer with orthogonal initial weights."""

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"]

    def __init__(self, inputs: int, outputs: int, scale: float, key: Key[Array, ""]) -> None:
        """Initialise the weights."""
        self.weight = orthogonal(key, inputs, outputs, scale)
        self.bias = jnp.zeros(outputs)

    def __call__(self, signal: Float[Array, "*batch inputs"]) -> Float[Array, "*batch outputs"]:
        """Apply the layer."""
        return signal @ self.weight + self.bias


class LayerNorm(eqx.Module):
    """Layer normalisation with a learned scale and shift."""

    scale: Float[Array, " width"]
    shift: Float[Array, " width"]

    def __init__(self, width: int) -> None:
        """Initialise to scale 1 and shift 0."""
        self.scale = jnp.ones(width)
        self.shift = jnp.zeros(width)

    def __call__(self, signal: Float[Array, "*batch width"]) -> Float[Array, "*batch width"]:
        """Apply the normalisation."""
        centred = signal - signal.mean(axis=-1, keepdims=True)
        spread = jax.lax.rsqrt((centred**2).mean(axis=-1, keepdims=True) + _EPSILON)
        return centred * spread * self.scale + self.shift


class Convolution(eqx.Module):
    """A 3 x 3 convolution that keeps height and width."""

    kernel: Float[Array, "3 3 inputs outputs"]
    bias: Float[Array, " outputs"]

    def __init__(self, inputs: int, outputs: int, key: Key[Array, ""]) -> None:
        """Initialise the weights."""
        flat = orthogonal(key, 9 * inputs, outputs, HIDDEN_SCALE)
        self.kernel = flat.reshape(3, 3, inputs, outputs)
        self.bias = jnp.zeros(outputs)

    def __call__(
        self, planes: Float[Array, "n height width inputs"]
    ) -> Float[Array, "n height width outputs"]:
        """Apply the convolution."""
        axes = ("NHWC", "HWIO", "NHWC")
        filtered = jax.lax.conv_general_dilated(
            planes, self.kernel, (1, 1), "SAME", dimension_numbers=axes
        )
        return filtered + self.bias
