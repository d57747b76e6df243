"""Checkpoints: a population in the middle of training, on disk, whole and checksummed.

All random numbers follow from seed, member and iteration, so a run that resumes from a checkpoint
ends exactly as if it had never been interrupted, wherever the checkpoint was.
"""

from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from cochef.agents import storage
from cochef.errors import InputError
from cochef.kitchen.layout import Layout
from cochef.learning.trainer import AXIS, Trainer, TrainState
from cochef.learning.writers import Log

KIND = "checkpoint"
KEPT = 2


def save(directory: Path, layout: Layout, state: TrainState, iterations: int) -> None:
    """Write the population after so many iterations; keep this checkpoint and the one before it.

    One beyond it is of no use: a run only comes back to fewer iterations if it could not be read.
    """
    card = storage.Card(KIND, layout.name, layout.fingerprint, metadata={"iterations": iterations})
    written = directory / f"{iterations:07}{storage.SUFFIX}"
    storage.save(written, card, state)
    there = _newest_first(directory)
    kept = [path for path in there if path.name <= written.name][:KEPT]
    for other in there:
        if other not in kept:
            other.unlink(missing_ok=True)


def restore(directory: Path, trainer: Trainer, most: int, log: Log) -> tuple[TrainState, int]:
    """The population and its iterations, from the newest checkpoint that can be used.

    Without any, training starts from the beginning. A checkpoint beyond `most` iterations cannot be
    used, as the metrics on the way to it are lost.
    """
    for path in _newest_first(directory):
        try:
            return _read(path, trainer, most)
        except InputError as error:
            log(f"{error}: this checkpoint is not used, but what was before it")
    return trainer.begin(), 0


def check_finite(tree: Any, iteration: int) -> None:  # noqa: ANN401
    """Raise an error about members with a number that is not finite in a tree, members first."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        finite = np.isfinite(leaf).reshape(leaf.shape[0], -1).all(axis=1)
        if not finite.all():
            what = jax.tree_util.keystr(path, simple=True, separator=".")
            members = ", ".join(map(str, np.flatnonzero(~finite)))
            raise InputError(
                f"iteration {iteration}: {what} of member {members} is not a finite number; "
                "the checkpoints before it are kept; "
                "a smaller learning rate or smaller rewards may help"
            )


def _newest_first(directory: Path) -> list[Path]:
    return sorted(directory.glob(f"[0-9]*{storage.SUFFIX}"), reverse=True)


def _read(path: Path, trainer: Trainer, most: int) -> tuple[TrainState, int]:
    card, tensors = storage.read(path)
    iterations = card.metadata.get("iterations")
    if card.kind != KIND or type(iterations) is not int:
        raise InputError(f"{path}: not a checkpoint but a file of kind {card.kind!r}")
    if iterations > most:
        raise InputError(
            f"{path}: after {iterations} iterations, of which only {most} are in the metrics"
        )
    state = storage.fill(jax.eval_shape(trainer.begin), tensors, path)
    sharding = NamedSharding(trainer.mesh, PartitionSpec(AXIS))
    return jax.device_put(state, sharding), iterations
