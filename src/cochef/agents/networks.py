"""Neural networks of actors and critics.

A network takes observations as bytes, with any batch axes in front: dense layers on the compact
vector (fast on a CPU), or the paper's convolutions on the grid. A recurrent layer is optional.
"""

import math
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, UInt8

from cochef.agents.layers import HIDDEN_SCALE, Convolution, LayerNorm, Linear
from cochef.agents.network_config import NetworkConfig, ObservationKind, RecurrentKind
from cochef.agents.recurrent import Gru, MinGru, carry_before
from cochef.kitchen.observation import PLANES

# The grid's planes in the partner's order: own and other position (0, 1) and orientation (2 to 5,
# 6 to 9) change places.
_PARTNER_PLANES = (1, 0, *range(6, 10), *range(2, 6), *range(10, PLANES))


@dataclass(frozen=True)
class ObservationSpec:
    """Shape of an observation, and the largest value of each entry of its last axis."""

    shape: tuple[int, ...]
    peaks: tuple[float, ...]


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
            layers.append(Linear(width, hidden, HIDDEN_SCALE, next(keys)))
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
            return self._last_layers(signal), carry_before(carry, after, episode_start)
        signal = self._last_layers(signal)
        if self.recurrent is None or self.recurrent_norm is None:
            return signal, jnp.zeros((*episode_start.shape, 0))
        after = self.recurrent.unroll(self.recurrent.from_input(signal), episode_start, carry)
        return self.recurrent_norm(after), carry_before(carry, after, episode_start)

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
        self.layer = Linear(width + identities, width, HIDDEN_SCALE, key_layer)
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
