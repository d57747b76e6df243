"""Trained agents: a network that sees what a chef sees and acts by its probabilities."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, UInt8

from cochef.agents import storage
from cochef.agents.network_config import NetworkConfig, ObservationKind
from cochef.agents.networks import Network, ObservationSpec
from cochef.errors import InputError, shown
from cochef.kitchen.constants import Action
from cochef.kitchen.layout import Layout
from cochef.kitchen.observation import PLANES, compact, compact_peaks, grid
from cochef.kitchen.state import State

KIND = "trained"
ACTION_SCALE = 0.01  # of the head's weights at first: every action about as likely


def observation_spec(layout: Layout, observation: ObservationKind) -> ObservationSpec:
    """What a chef sees in a kitchen."""
    if observation is ObservationKind.GRID:
        return ObservationSpec((layout.height, layout.width, PLANES), (1.0,) * PLANES)
    peaks = compact_peaks(layout)
    return ObservationSpec((len(peaks),), tuple(map(float, peaks)))


def observe(layout: Layout, observation: ObservationKind, states: State) -> UInt8[Array, "2 *view_kitchens"]:
    """What both chefs see."""
    return (grid if observation is ObservationKind.GRID else compact)(layout, states)


class TrainedAgent(eqx.Module):
    """Acts by a trained network."""

    network: Network
    layout: Layout = eqx.field(static=True)
    observation: ObservationKind = eqx.field(static=True)
    greedy: bool = eqx.field(static=True, default=False)

    def begin(self, key: Key[Array, ""]) -> Float[Array, " carry"]:
        """Nothing seen yet."""
        return self.network.initial_carry()

    def act(
        self, state: State, seat: int, carry: Float[Array, " carry"], key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], Float[Array, " carry"]]:
        """An action by its probability, or the likeliest one."""
        logits, carry = self.network.step(observe(self.layout, self.observation, state)[seat], carry)
        action = logits.argmax() if self.greedy else jax.random.categorical(key, logits)
        return action.astype(jnp.int32), carry


def actor(config: NetworkConfig, spec: ObservationSpec, actions: int, key: Key[Array, ""]) -> Network:
    """A fresh network that gives the log-odds of actions."""
    return Network(config, spec, actions, ACTION_SCALE, key)


def save(path: Path, layout: Layout, config: NetworkConfig, network: Network, about: Mapping[str, Any]) -> None:
    """Write an agent file."""
    storage.save(path, card(KIND, layout, config, about), network)


def card(kind: str, layout: Layout, config: NetworkConfig, about: Mapping[str, Any]) -> storage.Card:
    """What a file with such networks says about itself."""
    table = asdict(config) | {"observation": config.observation.value}
    return storage.Card(kind, layout.name, layout.fingerprint, table, about)


def build(card: storage.Card, tensors: Mapping[str, Any], layout: Layout, path: Path, *, greedy: bool) -> TrainedAgent:
    """The trained agent in a file that has been read."""
    config = _config(card.config, path)
    spec = observation_spec(layout, config.observation)
    skeleton = eqx.filter_eval_shape(actor, config, spec, len(Action), jax.random.key(0))
    return TrainedAgent(storage.fill(skeleton, tensors, path), layout, config.observation, greedy)


def _config(table: Mapping[str, Any], path: Path) -> NetworkConfig:
    wanted = {"observation", "channels", "hidden", "normalise", "memory"}
    if table.keys() != wanted:
        raise InputError(f"{path}: its network is described by {shown(sorted(table))}; it takes {sorted(wanted)}")
    known = {observation.value: observation for observation in ObservationKind}
    try:
        if not isinstance(table["observation"], str) or table["observation"] not in known:
            raise InputError(f"observation is {shown(table['observation'])}; allowed: {', '.join(known)}")
        if not isinstance(table["normalise"], bool):
            raise InputError(f"normalise is {shown(table['normalise'])}; it takes true or false")
        channels, hidden = (
            tuple(table[name]) if isinstance(table[name], list) else table[name] for name in ("channels", "hidden")
        )
        return NetworkConfig(known[table["observation"]], channels, hidden, table["normalise"], table["memory"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
