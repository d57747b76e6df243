"""Clones of people: networks trained on human games by behaviour cloning (Carroll et al. 2019)."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from cochef.agents import storage
from cochef.agents.network_config import check_hidden
from cochef.errors import InputError
from cochef.kitchen.constants import Action, Direction
from cochef.kitchen.features import FEATURES, features
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State
from cochef.pytree import pytree

KIND = "clone"
_STUCK = 3  # states on one spot after which the actions tried there are ruled out
_NONE = -1


class CloneNetwork(eqx.Module):
    """A small network from the 96 features to the log-odds of the six actions."""

    weights: tuple[Float[Array, "..."], ...]
    biases: tuple[Float[Array, "..."], ...]

    def __init__(self, hidden: Sequence[int], key: Key[Array, ""]) -> None:
        """Initialise the weights by He's method."""
        widths = [FEATURES, *hidden, len(Action)]
        shapes = list(itertools.pairwise(widths))
        keys = jax.random.split(key, len(shapes))
        draw = jax.nn.initializers.he_uniform()
        self.weights = tuple(
            draw(key_layer, shape, jnp.float32)
            for key_layer, shape in zip(keys, shapes, strict=True)
        )
        self.biases = tuple(jnp.zeros(width) for width in widths[1:])

    def __call__(self, inputs: Float[Array, "96"]) -> Float[Array, "6"]:
        """The log-odds of the actions."""
        signal = inputs
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            signal = jax.nn.relu(signal @ weight + bias)
        return signal @ self.weights[-1] + self.biases[-1]


@pytree
class RecentSteps:
    """A clone's carry: its spots (place and facing) and actions in the last three states."""

    spots: Int[Array, "3"]
    actions: Int[Array, "3"]


class HumanClone(eqx.Module):
    """Acts like the imitated people, but stops repeating actions that do not move it."""

    network: CloneNetwork
    layout: Layout = eqx.field(static=True)
    greedy: bool = eqx.field(static=True, default=False)

    def begin(self, key: Key[Array, ""]) -> RecentSteps:
        """No recent steps."""
        return RecentSteps(jnp.full(_STUCK, _NONE), jnp.full(_STUCK, _NONE))

    def act(
        self, state: State, seat: int, carry: RecentSteps, key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], RecentSteps]:
        """Sample an action; after three states on one spot, none of those tried there."""
        logits = self.network(features(self.layout, state)[seat])
        spot = state.chefs.cell[seat] * len(Direction) + state.chefs.facing[seat]
        stuck = (carry.spots == spot).all()
        tried = (carry.actions[:, None] == jnp.arange(len(Action))).any(axis=0)
        logits = jnp.where(stuck & tried, -jnp.inf, logits)
        action = logits.argmax() if self.greedy else jax.random.categorical(key, logits)
        return action, RecentSteps(_append(carry.spots, spot), _append(carry.actions, action))


def _append(recent: Int[Array, "3"], newest: Int[Array, ""]) -> Int[Array, "3"]:
    """Drop the oldest entry and append the newest."""
    return jnp.append(recent[1:], newest.astype(jnp.int32))


def card(layout: Layout, hidden: Sequence[int], metadata: Mapping[str, Any]) -> storage.Card:
    """The card of a clone's file."""
    config = {"hidden": list(hidden)}
    return storage.Card(KIND, layout.name, layout.fingerprint, config, metadata)


def build(
    card: storage.Card, tensors: Mapping[str, Any], layout: Layout, path: Path, *, greedy: bool
) -> HumanClone:
    """Build the clone of a file that has been read."""
    hidden = card.config.get("hidden")
    try:
        check_hidden(hidden)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    skeleton = eqx.filter_eval_shape(CloneNetwork, hidden, jax.random.key(0))
    return HumanClone(storage.fill(skeleton, tensors, path), layout, greedy)
