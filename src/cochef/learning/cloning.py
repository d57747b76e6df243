"""Behaviour cloning: a network learns to do what people did in recorded games.

The games are cut into stretches, and the stretches dealt into folds. For every fold a network is trained without it
and predicts it, so that every stretch is validated. The epoch is the one with the lowest validation loss over all
folds; the clone that is kept was trained on all stretches up to that epoch.
"""

import dataclasses
from functools import partial
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key

from cochef.agents import cloned, storage
from cochef.agents.cloned import CloneNetwork
from cochef.human.games import Split, games, replay
from cochef.kitchen.constants import SEATS
from cochef.kitchen.features import FEATURES, features
from cochef.kitchen.layout import Layout
from cochef.learning.cloning_config import CloningConfig
from cochef.learning.cloning_report import CloningReport, Predictions, summarise
from cochef.pytree import pytree

_PAD = 4096  # examples come in multiples of this, so that games of like length share a compiled program
_LEAST_DEVIATION = 0.1  # of a feature, so that one which hardly ever differs is not blown up


@pytree
class Examples:
    """What people saw and did, in which stretch of which fold; all but `views` are -1 in the padding."""

    views: Float[Array, "n 96"]
    actions: Int[Array, " n"]
    stretches: Int[Array, " n"]
    folds: Int[Array, " n"]


def examples(layout: Layout, split: Split, config: CloningConfig, seed: int) -> Examples:
    """Both chefs' examples of all games of a kitchen and split, dealt into folds by whole stretches."""
    views, actions, stretches = [], [], []
    see = jax.jit(jax.vmap(partial(features, layout)))
    begun = 0
    chosen = games(layout.name, split)
    for game, trajectory in zip(chosen, replay(chosen), strict=True):
        states = jax.tree.map(lambda leaf: leaf[:-1], trajectory.states)
        padding = -len(game.actions) % 256
        padded = jax.tree.map(
            lambda leaf: np.concatenate([leaf, np.repeat(leaf[-1:], padding, axis=0)]), states
        )  # noqa: B023
        views.append(np.asarray(see(padded))[: len(game.actions)].reshape(-1, FEATURES))
        actions.append(np.asarray(game.actions).reshape(-1))
        stretch = begun + np.arange(len(game.actions)) // config.stretch
        stretches.append(np.repeat(stretch, SEATS))
        begun = stretch[-1] + 1
    stretches = np.concatenate(stretches)
    folds = np.random.default_rng(seed).permutation(begun)[stretches] % config.folds
    padding = -len(stretches) % _PAD
    pad = lambda column: jnp.asarray(
        np.pad(column.astype(np.int32), (0, padding), constant_values=-1)
    )  # noqa: E731
    return Examples(
        views=jnp.asarray(np.pad(np.concatenate(views), ((0, padding), (0, 0)))),
        actions=pad(np.concatenate(actions)),
        stretches=pad(stretches),
        folds=pad(folds),
    )


def clone(
    layout: Layout, split: Split, config: CloningConfig, seed: int = 0
) -> tuple[CloneNetwork, CloningReport]:
    """Clone the people of a kitchen and split."""
    data = examples(layout, split, config, seed)
    scale = _scale(data)
    scaled = dataclasses.replace(data, views=(data.views - scale.mean) / scale.deviation)
    trained = _train_folds(config, scaled, jax.random.split(jax.random.key(seed), config.folds + 1))
    epoch = int(trained.loss[:-1].mean(axis=0).argmin())
    networks = jax.tree.map(lambda leaf: leaf[:, epoch], trained.network)
    logits = np.asarray(jax.vmap(lambda network: jax.vmap(network)(scaled.views))(networks))
    real = np.asarray(data.actions) >= 0
    folds = np.asarray(data.folds)[real]
    predictions = Predictions(
        logits=logits[:, real][folds, np.arange(len(folds))],
        logits_of_kept=logits[-1, real],
        actions=np.asarray(data.actions)[real],
        stretches=np.asarray(data.stretches)[real],
        folds=folds,
    )
    kept = jax.tree.map(lambda leaf: leaf[-1], networks)
    return _unscaled(kept, scale), summarise(layout.name, split.value, epoch, predictions)


def save(
    path: Path, layout: Layout, network: CloneNetwork, config: CloningConfig, report: CloningReport
) -> None:
    """Write a clone as an agent file that says how it was made and how well people are predicted that way."""
    about = {"config": dataclasses.asdict(config), "report": dataclasses.asdict(report)}
    storage.save(path, cloned.card(layout, config.hidden, about), network)


@pytree
class Scale:
    """Mean and standard deviation of every feature in the examples."""

    mean: Float[Array, "96"]
    deviation: Float[Array, "96"]


def _scale(data: Examples) -> Scale:
    seen = data.views[data.actions >= 0]
    return Scale(seen.mean(axis=0), jnp.maximum(seen.std(axis=0), _LEAST_DEVIATION))


@pytree
class TrainedClone:
    """The averaged network after every epoch, and its loss on the fold it was not trained on (0 without one)."""

    network: CloneNetwork
    loss: Float[Array, "*epochs"]


@partial(jax.jit, static_argnames="config")
def _train_folds(config: CloningConfig, data: Examples, keys: Key[Array, " runs"]) -> TrainedClone:
    """Train without each fold, and last without none."""
    return jax.vmap(lambda fold, key: _train(config, data, fold, key))(
        jnp.arange(config.folds + 1), keys
    )


def _train(
    config: CloningConfig, data: Examples, fold: Int[Array, ""], key: Key[Array, ""]
) -> TrainedClone:
    optimiser = optax.adamw(config.learning_rate, weight_decay=config.weight_decay)
    steps = data.views.shape[0] // config.batch
    left_out = data.folds == fold
    learned = (data.folds >= 0) & ~left_out
    rows, count = jnp.argsort(~learned, stable=True), learned.sum()
    key_init, key_epochs = jax.random.split(key)
    network = CloneNetwork(config.hidden, key_init)

    def update(carry: tuple, key_step: Key[Array, ""]) -> tuple[tuple, None]:
        network, state, average = carry
        key_batch, key_rest = jax.random.split(key_step)
        batch = rows[jax.random.randint(key_batch, (config.batch,), 0, count)]
        gradient = jax.grad(_loss)(
            network, data.views[batch], data.actions[batch], config.dropout, key_rest
        )
        change, state = optimiser.update(gradient, state, network)
        network = eqx.apply_updates(network, change)
        average = optax.incremental_update(network, average, 1 - config.averaging)
        return (network, state, average), None

    def epoch(carry: tuple, key_epoch: Key[Array, ""]) -> tuple[tuple, TrainedClone]:
        (network, state, average), _ = jax.lax.scan(
            update, carry, jax.random.split(key_epoch, steps)
        )
        losses = _cross_entropy(average, data.views, data.actions)
        loss = jnp.where(left_out, losses, 0.0).sum() / jnp.maximum(left_out.sum(), 1)
        return (network, state, average), TrainedClone(average, loss)

    begin = (network, optimiser.init(eqx.filter(network, eqx.is_array)), network)
    _, trained = jax.lax.scan(epoch, begin, jax.random.split(key_epochs, config.epochs))
    return trained


def _loss(
    network: CloneNetwork,
    views: Float[Array, "n 96"],
    actions: Int[Array, " n"],
    dropout: float,
    key: Key[Array, ""],
) -> Float[Array, ""]:
    return _cross_entropy(_thinned(network, dropout, key), views, actions).mean()


def _cross_entropy(
    network: CloneNetwork, views: Float[Array, "n 96"], actions: Int[Array, " n"]
) -> Float[Array, " n"]:
    return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(network)(views), actions)


def _thinned(network: CloneNetwork, dropout: float, key: Key[Array, ""]) -> CloneNetwork:
    """The network with a share of its hidden units at rest and the others that much louder (dropout).

    The units rest for a whole mini-batch: one draw instead of one for every example.
    """
    first, *others = network.weights
    keys = jax.random.split(key, len(others))
    awake = [
        jax.random.bernoulli(k, 1 - dropout, (len(w), 1)) for k, w in zip(keys, others, strict=True)
    ]
    thinned = tuple(
        jnp.where(a, w / (1 - dropout), 0.0) for a, w in zip(awake, others, strict=True)
    )
    return eqx.tree_at(lambda tree: tree.weights, network, (first, *thinned))


def _unscaled(network: CloneNetwork, scale: Scale) -> CloneNetwork:
    """The network that does with the features themselves what the given one does with scaled ones."""
    weight = network.weights[0] / scale.deviation[:, None]
    bias = network.biases[0] - scale.mean @ weight
    return eqx.tree_at(lambda tree: (tree.weights[0], tree.biases[0]), network, (weight, bias))
