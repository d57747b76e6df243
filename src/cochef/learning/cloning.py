"""Behaviour cloning: a network learns to do what people did in recorded games.

The games are cut into stretches, and the stretches dealt into folds. For every fold a network is
trained without it and predicts it, so that every stretch is validated. The epoch is the one with
the lowest validation loss over all folds; the clone that is kept was trained on all stretches up to
that epoch.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key

from cochef.agents import cloned, storage
from cochef.agents.clone_networks import CloneNetwork
from cochef.human.games import Split, games, replay
from cochef.kitchen.constants import SEATS
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State
from cochef.learning.cloning_config import CloningConfig
from cochef.learning.cloning_report import CloningReport, Predictions, summarise
from cochef.pytree import pytree

# Examples are padded to a multiple of this, so that splits of like size share a compiled program.
_PAD = 4096
# Least standard deviation of a feature, so that one which hardly ever differs is not blown up.
_LEAST_DEVIATION = 0.1


@pytree
class Examples:
    """What people observed and did, in which stretch of which fold.

    In the padding, actions, stretches and folds are -1.
    """

    features: Float[Array, "n 96"]
    actions: Int[Array, " n"]
    stretches: Int[Array, " n"]
    folds: Int[Array, " n"]


@dataclass(frozen=True)
class HumanSteps:
    """What both people of some games observed and did, step by step, one game after the other."""

    features: Float[Array, "steps seats features"]
    actions: Int[np.ndarray, "steps seats"]
    lengths: tuple[int, ...]  # of the games


def human_steps(
    layout: Layout, split: Split, observe: Callable[[Layout, State], Array]
) -> HumanSteps:
    """The steps of all games of a layout and split, as `observe` shows their states."""
    trajectories = replay(games(layout.name, split))
    actions = np.concatenate([trajectory.actions for trajectory in trajectories])
    states = [jax.tree.map(_without_last, trajectory.states) for trajectory in trajectories]
    all_states = jax.tree.map(lambda *leaves: np.concatenate(leaves), *states)
    observed = jax.jit(jax.vmap(partial(observe, layout)))(all_states)
    lengths = tuple(len(trajectory.actions) for trajectory in trajectories)
    return HumanSteps(observed, actions, lengths)


def examples(layout: Layout, split: Split, config: CloningConfig, seed: int) -> Examples:
    """Both chefs' examples of all games of a layout and split, dealt into folds by stretches."""
    steps = human_steps(layout, split, CloneNetwork.observe)
    stretches = _stretches(steps.lengths, config.stretch)
    order = np.random.default_rng(seed).permutation(stretches[-1] + 1)
    padding = -len(stretches) % _PAD

    def pad(column: np.ndarray) -> Int[Array, " n"]:
        return jnp.asarray(np.pad(column.astype(np.int32), (0, padding), constant_values=-1))

    return Examples(
        features=jnp.pad(by_example(steps.features), ((0, padding), (0, 0))),
        actions=pad(steps.actions.reshape(-1)),
        stretches=pad(stretches),
        folds=pad(order[stretches] % config.folds),
    )


def by_example(features: Float[Array, "steps seats features"]) -> Float[Array, "n features"]:
    """Features by example: both people's of a step, one after the other."""
    return features.reshape(-1, features.shape[-1])


def _without_last(leaf: np.ndarray) -> np.ndarray:
    """The states in which somebody acted."""
    return leaf[:-1]


def _stretches(lengths: Sequence[int], stretch: int) -> np.ndarray:
    """The number of the stretch of each example of games of these lengths; none spans two games."""
    found = []
    begun = 0
    for length in lengths:
        steps = begun + np.arange(length) // stretch
        found.append(np.repeat(steps, SEATS))
        begun = steps[-1] + 1
    return np.concatenate(found)


def clone(
    layout: Layout, split: Split, config: CloningConfig, seed: int = 0
) -> tuple[CloneNetwork, CloningReport]:
    """Clone the people of a layout and split."""
    data = examples(layout, split, config, seed)
    scale = _scale(data)
    scaled = dataclasses.replace(data, features=(data.features - scale.mean) / scale.deviation)
    trained = _train_folds(config, scaled, jax.random.split(jax.random.key(seed), config.folds + 1))
    epoch = int(trained.loss[:-1].mean(axis=0).argmin())
    networks = jax.tree.map(lambda leaf: leaf[:, epoch], trained.network)
    logits = np.asarray(jax.vmap(lambda network: jax.vmap(network)(scaled.features))(networks))
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
    """Write a clone as an agent file that says how it was made and how well it predicts people."""
    metadata = {"config": dataclasses.asdict(config), "report": dataclasses.asdict(report)}
    storage.save(path, cloned.card(layout, config.hidden, metadata), network)


@pytree
class FeatureScale:
    """Mean and standard deviation of every feature in the examples."""

    mean: Float[Array, "96"]
    deviation: Float[Array, "96"]


def _scale(data: Examples) -> FeatureScale:
    real = data.features[data.actions >= 0]
    return FeatureScale(real.mean(axis=0), jnp.maximum(real.std(axis=0), _LEAST_DEVIATION))


@pytree
class TrainedClone:
    """The averaged network after every epoch, and its loss on the fold it was trained without.

    The loss is 0 where no fold was left out.
    """

    network: CloneNetwork
    loss: Float[Array, "*epochs"]


@partial(jax.jit, static_argnames="config")
def _train_folds(config: CloningConfig, data: Examples, keys: Key[Array, " runs"]) -> TrainedClone:
    """Train without each fold in turn, and last on all of them."""
    train = jax.vmap(partial(_train, config, data))
    return train(jnp.arange(config.folds + 1), keys)


def _train(
    config: CloningConfig, data: Examples, fold: Int[Array, ""], key: Key[Array, ""]
) -> TrainedClone:
    """Train on all folds but one."""
    optimizer = optax.adamw(config.learning_rate, weight_decay=config.weight_decay)
    steps = data.features.shape[0] // config.batch
    left_out = data.folds == fold
    learned = (data.folds >= 0) & ~left_out
    # How many examples are learned from is not known to the compiler: they come first in `rows`,
    # and batches are drawn from that many.
    rows = jnp.argsort(~learned, stable=True)
    count = learned.sum()
    key_init, key_epochs = jax.random.split(key)
    network = CloneNetwork(config.hidden, key_init)

    def update(carry: tuple, key_step: Key[Array, ""]) -> tuple[tuple, None]:
        network, opt_state, average = carry
        key_batch, key_dropout = jax.random.split(key_step)
        batch = rows[jax.random.randint(key_batch, (config.batch,), 0, count)]
        gradient = jax.grad(_loss)(
            network, data.features[batch], data.actions[batch], config.dropout, key_dropout
        )
        change, opt_state = optimizer.update(gradient, opt_state, network)
        network = eqx.apply_updates(network, change)
        average = optax.incremental_update(network, average, 1 - config.averaging)
        return (network, opt_state, average), None

    def epoch(carry: tuple, key_epoch: Key[Array, ""]) -> tuple[tuple, TrainedClone]:
        carry, _ = jax.lax.scan(update, carry, jax.random.split(key_epoch, steps))
        *_, average = carry
        losses = _cross_entropy(average, data.features, data.actions)
        loss = jnp.where(left_out, losses, 0.0).sum() / jnp.maximum(left_out.sum(), 1)
        return carry, TrainedClone(average, loss)

    begin = (network, optimizer.init(eqx.filter(network, eqx.is_array)), network)
    _, trained = jax.lax.scan(epoch, begin, jax.random.split(key_epochs, config.epochs))
    return trained


def _loss(
    network: CloneNetwork,
    inputs: Float[Array, "n 96"],
    actions: Int[Array, " n"],
    dropout: float,
    key: Key[Array, ""],
) -> Float[Array, ""]:
    return _cross_entropy(_with_dropout(network, dropout, key), inputs, actions).mean()


def _cross_entropy(
    network: CloneNetwork, inputs: Float[Array, "n 96"], actions: Int[Array, " n"]
) -> Float[Array, " n"]:
    return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(network)(inputs), actions)


def _with_dropout(network: CloneNetwork, dropout: float, key: Key[Array, ""]) -> CloneNetwork:
    """The network with a share of its hidden units dropped and the others that much louder.

    The same units are dropped for a whole mini-batch: one draw instead of one for every example.
    """
    first, *others = network.weights
    keys = jax.random.split(key, len(others))

    def drop(key: Key[Array, ""], weight: Float[Array, "units outputs"]) -> Array:
        kept = jax.random.bernoulli(key, 1 - dropout, (len(weight), 1))
        return jnp.where(kept, weight / (1 - dropout), 0.0)

    dropped = [drop(key, weight) for key, weight in zip(keys, others, strict=True)]
    return eqx.tree_at(lambda tree: tree.weights, network, (first, *dropped))


def _unscaled(network: CloneNetwork, scale: FeatureScale) -> CloneNetwork:
    """The network that does with plain features what the given one does with scaled ones."""
    weight = network.weights[0] / scale.deviation[:, None]
    bias = network.biases[0] - scale.mean @ weight
    return eqx.tree_at(lambda tree: (tree.weights[0], tree.biases[0]), network, (weight, bias))
