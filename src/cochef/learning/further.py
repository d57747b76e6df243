"""Training further: learners that begin as the agents of a file or of a finished run.

Actors come from agent files. A run also has its critics, in its last checkpoint; they go on, too,
if they fit. Optimisers begin anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from cochef.agents import actor_critic, names, storage
from cochef.agents.network_config import NetworkConfig
from cochef.errors import InputError
from cochef.kitchen.layout import Layout
from cochef.learning import axes, checkpoints, runs
from cochef.learning.population import Origin
from cochef.learning.ppo import LearnerState
from cochef.learning.trainer import Trainer
from cochef.learning.writers import Log


@dataclass(frozen=True)
class OriginFiles:
    """The agents that a training begins with: of a file, or of the directory of a run."""

    path: Path
    layout: Layout
    learners: int  # of each member
    agents: tuple[Path, ...]  # member by member

    @property
    def members(self) -> int:
        """How many members there are."""
        return len(self.agents) // self.learners

    @property
    def is_run(self) -> bool:
        """Whether it is a run, and not a single file."""
        return self.path.is_dir()

    @cached_property
    def network(self) -> NetworkConfig:
        """The config of the agents' networks."""
        card, _ = self._read(self.agents[0])
        return actor_critic.read_config(card.config, self.agents[0])

    @cached_property
    def hidden_rewards(self) -> Sequence[Mapping[str, float]] | None:
        """The weights of each member's hidden reward, if the run has some."""
        return runs.read_config(self.path).get("hidden_rewards") if self.is_run else None

    @property
    def source(self) -> dict[str, Any]:
        """Where the learners come from, for the configuration of the new run."""
        checksums = [storage.checksum(*self._read(path)) for path in self.agents]
        before = self._read(self.agents[0])[0].metadata.get("steps")
        if self.is_run:
            before = runs.read_config(self.path)["training"]["total_steps"]
        return {"path": str(self.path), "agents": checksums, "steps": before}

    def origin(self, trainer: Trainer, log: Log) -> Origin:
        """The networks that a trainer's learners begin with; members take them in turn."""
        skeleton: LearnerState = jax.eval_shape(trainer.begin).learners
        learners = trainer.algorithm.roles.learners
        if learners != self.learners:
            raise InputError(
                f"{self.path}: {self.learners} learners a member; this training has {learners}"
            )
        rows = [member % self.members for member in range(trainer.members)]
        actors = self._actors(skeleton.actor, rows)
        critics, normalizers = self._critics(skeleton, rows, log)
        return Origin(actors, critics, normalizers)

    def _read(self, path: Path) -> storage.StoredAgent:
        takes = "only trained agents learn further"
        return storage.read_kind(path, actor_critic.KIND, self.layout, takes)

    def _actors(self, skeleton: Any, rows: Sequence[int]) -> Any:  # noqa: ANN401
        tensors = [self._read(path)[1] for path in self.agents]
        by_member = axes.split_learners(storage.by_name(tensors, np.stack), self.learners)
        stacked = {name: leaf[list(rows)] for name, leaf in by_member.items()}
        return storage.fill(skeleton, stacked, self.path)

    def _critics(self, skeleton: LearnerState, rows: Sequence[int], log: Log) -> tuple[Any, Any]:
        """The critics and value normalizers of the run's last checkpoint, if they fit."""
        if not self.is_run:
            log(f"{self.path}: an agent file has no critic; that begins anew")
            return None, None
        try:
            tensors = checkpoints.read_newest(self.path / runs.CHECKPOINTS, self.layout)
            part = partial(checkpoints.learner_part, tensors, rows=list(rows), path=self.path)
            critics = part("critic", skeleton.critic)
            normalizers = part("value_normalizer", skeleton.value_normalizer)
        except InputError as error:
            log(f"{error}: the critics begin anew")
            return None, None
        return critics, normalizers


def read_origin(path: Path, layout: Layout) -> OriginFiles:
    """The agents of a file, of the directory of a finished run, or KIND:LAYOUT that ships."""
    if not path.is_dir():
        file = names.file_to_train(str(path))
        return OriginFiles(file, layout, 1, (file,))
    config = runs.read_config(path)
    agents = tuple(sorted((path / runs.AGENTS).glob(f"*{storage.SUFFIX}")))
    members = config.get("members")
    if not isinstance(members, int) or not agents or len(agents) % members:
        raise InputError(f"{path}: has no agents yet; finish this training first")
    return OriginFiles(path, layout, len(agents) // members, agents)
