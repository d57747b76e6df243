"""Behaviour cloning as Carroll et al. did it in 2019, the human models that the HSP paper used.

A network of 62 features and two layers of 64 learns a random 85% of all steps, with nothing against
overfitting, and is kept as it is after the last epoch. It is trained from several seeds, and all of
the networks are kept: nothing is chosen.
"""

import dataclasses
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Key

from cochef.agents import cloned, storage
from cochef.agents.clone_networks import CloneNetwork2019
from cochef.human.games import Split
from cochef.kitchen.layout import Layout
from cochef.learning.cloning import by_example, human_steps
from cochef.learning.cloning_config import EPOCHS_2019, Cloning2019Config
from cochef.pytree import pytree

_NOBODY = -1  # in place of an example, where the last mini-batch of an epoch is not full


@dataclass(frozen=True)
class CloningReport2019:
    """How the clones of a layout were made, and their losses, by seed (cross entropy in nats)."""

    layout: str
    split: str
    examples: int
    epochs: int
    first_seed: int
    training_loss: tuple[float, ...]
    """Mean over the mini-batches of the last epoch."""
    held_out_loss: tuple[float, ...]
    """Of steps that were not learned from; their neighbours in the same games were."""
    other_people_loss: tuple[float, ...]
    """Of the other half of the games: people of whom nothing was learned."""


@pytree
class LabelledSteps:
    """What somebody observed, and what they did."""

    features: Float[Array, "n 62"]
    actions: Int[Array, " n"]


@pytree
class TrainedClone2019:
    """A network after the last epoch, with its losses."""

    network: CloneNetwork2019
    training_loss: Float[Array, "*seeds"]
    held_out_loss: Float[Array, "*seeds"]


def clone_2019(
    layout: Layout,
    split: Split,
    config: Cloning2019Config,
    seed: int = 0,
    epochs: int | None = None,
) -> tuple[CloneNetwork2019, CloningReport2019]:
    """Clone the people of a layout and split from some seeds; the networks are stacked, [seeds]."""
    epochs = EPOCHS_2019[layout.name] if epochs is None else epochs
    data = _labelled_steps(layout, split)
    others = _labelled_steps(layout, Split.TRAIN if split is Split.TEST else Split.TEST)
    seeds = jnp.arange(config.seeds) + seed
    trained = _train_seeds(config, epochs, data, jax.vmap(jax.random.key)(seeds))
    unknown = eqx.filter_vmap(lambda network: _loss(network, others).mean())(trained.network)
    report = CloningReport2019(
        layout=layout.name,
        split=split.value,
        examples=len(data.actions),
        epochs=epochs,
        first_seed=seed,
        training_loss=tuple(trained.training_loss.tolist()),
        held_out_loss=tuple(trained.held_out_loss.tolist()),
        other_people_loss=tuple(unknown.tolist()),
    )
    return trained.network, report


def save(
    path: Path,
    layout: Layout,
    networks: CloneNetwork2019,
    config: Cloning2019Config,
    report: CloningReport2019,
) -> None:
    """Write clones of all seeds as one agent file that says how they were made."""
    metadata = {"config": dataclasses.asdict(config), "report": dataclasses.asdict(report)}
    card = cloned.card_2019(layout, config.hidden, config.seeds, metadata)
    storage.save(path, card, networks)


def _labelled_steps(layout: Layout, split: Split) -> LabelledSteps:
    steps = human_steps(layout, split, CloneNetwork2019.observe)
    actions = jnp.asarray(steps.actions.reshape(-1), jnp.int32)
    return LabelledSteps(by_example(steps.features), actions)


@partial(jax.jit, static_argnames=("config", "epochs"))
def _train_seeds(
    config: Cloning2019Config, epochs: int, data: LabelledSteps, keys: Key[Array, " seeds"]
) -> TrainedClone2019:
    return jax.vmap(partial(_train, config, epochs, data))(keys)


def _train(
    config: Cloning2019Config, epochs: int, data: LabelledSteps, key: Key[Array, ""]
) -> TrainedClone2019:
    """Train one network; every epoch takes each learned step once, in another order."""
    key_split, key_init, key_epochs = jax.random.split(key, 3)
    order = jax.random.permutation(key_split, len(data.actions))
    learned = int(config.learned * len(data.actions))
    rows = order[:learned]
    missing = -learned % config.batch
    optimizer = optax.adam(config.learning_rate)
    network = CloneNetwork2019(config.hidden, key_init)

    def update(carry: tuple, batch: Int[Array, " batch"]) -> tuple[tuple, Float[Array, ""]]:
        network, opt_state = carry
        loss, gradient = jax.value_and_grad(_batch_loss)(network, data, batch)
        change, opt_state = optimizer.update(gradient, opt_state)
        return (eqx.apply_updates(network, change), opt_state), loss

    def epoch(carry: tuple, key_epoch: Key[Array, ""]) -> tuple[tuple, Float[Array, ""]]:
        shuffled = jax.random.permutation(key_epoch, rows)
        padded = jnp.pad(shuffled, (0, missing), constant_values=_NOBODY)
        carry, losses = jax.lax.scan(update, carry, padded.reshape(-1, config.batch))
        return carry, losses.mean()

    begin = (network, optimizer.init(eqx.filter(network, eqx.is_array)))
    (network, _), losses = jax.lax.scan(epoch, begin, jax.random.split(key_epochs, epochs))
    held_out = jax.tree.map(lambda leaf: leaf[order[learned:]], data)
    return TrainedClone2019(network, losses[-1], _loss(network, held_out).mean())


def _batch_loss(
    network: CloneNetwork2019, data: LabelledSteps, batch: Int[Array, " batch"]
) -> Float[Array, ""]:
    real = batch != _NOBODY
    losses = _loss(network, jax.tree.map(lambda leaf: leaf[batch], data))
    return jnp.where(real, losses, 0.0).sum() / real.sum()


def _loss(network: CloneNetwork2019, data: LabelledSteps) -> Float[Array, " n"]:
    logits = jax.vmap(network)(data.features)
    return optax.softmax_cross_entropy_with_integer_labels(logits, data.actions)
