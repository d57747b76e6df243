"""Clones of people: networks trained on human games by behaviour cloning (Carroll et al. 2019).

There are two kinds. A clone of our own is one network. The clones of 2019 are the networks of
several training seeds in one file: the agent is one of them, drawn for each episode, so that
an evaluation averages over all of them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from cochef.agents import storage
from cochef.agents.clone_networks import CloneNetwork, CloneNetwork2019
from cochef.agents.modified import Mixture
from cochef.agents.network_config import check_hidden
from cochef.errors import InputError
from cochef.kitchen.constants import Action, Direction
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State
from cochef.pytree import pytree
from cochef.validation import whole_number

KIND = "clone"
KIND_2019 = "clone-2019"
MAX_SEEDS = 100
_STUCK = 3  # states on one spot after which the actions tried there are ruled out
_NONE = -1


@pytree
class RecentSteps:
    """A clone's carry: its spots (place and facing) and actions in the last states."""

    spots: Int[Array, " history"]
    actions: Int[Array, " history"]


class HumanClone(eqx.Module):
    """Acts like the imitated people, but stops repeating actions that do not move it."""

    network: CloneNetwork | CloneNetwork2019
    layout: Layout = eqx.field(static=True)
    greedy: bool = eqx.field(static=True, default=False)

    def begin(self, key: Key[Array, ""]) -> RecentSteps:
        """No recent steps."""
        nothing = jnp.full(self.network.history, _NONE)
        return RecentSteps(nothing, nothing)

    def act(
        self, state: State, seat: int, carry: RecentSteps, key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], RecentSteps]:
        """Sample an action; after three states on one spot, none of those tried there."""
        logits = self._logits(state, seat, carry)
        action = logits.argmax() if self.greedy else jax.random.categorical(key, logits)
        spots = _append(carry.spots, self._spot(state, seat))
        return action, RecentSteps(spots, _append(carry.actions, action))

    def probabilities(
        self, state: State, seat: int, carry: RecentSteps
    ) -> Float[Array, " actions"]:
        """The probabilities of the six actions; `carry` is its recurrent state."""
        return jax.nn.softmax(self._logits(state, seat, carry))

    def _spot(self, state: State, seat: int) -> Int[Array, ""]:
        return state.chefs.cell[seat] * len(Direction) + state.chefs.facing[seat]

    def _logits(self, state: State, seat: int, carry: RecentSteps) -> Float[Array, " actions"]:
        logits = self.network(self.network.observe(self.layout, state)[seat])
        spot = self._spot(state, seat)
        stuck = (carry.spots[-_STUCK:] == spot).all() & (carry.spots[0] != _NONE)
        tried = (carry.actions[-_STUCK:, None] == jnp.arange(len(Action))).any(axis=0)
        return jnp.where(stuck & tried, -jnp.inf, logits)


def _append(recent: Int[Array, " history"], newest: Int[Array, ""]) -> Int[Array, " history"]:
    """Drop the oldest entry and append the newest."""
    return jnp.append(recent[1:], newest.astype(jnp.int32))


def card(layout: Layout, hidden: Sequence[int], metadata: Mapping[str, Any]) -> storage.Card:
    """The card of a clone's file."""
    config = {"hidden": list(hidden)}
    return storage.Card(KIND, layout.name, layout.fingerprint, config, metadata)


def card_2019(
    layout: Layout, hidden: Sequence[int], seeds: int, metadata: Mapping[str, Any]
) -> storage.Card:
    """The card of a file with the clones of 2019; its arrays have an axis of seeds first."""
    config = {"hidden": list(hidden), "seeds": seeds}
    return storage.Card(KIND_2019, layout.name, layout.fingerprint, config, metadata)


def build(
    card: storage.Card, tensors: Mapping[str, Any], layout: Layout, path: Path, *, greedy: bool
) -> HumanClone:
    """Build the clone of a file that has been read."""
    hidden = _hidden(card, path)
    skeleton = eqx.filter_eval_shape(CloneNetwork, hidden, jax.random.key(0))
    return HumanClone(storage.fill(skeleton, tensors, path), layout, greedy)


def build_2019(
    card: storage.Card, tensors: Mapping[str, Any], layout: Layout, path: Path, *, greedy: bool
) -> Mixture:
    """Build the clones of 2019 of a file that has been read, each as likely as the others."""
    hidden = _hidden(card, path)
    seeds = whole_number(card.config.get("seeds"), f"{path}: seeds", 1, MAX_SEEDS)
    skeleton = eqx.filter_eval_shape(
        networks_2019, hidden, jax.random.split(jax.random.key(0), seeds)
    )
    stacked = storage.fill(skeleton, tensors, path)
    clones = [
        HumanClone(jax.tree.map(lambda leaf, seed=seed: leaf[seed], stacked), layout, greedy)
        for seed in range(seeds)
    ]
    return Mixture(tuple(clones), (1 / seeds,) * seeds)


def networks_2019(hidden: Sequence[int], keys: Key[Array, " seeds"]) -> CloneNetwork2019:
    """Networks of 2019 before training, stacked: one for each key."""
    return eqx.filter_vmap(lambda key: CloneNetwork2019(hidden, key))(keys)


def _hidden(card: storage.Card, path: Path) -> Sequence[int]:
    """The widths of the hidden layers in a card, checked."""
    hidden: Any = card.config.get("hidden")
    try:
        check_hidden(hidden)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return hidden
