"""Behaviour cloning: a network learns to do what people did in recorded games.

Some stretches of the games are kept for validation; of all epochs, the parameters with the lowest validation loss
are kept, and of all seeds the network with the lowest.
"""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key

from cochef.agents import cloned, storage
from cochef.agents.cloned import Imitation
from cochef.human.games import Split, games, replay
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.features import features
from cochef.kitchen.layout import Layout
from cochef.learning.cloning_config import CloningConfig
from cochef.pytree import pytree

_PAD = 4096  # examples come in multiples of this, so that games of like length share a compiled program


@dataclass(frozen=True)
class CloningReport:
    """How well the people of one kitchen and split were cloned; accuracies on the validation stretches."""

    layout: str
    split: str
    examples: int
    seed: int
    epoch: int
    accuracy: float
    accuracy_of_seeds: tuple[float, ...]
    loss: float
    training_accuracy: float
    majority: float  # always doing what people did most often, which is to stay
    random: float
    acting_accuracy: float  # where people did something: the likeliest action other than to stay
    acting_majority: float
    marginal_loss: float  # of knowing only how often people do what


@pytree
class Examples:
    """What people saw and did, training examples first; `actions` is -1 in the padding."""

    views: Float[Array, "n 96"]
    actions: Int[Array, " n"]
    training: Int[Array, ""]
    total: Int[Array, ""]


def examples(layout: Layout, split: Split, config: CloningConfig, seed: int) -> Examples:
    """Both chefs' examples of all games of a kitchen and split, parted by whole stretches."""
    views, actions, stretches = [], [], []
    see = jax.jit(jax.vmap(partial(features, layout)))
    for game in games(layout.name, split):
        states = jax.tree.map(lambda leaf: leaf[:-1], replay(game).states)
        padding = -len(game.actions) % 256
        padded = jax.tree.map(lambda leaf: np.concatenate([leaf, np.repeat(leaf[-1:], padding, axis=0)]), states)  # noqa: B023
        seen = np.asarray(see(padded))[: len(game.actions)]
        for seat in range(SEATS):
            views.append(seen[:, seat])
            actions.append(np.asarray(game.actions[:, seat]))
            stretches.append(len(stretches) * 10_000 + np.arange(len(game.actions)) // config.stretch)
    stretch = np.concatenate(stretches)
    held_out = np.random.default_rng(seed).random(stretch.max() + 1)[stretch] < config.validation
    order = np.argsort(held_out, kind="stable")
    padding = -len(order) % _PAD
    return Examples(
        views=jnp.asarray(np.pad(np.concatenate(views)[order], ((0, padding), (0, 0)))),
        actions=jnp.asarray(np.pad(np.concatenate(actions)[order].astype(np.int32), (0, padding), constant_values=-1)),
        training=jnp.int32((~held_out).sum()),
        total=jnp.int32(len(order)),
    )


@pytree
class Best:
    """The parameters with the lowest validation loss so far, and where they were found."""

    network: Imitation
    loss: Float[Array, ""]
    epoch: Int[Array, ""]


def clone(layout: Layout, split: Split, config: CloningConfig, seed: int = 0) -> tuple[Imitation, CloningReport]:
    """Clone the people of a kitchen and split; the best of several seeds."""
    data = examples(layout, split, config, seed)
    best = _train_seeds(config, data, jax.random.split(jax.random.key(seed), config.seeds))
    measured = jax.vmap(lambda network: _measure(network, data, validation=True))(best.network)
    chosen = int(np.argmin(best.loss))
    network = jax.tree.map(lambda leaf: leaf[chosen], best.network)
    done = np.asarray(data.actions)
    often = np.bincount(done[: int(data.training)], minlength=len(Action)) / int(data.training)
    held_out = done[int(data.training) : int(data.total)]
    acted = held_out[held_out != Action.STAY]
    return network, CloningReport(
        layout=layout.name,
        split=split.value,
        examples=int(data.total),
        seed=chosen,
        epoch=int(best.epoch[chosen]),
        accuracy=float(measured.accuracy[chosen]),
        accuracy_of_seeds=tuple(measured.accuracy.tolist()),
        loss=float(measured.loss[chosen]),
        training_accuracy=float(_measure(network, data, validation=False).accuracy),
        majority=float((held_out == often.argmax()).mean()),
        random=1 / len(Action),
        acting_accuracy=float(measured.acting_accuracy[chosen]),
        acting_majority=float((acted == np.where(np.arange(len(Action)) == Action.STAY, 0, often).argmax()).mean()),
        marginal_loss=float(-np.log(often[held_out]).mean()),
    )


def save(path: Path, layout: Layout, network: Imitation, config: CloningConfig, report: CloningReport) -> None:
    """Write a clone as an agent file that says how it was made and how good it is."""
    about = {"config": asdict(config), "report": asdict(report)}
    storage.save(path, cloned.card(layout, config.hidden, about), network)


@partial(jax.jit, static_argnames="config")
def _train_seeds(config: CloningConfig, data: Examples, keys: Key[Array, " seeds"]) -> Best:
    return jax.vmap(lambda key: _train(config, data, key))(keys)


def _train(config: CloningConfig, data: Examples, key: Key[Array, ""]) -> Best:
    optimiser = optax.adam(config.learning_rate)
    steps = data.views.shape[0] // config.batch
    key_init, key_epochs = jax.random.split(key)
    network = Imitation(config.hidden, key_init)

    def update(carry: tuple, key_batch: Key[Array, ""]) -> tuple[tuple, None]:
        network, state = carry
        rows = jax.random.randint(key_batch, (config.batch,), 0, data.training)
        gradient = jax.grad(_loss)(network, data.views[rows], data.actions[rows])
        change, state = optimiser.update(gradient, state)
        return (eqx.apply_updates(network, change), state), None

    def epoch(carry: tuple, inputs: tuple) -> tuple[tuple, None]:
        network, state, best = carry
        number, key_epoch = inputs
        (network, state), _ = jax.lax.scan(update, (network, state), jax.random.split(key_epoch, steps))
        loss = _measure(network, data, validation=True).loss
        better = loss < best.loss
        now = Best(network, loss, number)
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), now, best)
        return (network, state, best), None

    begin = (
        network,
        optimiser.init(eqx.filter(network, eqx.is_array)),
        Best(network, jnp.float32(jnp.inf), jnp.int32(0)),
    )
    inputs = (jnp.arange(config.epochs), jax.random.split(key_epochs, config.epochs))
    (_, _, best), _ = jax.lax.scan(epoch, begin, inputs)
    return best


def _loss(network: Imitation, views: Float[Array, "n 96"], actions: Int[Array, " n"]) -> Float[Array, ""]:
    return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(network)(views), actions).mean()


@pytree
class Measure:
    """Loss and accuracy on some examples, and accuracy where people did something."""

    loss: Float[Array, "*seeds"]
    accuracy: Float[Array, "*seeds"]
    acting_accuracy: Float[Array, "*seeds"]


def _measure(network: Imitation, data: Examples, *, validation: bool) -> Measure:
    """How well a network does on the validation or the training examples."""
    row = jnp.arange(data.actions.shape[0])
    counts = (row >= data.training) & (row < data.total) if validation else row < data.training
    acted = counts & (data.actions != Action.STAY)
    logits = jax.vmap(network)(data.views)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, data.actions)
    right = logits.argmax(axis=-1) == data.actions
    right_act = logits.at[:, Action.STAY].set(-jnp.inf).argmax(axis=-1) == data.actions
    return Measure(
        loss=jnp.where(counts, losses, 0.0).sum() / counts.sum(),
        accuracy=(right & counts).sum() / counts.sum(),
        acting_accuracy=(right_act & acted).sum() / acted.sum(),
    )
