"""Trained agents: a network that observes a kitchen and gives the log-odds of the actions."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, UInt8

from cochef import validation
from cochef.agents import storage
from cochef.agents.network_config import NetworkConfig, ObservationKind, RecurrentKind
from cochef.agents.networks import Network, ObservationSpec
from cochef.errors import InputError, shown
from cochef.kitchen.constants import Action
from cochef.kitchen.layout import Layout
from cochef.kitchen.observation import PLANES, compact, compact_peaks, grid
from cochef.kitchen.state import State

KIND = "trained"
ACTION_SCALE = 0.01  # small initial weights of the head: all actions about equally likely


def observation_spec(layout: Layout, observation: ObservationKind) -> ObservationSpec:
    """The shape and the largest values of a layout's observations."""
    if observation is ObservationKind.GRID:
        return ObservationSpec((layout.height, layout.width, PLANES), (1.0,) * PLANES)
    peaks = compact_peaks(layout)
    return ObservationSpec((len(peaks),), tuple(map(float, peaks)))


def observe(
    layout: Layout, observation: ObservationKind, states: State
) -> UInt8[Array, "2 *observation_kitchens"]:
    """The observations of both chefs."""
    encode = grid if observation is ObservationKind.GRID else compact
    return encode(layout, states)


class TrainedAgent(eqx.Module):
    """Acts by a trained network."""

    network: Network
    layout: Layout = eqx.field(static=True)
    observation: ObservationKind = eqx.field(static=True)
    greedy: bool = eqx.field(static=True, default=False)

    def begin(self, key: Key[Array, ""]) -> Float[Array, " carry"]:
        """The network's initial carry."""
        return self.network.initial_carry()

    def act(
        self, state: State, seat: int, carry: Float[Array, " carry"], key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], Float[Array, " carry"]]:
        """Sample an action, or take the likeliest one if greedy."""
        logits, carry = self._step(state, seat, carry)
        action = logits.argmax() if self.greedy else jax.random.categorical(key, logits)
        return action.astype(jnp.int32), carry

    def probabilities(
        self, state: State, seat: int, carry: Float[Array, " carry"]
    ) -> Float[Array, " actions"]:
        """The probabilities of the six actions; `carry` is its recurrent state."""
        return jax.nn.softmax(self._step(state, seat, carry)[0])

    def _step(
        self, state: State, seat: int, carry: Float[Array, " carry"]
    ) -> tuple[Float[Array, " actions"], Float[Array, " carry"]]:
        return self.network.step(observe(self.layout, self.observation, state)[seat], carry)


def actor(
    config: NetworkConfig, spec: ObservationSpec, actions: int, key: Key[Array, ""]
) -> Network:
    """A fresh network that gives the log-odds of actions."""
    return Network(config, spec, actions, ACTION_SCALE, key)


def save(
    path: Path,
    layout: Layout,
    config: NetworkConfig,
    network: Network,
    metadata: Mapping[str, Any],
) -> None:
    """Write a trained agent's file."""
    storage.save(path, card(KIND, layout, config, metadata), network)


def card(
    kind: str, layout: Layout, config: NetworkConfig, metadata: Mapping[str, Any]
) -> storage.Card:
    """The card of a file that holds networks of this config."""
    return storage.Card(kind, layout.name, layout.fingerprint, config.to_json(), metadata)


def build(
    card: storage.Card, tensors: Mapping[str, Any], layout: Layout, path: Path, *, greedy: bool
) -> TrainedAgent:
    """Build the trained agent of a file that has been read."""
    config = read_config(card.config, path)
    spec = observation_spec(layout, config.observation)
    skeleton = eqx.filter_eval_shape(actor, config, spec, len(Action), jax.random.key(0))
    network = storage.fill(skeleton, tensors, path)
    return TrainedAgent(network, layout, config.observation, greedy)


def read_config(table: Mapping[str, Any], path: Path) -> NetworkConfig:
    """The config of a network that a file has as JSON, checked."""
    expected = {entry.name for entry in fields(NetworkConfig)}
    if table.keys() != expected:
        raise InputError(
            f"{path}: its network is described by {shown(sorted(table))}; "
            f"it takes {sorted(expected)}"
        )
    observations = [kind.value for kind in ObservationKind]
    recurrent_kinds = [kind.value for kind in RecurrentKind]
    try:
        return NetworkConfig(
            observation=ObservationKind(
                validation.one_of(table["observation"], "observation", observations)
            ),
            channels=_as_tuple(table["channels"]),
            hidden=_as_tuple(table["hidden"]),
            layer_norm=validation.truth(table["layer_norm"], "layer_norm"),
            recurrent=table["recurrent"],
            recurrent_kind=RecurrentKind(
                validation.one_of(table["recurrent_kind"], "recurrent_kind", recurrent_kinds)
            ),
            shared_trunk=validation.truth(table["shared_trunk"], "shared_trunk"),
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _as_tuple(value: Any) -> Any:  # noqa: ANN401
    """A list of JSON as the tuple it was; anything else is left for `NetworkConfig` to refuse."""
    return tuple(value) if isinstance(value, list) else value
