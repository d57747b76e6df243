"""Checkpoints: the whole training state of a population on disk, checksummed.

All random numbers follow from seed, member and iteration, so a run that resumes from a checkpoint
ends exactly as if it had never been interrupted, wherever the checkpoint was.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from cochef.agents import storage
from cochef.errors import InputError
from cochef.kitchen.layout import Layout
from cochef.learning.iteration import AXIS
from cochef.learning.population import TrainState
from cochef.learning.trainer import Trainer
from cochef.learning.writers import Log

KIND = "checkpoint"
KEPT = 2


def save(directory: Path, layout: Layout, state: TrainState, iterations: int) -> None:
    """Write a checkpoint after `iterations`; keep this one and the one before it.

    Later ones are deleted: a run resumes before a checkpoint only if that one cannot be used.
    """
    card = storage.Card(KIND, layout.name, layout.fingerprint, metadata={"iterations": iterations})
    written = directory / f"{iterations:07}{storage.SUFFIX}"
    storage.save(written, card, state)
    existing = _newest_first(directory)
    kept = [path for path in existing if path.name <= written.name][:KEPT]
    for path in existing:
        if path not in kept:
            path.unlink(missing_ok=True)


def restore(directory: Path, trainer: Trainer, most: int, log: Log) -> tuple[TrainState, int]:
    """The training state and its number of iterations, from the newest usable checkpoint.

    Without any, training starts from the beginning. A checkpoint after more than `most` iterations
    cannot be used, because the metrics of some of them are lost.
    """
    for path in _newest_first(directory):
        try:
            return _read(path, trainer, most)
        except InputError as error:
            log(f"{error}: skipping this checkpoint")
    return trainer.begin(), 0


def read_newest(directory: Path, layout: Layout) -> dict[str, np.ndarray]:
    """All arrays of the newest checkpoint, by name."""
    for path in _newest_first(directory):
        card, tensors = storage.read(path)
        storage.check_layout(card, layout, path)
        return tensors
    raise InputError(f"{directory}: no checkpoint; give the directory of a run that was trained")


def learner_part(
    tensors: Mapping[str, np.ndarray],
    part: str,
    skeleton: Any,  # noqa: ANN401
    rows: Any,  # noqa: ANN401
    path: Path,
) -> Any:  # noqa: ANN401
    """A part of a checkpoint's learners, such as the critics: these rows of [members, learners]."""
    prefix = f"learners.{part}."
    own = {
        name.removeprefix(prefix): np.asarray(tensor[rows])
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
    return storage.fill(skeleton, own, path)


def check_finite(tree: Any, iteration: int) -> None:  # noqa: ANN401
    """Raise an error if a tree, members first, has numbers that are not finite; say whose."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        finite = np.isfinite(leaf).all(axis=tuple(range(1, leaf.ndim)))
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
