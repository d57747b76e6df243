"""Neural networks of actors and critics.

A network takes observations as bytes, with any batch axes in front: dense layers on the compact
vector (fast on a CPU), or the paper's convolutions on the grid. A recurrent layer is optional.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from cochef.agents.network_config import NetworkConfig, ObservationKind, RecurrentKind
from cochef.kitchen.observation import PLANES

_HIDDEN_SCALE = math.sqrt(2.0)
_FIRST_GAIN = 0.01  # of a minGRU's carry
_KEEP_BIAS = (1.0, 5.0)  # of a minGRU's gates: carries last from 4 to 150 steps at first
_EPSILON = 1e-5
# The grid's planes in the partner's order: own and other position (0, 1) and orientation (2 to 5,
# 6 to 9) change places.
_PARTNER_PLANES = (1, 0, *range(6, 10), *range(2, 6), *range(10, PLANES))


@dataclass(frozen=True)
class ObservationSpec:
    """Shape of an observation, and the largest value of each entry of its last axis."""

    shape: tuple[int, ...]
    peaks: tuple[float, ...]


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
        flat = orthogonal(key, 9 * inputs, outputs, _HIDDEN_SCALE)
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


class Gru(eqx.Module):
    """A gated recurrent unit."""

    from_input: Linear
    from_carry: Linear

    def __init__(self, inputs: int, width: int, key: Key[Array, ""]) -> None:
        """Initialise the weights."""
        key_input, key_carry = jax.random.split(key)
        self.from_input = Linear(inputs, 3 * width, 1.0, key_input)
        self.from_carry = Linear(width, 3 * width, 1.0, key_carry)

    def __call__(
        self, input_gates: Float[Array, "*batch gates"], carry: Float[Array, "*batch width"]
    ) -> Float[Array, "*batch width"]:
        """The next carry; the input's share in the gates comes from `from_input`."""
        return _gru_cell(input_gates, self.from_carry(carry), carry)[0]

    def unroll(
        self,
        input_gates: Float[Array, "time rows gates"],
        episode_start: Bool[Array, "time rows"],
        carry: Float[Array, "rows width"],
    ) -> Float[Array, "time rows width"]:
        """The carry after each step; it is reset to 0 before each step that starts an episode."""
        weights = (self.from_carry.weight, self.from_carry.bias)
        return _unroll(*weights, input_gates, episode_start, carry)


class _GruParts(NamedTuple):
    """The parts of a GRU's step that its gradient needs."""

    reset: Array
    keep: Array
    candidate: Array
    new: Array  # the carry's share in the candidate


class _Residuals(NamedTuple):
    """What the forward pass of an unrolled GRU keeps for the backward pass."""

    weight: Array
    episode_start: Array
    carry: Array
    after: Array
    parts: _GruParts


def _gru_cell(input_gates: Array, carry_gates: Array, carry: Array) -> tuple[Array, _GruParts]:
    """The next carry, by the input's and the carry's share in the gates."""
    reset_in, update_in, new_in = jnp.split(input_gates, 3, -1)
    reset, update, new = jnp.split(carry_gates, 3, -1)
    reset = jax.nn.sigmoid(reset_in + reset)
    keep = jax.nn.sigmoid(update_in + update)
    candidate = jnp.tanh(new_in + reset * new)
    parts = _GruParts(reset, keep, candidate, new)
    return keep * carry + (1 - keep) * candidate, parts


def _carry_before(
    carry: Float[Array, "rows width"],
    after: Float[Array, "time rows width"],
    episode_start: Bool[Array, "time rows"],
) -> Float[Array, "time rows width"]:
    """The carry before each step, by the initial one and those after each step."""
    earlier = jnp.concatenate([carry[None], after[:-1]])
    return jnp.where(episode_start[..., None], 0.0, earlier)


# The gradient is written out below: JAX's own accumulates the weights' gradient step by step, and
# one product over all steps makes an update a fifth faster.
@jax.custom_vjp
def _unroll(
    weight: Array, bias: Array, input_gates: Array, episode_start: Array, carry: Array
) -> Array:
    """The carry after each step."""
    return _forward(weight, bias, input_gates, episode_start, carry)[0]


def _forward(
    weight: Array, bias: Array, input_gates: Array, episode_start: Array, carry: Array
) -> tuple[Array, _Residuals]:
    def step(carry: Array, now: tuple[Array, Array]) -> tuple[Array, tuple[Array, _GruParts]]:
        gates, start = now
        before = jnp.where(start[:, None], 0.0, carry)
        after, parts = _gru_cell(gates, before @ weight + bias, before)
        return after, (after, parts)

    _, (after, parts) = jax.lax.scan(step, carry, (input_gates, episode_start))
    return after, _Residuals(weight, episode_start, carry, after, parts)


def _backward(
    residuals: _Residuals, gradient: Array
) -> tuple[Array, Array, Array, None, Array]:  # one for each argument of `_unroll`
    """Only the carry's gradient goes step by step; gates and weights follow from it at once."""
    weight, episode_start, carry, after, parts = residuals
    before = _carry_before(carry, after, episode_start)
    # Derivatives of the next carry by each gate's sum.
    by_new = (1 - parts.keep) * (1 - parts.candidate**2)
    by_update = (before - parts.candidate) * parts.keep * (1 - parts.keep)
    by_reset = by_new * parts.new * parts.reset * (1 - parts.reset)
    by_carry_gates = jnp.concatenate([by_reset, by_update, by_new * parts.reset], axis=-1)

    def step(later: Array, now: tuple[Array, ...]) -> tuple[Array, Array]:
        gradient, keep, by_carry_gates, start = now
        total = gradient + later
        earlier = total * keep + (jnp.tile(total, 3) * by_carry_gates) @ weight.T
        return jnp.where(start[:, None], 0.0, earlier), total

    steps = (gradient, parts.keep, by_carry_gates, episode_start)
    first, total = jax.lax.scan(step, jnp.zeros_like(carry), steps, reverse=True)
    carry_gates = jnp.tile(total, 3) * by_carry_gates
    input_gates = jnp.concatenate([total * by_reset, total * by_update, total * by_new], axis=-1)
    weights = jnp.einsum("trm,trg->mg", before, carry_gates)
    return weights, carry_gates.sum(axis=(0, 1)), input_gates, None, first


_unroll.defvjp(_forward, _backward)


class MinGru(eqx.Module):
    """A recurrent layer whose gates see the input alone (Feng et al. 2024), as a residual branch.

    All matrix products are outside the loop over time, which is left with a multiplication and an
    addition. The carry is added to the signal with a gain that starts small: a feed-forward network
    that gets such a layer acts as before, and learns to use its carry from there.
    """

    from_input: Linear
    gain: Float[Array, " width"]

    def __init__(self, width: int, key: Key[Array, ""]) -> None:
        """Initialise the weights; by the gates' bias some units keep for long, others do not."""
        layer = Linear(width, 2 * width, 1.0, key)
        bias = jnp.concatenate([jnp.linspace(*_KEEP_BIAS, width), jnp.zeros(width)])
        self.from_input = eqx.tree_at(lambda layer: layer.bias, layer, bias)
        self.gain = jnp.full(width, _FIRST_GAIN)

    def __call__(
        self, signal: Float[Array, "*batch width"], carry: Float[Array, "*batch width"]
    ) -> tuple[Float[Array, "*batch width"], Float[Array, "*batch width"]]:
        """The signal with the carry's share, and the next carry."""
        keep, new = self._gates(signal)
        carry = keep * carry + new
        return signal + self.gain * carry, carry

    def unroll(
        self,
        signal: Float[Array, "time rows width"],
        episode_start: Bool[Array, "time rows"],
        carry: Float[Array, "rows width"],
    ) -> tuple[Float[Array, "time rows width"], Float[Array, "time rows width"]]:
        """The signals with the carry's share, and the carry after each step."""
        keep, new = self._gates(signal)
        after = linear_recurrence(jnp.where(episode_start[..., None], 0.0, keep), new, carry)
        return signal + self.gain * after, after

    def _gates(self, signal: Float[Array, "*batch width"]) -> tuple[Array, Array]:
        """How much of the carry is kept, and what is added to it."""
        keep, candidate = jnp.split(self.from_input(signal), 2, axis=-1)
        keep = jax.nn.sigmoid(keep)
        return keep, (1 - keep) * candidate


@jax.custom_vjp
def linear_recurrence(keep: Array, new: Array, first: Array) -> Array:
    """h[t] = keep[t] * h[t-1] + new[t] along the first axis; its gradient runs backwards."""
    return _recur(keep, new, first)


def _recur(keep: Array, new: Array, first: Array, *, reverse: bool = False) -> Array:
    def step(before: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        after = now[0] * before + now[1]
        return after, after

    return jax.lax.scan(step, first, (keep, new), reverse=reverse)[1]


def _recur_forward(
    keep: Array, new: Array, first: Array
) -> tuple[Array, tuple[Array, Array, Array]]:
    after = _recur(keep, new, first)
    return after, (keep, first, after)


def _recur_backward(
    residuals: tuple[Array, Array, Array], gradient: Array
) -> tuple[Array, Array, Array]:
    keep, first, after = residuals
    # A carry's gradient flows to the step before by how much of it was kept.
    later = jnp.concatenate([keep[1:], jnp.zeros_like(keep[:1])])
    total = _recur(later, gradient, jnp.zeros_like(first), reverse=True)
    before = jnp.concatenate([first[None], after[:-1]])
    return total * before, total, total[0] * keep[0]


linear_recurrence.defvjp(_recur_forward, _recur_backward)


class Network(eqx.Module):
    """An actor or a critic: convolutions or none, dense layers, a recurrent layer, and a head.

    A GRU stands between the dense layers and the head, a minGRU beside the last dense layer but
    one. A critic may be given the partner's identity as an additional input.
    """

    convolutions: tuple[Convolution, ...]
    layers: tuple[Linear, ...]
    norms: tuple[LayerNorm, ...]
    recurrent: Gru | MinGru | None
    recurrent_norm: LayerNorm | None
    head: Linear
    spec: ObservationSpec = eqx.field(static=True)
    adds_partner_planes: bool = eqx.field(static=True)
    recurrent_after: int = eqx.field(static=True)

    def __init__(
        self,
        config: NetworkConfig,
        spec: ObservationSpec,
        outputs: int,
        head_scale: float,
        key: Key[Array, ""],
        identities: int = 0,
    ) -> None:
        """Initialise the weights. A critic (one output) also observes the grid as the partner."""
        keys = iter(jax.random.split(key, len(config.channels) + len(config.hidden) + 2))
        on_grid = config.observation is ObservationKind.GRID
        self.spec = spec
        self.adds_partner_planes = outputs == 1 and on_grid
        width = spec.shape[-1] * (2 if self.adds_partner_planes else 1) + identities
        convolutions = []
        if on_grid:
            for channels in config.channels:
                convolutions.append(Convolution(width, channels, next(keys)))
                width = channels
            width *= math.prod(spec.shape[:-1])
        layers = []
        for hidden in config.hidden:
            layers.append(Linear(width, hidden, _HIDDEN_SCALE, next(keys)))
            width = hidden
        self.convolutions = tuple(convolutions)
        self.layers = tuple(layers)
        self.norms = tuple(map(LayerNorm, config.hidden)) if config.layer_norm else ()
        self.recurrent = None
        self.recurrent_norm = None
        self.recurrent_after = config.recurrent_after
        if config.recurrent and config.recurrent_kind is RecurrentKind.GRU:
            self.recurrent = Gru(width, config.recurrent, next(keys))
            self.recurrent_norm = LayerNorm(config.recurrent)
            width = config.recurrent
        elif config.recurrent:
            self.recurrent = MinGru(config.recurrent, next(keys))
        self.head = Linear(width, outputs, head_scale, next(keys))

    @property
    def carry_width(self) -> int:
        """Width of the recurrent layer's carry; 0 without one."""
        match self.recurrent:
            case Gru():
                return self.recurrent.from_carry.weight.shape[-2]
            case MinGru():
                return self.recurrent.gain.shape[-1]
            case None:
                return 0

    def initial_carry(self, *batch: int) -> Float[Array, "*batch carry"]:
        """The carry at the start of an episode."""
        return jnp.zeros((*batch, self.carry_width))

    def step(
        self,
        observation: UInt8[Array, "*batch_observation"],
        carry: Float[Array, "*batch carry"],
        identity: Float[Array, "*batch identities"] | None = None,
    ) -> tuple[Float[Array, "*batch outputs"], Float[Array, "*batch carry"]]:
        """The outputs for an observation, and the next carry."""
        signal = self._first_layers(observation, identity)
        if isinstance(self.recurrent, MinGru):
            signal, carry = self.recurrent(signal, carry)
        signal = self._last_layers(signal)
        if isinstance(self.recurrent, Gru) and self.recurrent_norm is not None:
            carry = self.recurrent(self.recurrent.from_input(signal), carry)
            signal = self.recurrent_norm(carry)
        return self.head(signal), carry

    def unroll(
        self,
        observations: UInt8[Array, "time rows *observation"],
        episode_start: Bool[Array, "time rows"],
        carry: Float[Array, "rows carry"],
        identity: Float[Array, "time rows identities"] | None = None,
    ) -> tuple[Float[Array, "time rows outputs"], Float[Array, "time rows carry"]]:
        """The outputs over time, and the carry before each step (0 where an episode starts)."""
        signal, before = self.features(observations, episode_start, carry, identity)
        return self.head(signal), before

    def features(
        self,
        observations: UInt8[Array, "time rows *observation"],
        episode_start: Bool[Array, "time rows"],
        carry: Float[Array, "rows carry"],
        identity: Float[Array, "time rows identities"] | None = None,
    ) -> tuple[Float[Array, "time rows width"], Float[Array, "time rows carry"]]:
        """What reaches the head over time, and the carry before each step."""
        signal = self._first_layers(observations, identity)
        if isinstance(self.recurrent, MinGru):
            signal, after = self.recurrent.unroll(signal, episode_start, carry)
            return self._last_layers(signal), _carry_before(carry, after, episode_start)
        signal = self._last_layers(signal)
        if self.recurrent is None or self.recurrent_norm is None:
            return signal, jnp.zeros((*episode_start.shape, 0))
        after = self.recurrent.unroll(self.recurrent.from_input(signal), episode_start, carry)
        return self.recurrent_norm(after), _carry_before(carry, after, episode_start)

    def _first_layers(
        self, observation: UInt8[Array, "*batch_observation"], identity: Array | None
    ) -> Float[Array, "*batch width"]:
        """The signal after the dense layers up to the one beside which a minGRU stands."""
        batch = observation.shape[: observation.ndim - len(self.spec.shape)]
        signal = observation.astype(jnp.float32)
        scale = 1.0 / jnp.asarray(self.spec.peaks)
        if self.convolutions:
            signal = self._convolve(signal * scale, identity).reshape(*batch, -1)
            first = self.layers[0](signal)
        else:
            # Scaling the weights instead of every observation, and adding the identity's share
            # instead of concatenating it, saves passes over the observations.
            entries = self.spec.shape[-1]
            weight = self.layers[0].weight
            first = signal @ (weight[:entries] * scale[:, None]) + self.layers[0].bias
            if identity is not None:
                first += identity @ weight[entries:]
        signal = self._activate(0, first)
        for number in range(1, self.recurrent_after + 1):
            signal = self._activate(number, self.layers[number](signal))
        return signal

    def _last_layers(self, signal: Float[Array, "*batch width"]) -> Float[Array, "*batch features"]:
        """The signal after the remaining dense layers."""
        for number in range(self.recurrent_after + 1, len(self.layers)):
            signal = self._activate(number, self.layers[number](signal))
        return signal

    def _activate(
        self, number: int, signal: Float[Array, "*batch width"]
    ) -> Float[Array, "*batch width"]:
        signal = jax.nn.relu(signal)
        return self.norms[number](signal) if self.norms else signal

    def _convolve(
        self, planes: Float[Array, "*batch height width planes"], identity: Array | None
    ) -> Float[Array, "n height width channels"]:
        *batch, height, width, _ = planes.shape
        parts = [planes]
        if self.adds_partner_planes:
            parts.append(planes[..., _PARTNER_PLANES])
        if identity is not None:
            everywhere = (*batch, height, width, identity.shape[-1])
            parts.append(jnp.broadcast_to(identity[..., None, None, :], everywhere))
        signal = jnp.concatenate(parts, axis=-1)
        signal = signal.reshape(-1, height, width, signal.shape[-1])
        for convolution in self.convolutions:
            signal = jax.nn.relu(convolution(signal))
        return signal


class ValueHead(eqx.Module):
    """A critic on the actor's features: a layer that is also told the partner's identity."""

    layer: Linear
    head: Linear

    def __init__(self, width: int, identities: int, key: Key[Array, ""]) -> None:
        """Initialise the weights."""
        key_layer, key_head = jax.random.split(key)
        self.layer = Linear(width + identities, width, _HIDDEN_SCALE, key_layer)
        self.head = Linear(width, 1, 1.0, key_head)

    def initial_carry(self, *batch: int) -> Float[Array, "*batch 0"]:
        """It carries nothing itself."""
        return jnp.zeros((*batch, 0))

    def __call__(
        self,
        features: Float[Array, "*batch width"],
        identity: Float[Array, "*batch identities"] | None,
    ) -> Float[Array, "*batch 1"]:
        """The value."""
        width = features.shape[-1]
        signal = features @ self.layer.weight[:width] + self.layer.bias
        if identity is not None:
            signal += identity @ self.layer.weight[width:]
        return self.head(jax.nn.relu(signal))


def inherit(network: Network, parent: Network) -> Network:
    """The network with the layers and head of a feed-forward parent; the rest stays.

    A critic's first layer also takes the partner's identity, on a grid also the partner's planes,
    and its head gives a value: these it keeps.
    """
    own = (network.convolutions, network.layers)
    theirs = (parent.convolutions, parent.layers)
    convolutions, layers = jax.tree.map(_with_own_inputs, theirs, own)
    same_head = network.head.weight.shape == parent.head.weight.shape
    head = parent.head if same_head else network.head
    return eqx.tree_at(
        lambda net: (net.convolutions, net.layers, net.norms, net.head),
        network,
        (convolutions, layers, parent.norms, head),
    )


def _with_own_inputs(theirs: Array, own: Array) -> Array:
    """A parent's weights; for inputs that it does not have, one's own."""
    if theirs.shape == own.shape:
        return theirs
    return jnp.concatenate([theirs, own[..., theirs.shape[-2] :, :]], axis=-2)
