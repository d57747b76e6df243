"""Networks of actors and critics: from what a chef sees, and perhaps what it remembers, to some numbers.

Two eyes, one interface: layers on the compact vector for a CPU, and the paper's convolutions on the grid. Both take
bytes with any axes in front.
"""

import math
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from cochef.agents.network_config import NetworkConfig, ObservationKind
from cochef.kitchen.observation import PLANES

_HIDDEN_SCALE = math.sqrt(2.0)
_EPSILON = 1e-5
_SWAPPED = (1, 0, *range(6, 10), *range(2, 6), *range(10, PLANES))  # the planes as the other chef sees them


@dataclass(frozen=True)
class ObservationSpec:
    """What a view is: its shape, and the largest number that each entry (of its last axis) takes."""

    shape: tuple[int, ...]
    peaks: tuple[float, ...]


def orthogonal(key: Key[Array, ""], rows: int, columns: int, scale: float) -> Float[Array, "rows columns"]:
    """Random weights whose shorter side is a set of orthogonal vectors of this length.

    By Gram and Schmidt's method, twice for accuracy: JAX's own initialiser factorises by LAPACK, and two of those
    at once, as for a population on several cores, wait for each other for ever.
    """
    short, long = sorted((rows, columns))
    drawn = jax.random.normal(key, (short, long))

    def straighten(number: Int[Array, ""], vectors: Float[Array, "short long"]) -> Float[Array, "short long"]:
        vector, before = vectors[number], jnp.where(jnp.arange(short)[:, None] < number, vectors, 0.0)
        for _ in range(2):
            vector = vector - (before @ vector) @ before
        return vectors.at[number].set(vector / jnp.linalg.norm(vector))

    found = scale * jax.lax.fori_loop(0, short, straighten, drawn)
    return found if rows == short else found.T


class Linear(eqx.Module):
    """A linear layer, with orthogonal weights of a given scale at first."""

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"]

    def __init__(self, inputs: int, outputs: int, scale: float, key: Key[Array, ""]) -> None:
        """Fresh weights."""
        self.weight = orthogonal(key, inputs, outputs, scale)
        self.bias = jnp.zeros(outputs)

    def __call__(self, signal: Float[Array, "*batch inputs"]) -> Float[Array, "*batch outputs"]:
        """The weighted sums."""
        return signal @ self.weight + self.bias


class LayerNorm(eqx.Module):
    """Brings each row to mean 0 and variance 1, then scales and shifts it."""

    scale: Float[Array, " width"]
    shift: Float[Array, " width"]

    def __init__(self, width: int) -> None:
        """Neither scales nor shifts at first."""
        self.scale, self.shift = jnp.ones(width), jnp.zeros(width)

    def __call__(self, signal: Float[Array, "*batch width"]) -> Float[Array, "*batch width"]:
        """The normalised rows."""
        centred = signal - signal.mean(axis=-1, keepdims=True)
        spread = jax.lax.rsqrt((centred**2).mean(axis=-1, keepdims=True) + _EPSILON)
        return centred * spread * self.scale + self.shift


class Convolution(eqx.Module):
    """A 3 x 3 convolution that keeps height and width."""

    kernel: Float[Array, "3 3 inputs outputs"]
    bias: Float[Array, " outputs"]

    def __init__(self, inputs: int, outputs: int, key: Key[Array, ""]) -> None:
        """Fresh weights."""
        flat = orthogonal(key, 9 * inputs, outputs, _HIDDEN_SCALE)
        self.kernel, self.bias = flat.reshape(3, 3, inputs, outputs), jnp.zeros(outputs)

    def __call__(self, planes: Float[Array, "n height width inputs"]) -> Float[Array, "n height width outputs"]:
        """The filtered planes."""
        axes = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(planes, self.kernel, (1, 1), "SAME", dimension_numbers=axes) + self.bias


class Gru(eqx.Module):
    """A gated recurrent unit."""

    from_input: Linear
    from_memory: Linear

    def __init__(self, inputs: int, width: int, key: Key[Array, ""]) -> None:
        """Fresh weights."""
        key_input, key_memory = jax.random.split(key)
        self.from_input = Linear(inputs, 3 * width, 1.0, key_input)
        self.from_memory = Linear(width, 3 * width, 1.0, key_memory)

    def __call__(
        self, gates: Float[Array, "*batch gates"], memory: Float[Array, "*batch width"]
    ) -> Float[Array, "*batch width"]:
        """The memory after one more input, whose share in the gates has been computed by `from_input`."""
        return _remember(gates, self.from_memory(memory), memory)[0]

    def unroll(
        self,
        gates: Float[Array, "time rows gates"],
        begins: Bool[Array, "time rows"],
        memory: Float[Array, "rows width"],
    ) -> Float[Array, "time rows width"]:
        """The memory after each input; it is emptied before those at which an episode begins."""
        return _unroll(self.from_memory.weight, self.from_memory.bias, gates, begins, memory)


def _remember(gates: Array, old: Array, memory: Array) -> tuple[Array, tuple[Array, ...]]:
    """The memory after an input, by the input's and the memory's share in the gates; and what it was made of."""
    (reset_in, update_in, new_in), (reset, update, new) = jnp.split(gates, 3, -1), jnp.split(old, 3, -1)
    reset, keep = jax.nn.sigmoid(reset_in + reset), jax.nn.sigmoid(update_in + update)
    candidate = jnp.tanh(new_in + reset * new)
    return keep * memory + (1 - keep) * candidate, (reset, keep, candidate, new)


def _before(
    memory: Float[Array, "rows width"], after: Float[Array, "time rows width"], begins: Bool[Array, "time rows"]
) -> Float[Array, "time rows width"]:
    """The memory before each step, by the first one and those after each step."""
    return jnp.where(begins[..., None], 0.0, jnp.concatenate([memory[None], after[:-1]]))


@jax.custom_vjp
def _unroll(weight: Array, bias: Array, gates: Array, begins: Array, memory: Array) -> Array:
    """The memory after each step. Its gradient is written out below, which makes an update a fifth faster."""
    return _forward(weight, bias, gates, begins, memory)[0]


def _forward(weight: Array, bias: Array, gates: Array, begins: Array, memory: Array) -> tuple[Array, tuple[Any, ...]]:
    def step(memory: Array, now: tuple[Array, Array]) -> tuple[Array, tuple[Array, tuple[Array, ...]]]:
        gate, begin = now
        before = jnp.where(begin[:, None], 0.0, memory)
        after, parts = _remember(gate, before @ weight + bias, before)
        return after, (after, parts)

    _, (after, parts) = jax.lax.scan(step, memory, (gates, begins))
    return after, (weight, begins, memory, after, parts)


def _backward(kept: tuple[Any, ...], wanted: Array) -> tuple[Array, Array, Array, None, Array]:
    """Only the gradient of the memory goes step by step; those of gates and weights follow from it all at once."""
    weight, begins, memory, after, (reset, keep, candidate, new) = kept
    before = _before(memory, after, begins)
    to_new = (1 - keep) * (1 - candidate**2)  # how the memory moves with the new part's gate, and so on
    to_update = (before - candidate) * keep * (1 - keep)
    to_reset = to_new * new * reset * (1 - reset)
    to_old = jnp.concatenate([to_reset, to_update, to_new * reset], axis=-1)

    def step(later: Array, now: tuple[Array, ...]) -> tuple[Array, Array]:
        wanted, keep, to_old, begin = now
        total = wanted + later
        earlier = total * keep + (jnp.tile(total, 3) * to_old) @ weight.T
        return jnp.where(begin[:, None], 0.0, earlier), total

    first, total = jax.lax.scan(step, jnp.zeros_like(memory), (wanted, keep, to_old, begins), reverse=True)
    old = jnp.tile(total, 3) * to_old
    gates = jnp.concatenate([total * to_reset, total * to_update, total * to_new], axis=-1)
    return jnp.einsum("trm,trg->mg", before, old), old.sum(axis=(0, 1)), gates, None, first


_unroll.defvjp(_forward, _backward)


class Network(eqx.Module):
    """ObservationKind, layers, perhaps a memory, and a head; a critic may also be told who the partner is."""

    convolutions: tuple[Convolution, ...]
    layers: tuple[Linear, ...]
    norms: tuple[LayerNorm, ...]
    memory: Gru | None
    memory_norm: LayerNorm | None
    head: Linear
    spec: ObservationSpec = eqx.field(static=True)
    both_views: bool = eqx.field(static=True)

    def __init__(
        self,
        config: NetworkConfig,
        spec: ObservationSpec,
        outputs: int,
        head_scale: float,
        key: Key[Array, ""],
        identities: int = 0,
    ) -> None:
        """Fresh weights. A critic (one output) also sees the grid as the partner does."""
        keys = iter(jax.random.split(key, len(config.channels) + len(config.hidden) + 2))
        self.spec = spec
        self.both_views = outputs == 1 and config.eyes is ObservationKind.GRID
        width = spec.shape[-1] * (2 if self.both_views else 1) + identities
        convolutions = []
        if config.eyes is ObservationKind.GRID:
            for channels in config.channels:
                convolutions.append(Convolution(width, channels, next(keys)))
                width = channels
            width *= math.prod(spec.shape[:-1])
        layers = []
        for hidden in config.hidden:
            layers.append(Linear(width, hidden, _HIDDEN_SCALE, next(keys)))
            width = hidden
        self.convolutions, self.layers = tuple(convolutions), tuple(layers)
        self.norms = tuple(map(LayerNorm, config.hidden)) if config.normalise else ()
        self.memory = Gru(width, config.memory, next(keys)) if config.memory else None
        self.memory_norm = LayerNorm(config.memory) if config.memory else None
        self.head = Linear(config.memory or width, outputs, head_scale, next(keys))

    @property
    def memory_width(self) -> int:
        """How many numbers it remembers."""
        return 0 if self.memory is None else self.memory.from_memory.weight.shape[-2]

    def begin(self, *batch: int) -> Float[Array, "*batch memory"]:
        """What it remembers before an episode."""
        return jnp.zeros((*batch, self.memory_width))

    def step(
        self,
        view: UInt8[Array, "*batch_view"],
        memory: Float[Array, "*batch memory"],
        identity: Float[Array, "*batch identities"] | None = None,
    ) -> tuple[Float[Array, "*batch outputs"], Float[Array, "*batch memory"]]:
        """The outputs for a view, and the memory afterwards."""
        signal = self._see(view, identity)
        if self.memory is not None and self.memory_norm is not None:
            memory = self.memory(self.memory.from_input(signal), memory)
            signal = self.memory_norm(memory)
        return self.head(signal), memory

    def unroll(
        self,
        views: UInt8[Array, "time rows *view"],
        begins: Bool[Array, "time rows"],
        memory: Float[Array, "rows memory"],
        identity: Float[Array, "time rows identities"] | None = None,
    ) -> tuple[Float[Array, "time rows outputs"], Float[Array, "time rows memory"]]:
        """The outputs over time, and the memory before each step; memories are empty where an episode begins."""
        signal = self._see(views, identity)
        if self.memory is None or self.memory_norm is None:
            return self.head(signal), jnp.zeros((*begins.shape, 0))
        after = self.memory.unroll(self.memory.from_input(signal), begins, memory)
        return self.head(self.memory_norm(after)), _before(memory, after, begins)

    def _see(self, view: UInt8[Array, "*batch_view"], identity: Array | None) -> Float[Array, "*batch width"]:
        """The signal after the last layer before the memory."""
        batch = view.shape[: view.ndim - len(self.spec.shape)]
        signal = view.astype(jnp.float32)
        scale = 1.0 / jnp.asarray(self.spec.peaks)
        if self.convolutions:
            signal = self._filter(signal * scale, identity).reshape(*batch, -1)
            first = self.layers[0](signal)
        else:
            # Scaling the weights instead of every view, and adding the identity's share, saves passes over the views.
            entries = self.spec.shape[-1]
            weight = self.layers[0].weight
            first = signal @ (weight[:entries] * scale[:, None]) + self.layers[0].bias
            if identity is not None:
                first += identity @ weight[entries:]
        signal = self._activate(0, first)
        for number, layer in enumerate(self.layers[1:], start=1):
            signal = self._activate(number, layer(signal))
        return signal

    def _activate(self, number: int, signal: Float[Array, "*batch width"]) -> Float[Array, "*batch width"]:
        signal = jax.nn.relu(signal)
        return self.norms[number](signal) if self.norms else signal

    def _filter(
        self, planes: Float[Array, "*batch height width planes"], identity: Array | None
    ) -> Float[Array, "n height width channels"]:
        *batch, height, width, _ = planes.shape
        parts = [planes, planes[..., _SWAPPED]] if self.both_views else [planes]
        if identity is not None:
            everywhere = (*batch, height, width, identity.shape[-1])
            parts.append(jnp.broadcast_to(identity[..., None, None, :], everywhere))
        signal = jnp.concatenate(parts, axis=-1).reshape(-1, height, width, sum(part.shape[-1] for part in parts))
        for convolution in self.convolutions:
            signal = jax.nn.relu(convolution(signal))
        return signal
