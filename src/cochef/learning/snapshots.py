"""Snapshots: the actors of a population during training, with their returns at that time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cochef.agents import actor_critic, storage
from cochef.agents.actor_critic import TrainedAgent
from cochef.agents.networks import Network
from cochef.errors import InputError
from cochef.kitchen.layout import Layout
from cochef.learning.config import TrainingConfig

KIND = "snapshot"
WINDOW = 10  # iterations, at most, over which the return of a snapshot is averaged


@dataclass(frozen=True)
class Snapshot:
    """The actors of all members after some iteration."""

    path: Path
    iteration: int
    steps: int
    returns: tuple[float, ...]  # mean task return of an episode, per member
    events: tuple[tuple[tuple[float, ...], ...], ...]  # mean counts of an episode, per member, role


def save(
    directory: Path,
    layout: Layout,
    config: TrainingConfig,
    actors: Network,
    recent: Sequence[Mapping[str, Any]],
) -> None:
    """Write the actors [members, learners], with what the last lines of metrics say about them."""
    iteration = recent[-1]["iteration"]
    metadata = {
        "iteration": iteration,
        "steps": recent[-1]["steps"],
        "returns": recent_returns(config, recent),
        "events": _recent_mean(config, recent, "events").tolist(),
    }
    card = actor_critic.card(KIND, layout, config.network, metadata)
    storage.save(directory / f"{iteration:07}{storage.SUFFIX}", card, actors)


def recent_returns(config: TrainingConfig, recent: Sequence[Mapping[str, Any]]) -> list[float]:
    """Mean task return per member over the iterations since the last snapshot, at most WINDOW."""
    return _recent_mean(config, recent, "task_return").tolist()


def read(directory: Path) -> list[Snapshot]:
    """All snapshots in a directory, the earliest first."""
    found = []
    for path in sorted(directory.glob(f"[0-9]*{storage.SUFFIX}")):
        card, _ = storage.read(path)
        _check_kind(card, path)
        metadata = card.metadata
        events = tuple(tuple(map(tuple, roles)) for roles in metadata["events"])
        returns = tuple(metadata["returns"])
        found.append(Snapshot(path, metadata["iteration"], metadata["steps"], returns, events))
    if not found:
        raise InputError(f"{directory}: no snapshots; give the directory of a run that was trained")
    return found


def extract(
    path: Path, layout: Layout, member: int, learner: int = 0
) -> tuple[storage.Card, dict[str, np.ndarray]]:
    """One learner of a snapshot, as the content of an agent file."""
    card, tensors = storage.read(path)
    _check_kind(card, path)
    storage.check_layout(card, layout, path)
    members, learners = next(iter(tensors.values())).shape[:2]
    if not (0 <= member < members and 0 <= learner < learners):
        raise InputError(
            f"{path}: no learner {learner} of member {member}; "
            f"it has {learners} of {members} members"
        )
    metadata = {
        "iteration": card.metadata["iteration"],
        "steps": card.metadata["steps"],
        "member": member,
        "learner": learner,
    }
    own = {name: tensor[member, learner] for name, tensor in tensors.items()}
    return replace(card, kind=actor_critic.KIND, metadata=metadata), own


def load(
    path: Path, layout: Layout, member: int, learner: int = 0, *, greedy: bool = False
) -> TrainedAgent:
    """One learner of a snapshot, as an agent."""
    return actor_critic.build(*extract(path, layout, member, learner), layout, path, greedy=greedy)


def _check_kind(card: storage.Card, path: Path) -> None:
    if card.kind != KIND:
        raise InputError(f"{path}: not a snapshot of a population but a file of kind {card.kind!r}")


def _recent_mean(
    config: TrainingConfig, recent: Sequence[Mapping[str, Any]], name: str
) -> np.ndarray:
    # Iterations before the last snapshot count for that one only.
    iteration = recent[-1]["iteration"]
    earlier = (mark for mark in config.snapshot_iterations if mark < iteration)
    since = max(earlier, default=0)
    window = min(WINDOW, iteration - since)
    return np.mean([line[name] for line in recent[-window:]], axis=0)
