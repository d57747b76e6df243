"""Shards: some members of a population as a job of their own, so that machines share the work.

Only populations whose members are independent are split. Random numbers follow from the seed, the
number of the member and the iteration, and a CPU computes one member after the other, so a member
of a shard has the bits that it has in the whole. An accelerator computes all at once, and rounds
sums in another order. So a split population has an address of its own.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from cochef.experiments.jobs import Job, JobContext, Stage
from cochef.experiments.stages import PreparedTraining
from cochef.learning import runs
from cochef.learning.writers import SHARD
from cochef.validation import whole_number


@runtime_checkable
class TrainingStage(Stage, Protocol):
    """A stage that trains members."""

    @property
    def members(self) -> int:
        """How many members there are."""
        ...

    @property
    def members_meet(self) -> bool:
        """Whether members learn from each other, so that they cannot be split."""
        ...

    def prepare(self, context: JobContext) -> PreparedTraining:
        """The trainer with all its inputs."""
        ...

    def draw(self, context: JobContext) -> None:
        """Plot the curves of the trained run."""
        ...


@dataclass(frozen=True)
class TrainShard:
    """Train some members of a population; inputs: those of the whole."""

    whole: TrainingStage
    first: int
    count: int
    kind: str = "shard"

    @property
    def version(self) -> int:
        """That of the whole."""
        return self.whole.version

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings of the whole, and which members."""
        return {"whole": self.whole.kind, SHARD: self.shard, **self.whole.config}

    @property
    def shard(self) -> list[int]:
        """The first member, and how many."""
        return [self.first, self.count]

    def run(self, context: JobContext) -> None:
        """Train, or resume training."""
        whole = self.whole.prepare(context)
        trainer = whole.trainer.shard(self.first, self.count)
        run_config = {**whole.run_config, "members": self.count, SHARD: self.shard}
        PreparedTraining(trainer, run_config).train(context)


@dataclass(frozen=True)
class JoinShards:
    """Write the files of a whole population from its shards; inputs: the whole's and all shards."""

    whole: TrainingStage
    shards: tuple[str, ...]
    """The names of the inputs that are shards, in order."""

    @property
    def kind(self) -> str:
        """That of the whole."""
        return self.whole.kind

    @property
    def version(self) -> int:
        """That of the whole."""
        return self.whole.version

    @property
    def config(self) -> Mapping[str, Any]:
        """That of the whole."""
        return self.whole.config

    def run(self, context: JobContext) -> None:
        """Join what the shards trained, and plot it."""
        whole = self.whole.prepare(context)
        directories = [context.inputs[name] for name in self.shards]
        runs.join(whole.trainer, context.directory, whole.run_config, directories)
        self.whole.draw(context)


def split(goal: Job, most: int) -> Job:
    """The same graph, with populations that can be split in shards of at most so many members."""
    whole_number(most, "shard-members", 1)
    changed: dict[str, Job] = {}

    def visit(job: Job) -> Job:
        if job.address not in changed:
            inputs = {name: visit(job_input) for name, job_input in job.inputs.items()}
            changed[job.address] = _split_one(Job(job.stage, job.label, inputs), most)
        return changed[job.address]

    return visit(goal)


def _split_one(job: Job, most: int) -> Job:
    stage = job.stage
    if not isinstance(stage, TrainingStage) or stage.members_meet or stage.members <= most:
        return job
    shards = {}
    for number, (first, count) in enumerate(_parts(stage.members, most)):
        label = f"{stage.kind}-{job.label}-{number:02}"
        name = f"{SHARD}-{number:02}"
        shards[name] = Job(TrainShard(stage, first, count), label, job.inputs)
    return Job(JoinShards(stage, tuple(shards)), job.label, {**job.inputs, **shards})


def _parts(members: int, most: int) -> list[tuple[int, int]]:
    """Parts of a population, as even as possible: the first member of each, and how many."""
    number = -(-members // most)
    bounds = [members * part // number for part in range(number + 1)]
    return [(low, high - low) for low, high in itertools.pairwise(bounds)]
