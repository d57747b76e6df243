"""How long jobs take: by the rate of those that are done, or of a machine with two cores."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cochef.agents.network_config import ObservationKind
from cochef.experiments.exploitability import MeasureExploitability
from cochef.experiments.jobs import Job, JobStore, seconds_of
from cochef.experiments.shards import JoinShards, TrainShard
from cochef.experiments.stages import TrainAgents, TrainPopulation
from cochef.learning.config import TrainingConfig

# A step of a learner is one forward pass, and in each epoch a forward and a backward pass, which
# cost about three. On two cores the presets for a CPU make so many passes a second.
_PASSES_PER_SECOND = 1.2e6
_GRID_COST = 100.0  # times that of the compact vector: the paper's convolutions on a CPU
_OTHER_SECONDS = 30.0  # a job that trains nobody

_TRAINING = TrainPopulation | TrainAgents | TrainShard | MeasureExploitability


def work(job: Job) -> float:
    """The work of a job, in passes of a small network through a step; 1 if it trains nobody."""
    return _work(job.stage)


def _work(stage: object) -> float:
    if isinstance(stage, TrainPopulation):
        learners = stage.members * stage.spec.algorithm.roles.learners
        return learners * _passes(stage.training)
    if isinstance(stage, TrainAgents):
        return stage.stage.agents * _passes(stage.training)
    if isinstance(stage, TrainShard):
        return _work(stage.whole) * stage.count / stage.whole.members
    if isinstance(stage, MeasureExploitability):
        return stage.trainings * _passes(stage.training)
    return 1.0


def learner_steps(job: Job) -> float:
    """The environment steps of all learners of a job, by which accelerators are rated."""
    stage = job.stage
    whole = stage.whole if isinstance(stage, TrainShard) else stage
    if not isinstance(whole, TrainPopulation | TrainAgents):
        return 0.0
    return _work(stage) / _passes(whole.training) * whole.training.total_steps


def _kind(job: Job) -> str:
    """The kind of work: a shard's is that of the whole, and joining shards is none of it."""
    stage = job.stage
    if isinstance(stage, TrainShard):
        return stage.whole.kind
    return "join" if isinstance(stage, JoinShards) else stage.kind


def _passes(training: TrainingConfig) -> float:
    grid = training.network.observation is ObservationKind.GRID
    cost = _GRID_COST if grid else 1.0
    return cost * training.total_steps * (1 + 3 * training.epochs)


@dataclass(frozen=True)
class WorkEstimator:
    """Estimates the seconds of jobs by the rates of finished jobs, by kind."""

    rates: Mapping[str, float]
    """Work a second, by kind of job; kinds that no job is finished of are missing."""
    finished: int
    """How many jobs the rates are of."""

    def seconds(self, job: Job) -> float:
        """About how long a job takes."""
        kind = _kind(job)
        trains = isinstance(job.stage, _TRAINING)
        default = _PASSES_PER_SECOND if trains else 1 / _OTHER_SECONDS
        return work(job) / self.rates.get(kind, default)

    def left(self, jobs: Iterable[Job], store: JobStore) -> float:
        """About how long all jobs take that are not done."""
        return sum((self.seconds(job) for job in jobs if not store.is_done(job)), start=0.0)


def measured(jobs: Iterable[Job], store: JobStore) -> WorkEstimator:
    """An estimator with the rates of those jobs that are done."""
    spent: dict[str, float] = {}
    done: dict[str, float] = {}
    finished = 0
    for job in jobs:
        seconds = seconds_of(store.directory(job))
        if seconds:
            kind = _kind(job)
            spent[kind] = spent.get(kind, 0.0) + seconds
            done[kind] = done.get(kind, 0.0) + work(job)
            finished += 1
    return WorkEstimator({kind: done[kind] / spent[kind] for kind in spent}, finished)
