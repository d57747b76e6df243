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
from cochef.agents.networks import Network, Sight
from cochef.agents.sizes import Eyes, NetworkConfig
from cochef.errors import InputError, shown
from cochef.kitchen.constants import Action
from cochef.kitchen.layout import Layout
from cochef.kitchen.observation import PLANES, compact, compact_peaks, grid
from cochef.kitchen.state import State

KIND = "trained"
ACTION_SCALE = 0.01  # of the head's weights at first: every action about as likely


def kitchen_sight(layout: Layout, eyes: Eyes) -> Sight:
    """What a chef sees in a kitchen."""
    if eyes is Eyes.GRID:
        return Sight((layout.height, layout.width, PLANES), (1.0,) * PLANES)
    peaks = compact_peaks(layout)
    return Sight((len(peaks),), tuple(map(float, peaks)))


def look(layout: Layout, eyes: Eyes, states: State) -> UInt8[Array, "2 *view_kitchens"]:
    """What both chefs see."""
    return (grid if eyes is Eyes.GRID else compact)(layout, states)


class Trained(eqx.Module):
    """Acts by a trained network."""

    network: Network
    layout: Layout = eqx.field(static=True)
    eyes: Eyes = eqx.field(static=True)
    greedy: bool = eqx.field(static=True, default=False)

    def begin(self, key: Key[Array, ""]) -> Float[Array, " memory"]:
        """Nothing seen yet."""
        return self.network.begin()

    def act(
        self, state: State, seat: int, memory: Float[Array, " memory"], key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], Float[Array, " memory"]]:
        """An action by its probability, or the likeliest one."""
        logits, memory = self.network.step(look(self.layout, self.eyes, state)[seat], memory)
        action = logits.argmax() if self.greedy else jax.random.categorical(key, logits)
        return action.astype(jnp.int32), memory


def actor(config: NetworkConfig, sight: Sight, actions: int, key: Key[Array, ""]) -> Network:
    """A fresh network that gives the log-odds of actions."""
    return Network(config, sight, actions, ACTION_SCALE, key)


def save(path: Path, layout: Layout, config: NetworkConfig, network: Network, about: Mapping[str, Any]) -> None:
    """Write an agent file."""
    storage.save(path, card(KIND, layout, config, about), network)


def card(kind: str, layout: Layout, config: NetworkConfig, about: Mapping[str, Any]) -> storage.Card:
    """What a file with such networks says about itself."""
    table = asdict(config) | {"eyes": config.eyes.value}
    return storage.Card(kind, layout.name, layout.fingerprint, table, about)


def build(card: storage.Card, tensors: Mapping[str, Any], layout: Layout, path: Path, *, greedy: bool) -> Trained:
    """The trained agent in a file that has been read."""
    config = _config(card.config, path)
    sight = kitchen_sight(layout, config.eyes)
    skeleton = eqx.filter_eval_shape(actor, config, sight, len(Action), jax.random.key(0))
    return Trained(storage.fill(skeleton, tensors, path), layout, config.eyes, greedy)


def _config(table: Mapping[str, Any], path: Path) -> NetworkConfig:
    wanted = {"eyes", "channels", "hidden", "normalise", "memory"}
    if table.keys() != wanted:
        raise InputError(f"{path}: its network is described by {shown(sorted(table))}; it takes {sorted(wanted)}")
    known = {eyes.value: eyes for eyes in Eyes}
    try:
        if not isinstance(table["eyes"], str) or table["eyes"] not in known:
            raise InputError(f"eyes is {shown(table['eyes'])}; allowed: {', '.join(known)}")
        if not isinstance(table["normalise"], bool):
            raise InputError(f"normalise is {shown(table['normalise'])}; it takes true or false")
        channels, hidden = (
            tuple(table[name]) if isinstance(table[name], list) else table[name] for name in ("channels", "hidden")
        )
        return NetworkConfig(known[table["eyes"]], channels, hidden, table["normalise"], table["memory"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
