"""Clones of people: networks that imitate the players of recorded games (Carroll et al. 2019)."""

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
_NO_SPOT = -1


class Imitation(eqx.Module):
    """A small network from the 96 features to the log-odds of the six actions."""

    weights: tuple[Float[Array, "..."], ...]
    biases: tuple[Float[Array, "..."], ...]

    def __init__(self, hidden: Sequence[int], key: Key[Array, ""]) -> None:
        """Fresh weights, of a size that keeps signals alive."""
        sizes = [FEATURES, *hidden, len(Action)]
        keys = jax.random.split(key, len(sizes) - 1)
        draw = jax.nn.initializers.he_uniform()
        self.weights = tuple(draw(k, (i, o), jnp.float32) for k, i, o in zip(keys, sizes[:-1], sizes[1:], strict=True))
        self.biases = tuple(jnp.zeros(size) for size in sizes[1:])

    def __call__(self, view: Float[Array, "96"]) -> Float[Array, "6"]:
        """The log-odds of the actions."""
        signal = view
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            signal = jax.nn.relu(signal @ weight + bias)
        return signal @ self.weights[-1] + self.biases[-1]


@pytree
class Recent:
    """Where the chef was in its last three states, and what it did there."""

    spots: Int[Array, "3"]
    actions: Int[Array, "3"]


class Clone(eqx.Module):
    """Acts as the imitated people would, except that it does not try the same in vain for ever."""

    network: Imitation
    layout: Layout = eqx.field(static=True)
    greedy: bool = eqx.field(static=True, default=False)

    def begin(self, key: Key[Array, ""]) -> Recent:
        """Nothing done yet."""
        return Recent(jnp.full(_STUCK, _NO_SPOT), jnp.full(_STUCK, _NO_SPOT))

    def act(self, state: State, seat: int, carry: Recent, key: Key[Array, ""]) -> tuple[Int[Array, ""], Recent]:
        """An action by its probability; on the spot of the last three states, not what was done there."""
        logits = self.network(features(self.layout, state)[seat])
        spot = state.chefs.cell[seat] * len(Direction) + state.chefs.facing[seat]
        stuck = (carry.spots == spot).all()
        tried = (carry.actions[:, None] == jnp.arange(len(Action))).any(axis=0)
        logits = jnp.where(stuck & tried, -jnp.inf, logits)
        action = logits.argmax() if self.greedy else jax.random.categorical(key, logits)
        shift = lambda old, new: jnp.append(old[1:], new.astype(jnp.int32))  # noqa: E731
        return action, Recent(shift(carry.spots, spot), shift(carry.actions, action))


def card(layout: Layout, hidden: Sequence[int], about: Mapping[str, Any]) -> storage.Card:
    """What a clone's file says about it."""
    return storage.Card(KIND, layout.name, layout.fingerprint, {"hidden": list(hidden)}, about)


def build(card: storage.Card, tensors: Mapping[str, Any], layout: Layout, path: Path, *, greedy: bool) -> Clone:
    """The clone in a file that has been read."""
    hidden = card.config.get("hidden")
    try:
        check_hidden(hidden)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    skeleton = eqx.filter_eval_shape(Imitation, hidden, jax.random.key(0))
    return Clone(storage.fill(skeleton, tensors, path), layout, greedy)
