"""A graph of jobs, each addressed by the checksum of all that decides its result.

A finished job is never done again, whichever run needs it; an interrupted job resumes. Loads no
JAX, so that `cochef status` is quick.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import cochef
from cochef import provenance
from cochef.errors import InputError
from cochef.files import alone, read_table, write_json, write_whole
from cochef.learning.writers import CONFIG, SHARD, Log, MetricsWriter, read_metrics
from cochef.validation import number

JOBS = "jobs"
JOB = "job.json"
BEGUN = "begun"
DONE = "done.json"
MAX_BYTES = 16 * 1024**2


@dataclass(frozen=True)
class JobContext:
    """What a stage gets to run: its directory, its inputs' directories, and loggers."""

    directory: Path
    inputs: Mapping[str, Path] = field(default_factory=dict)
    writers: Sequence[MetricsWriter] = ()
    log: Log = print
    home: Path | None = None
    """Where the reader of the result has the store, if the job runs elsewhere."""
    checkpoint_seconds: float | None = None
    """Between two checkpoints of a training; the usual time if None."""

    def shown(self, directory: Path) -> Path:
        """The path by which the reader of the result finds a job's directory."""
        return directory if self.home is None else self.home / JOBS / directory.name


@runtime_checkable
class Stage(Protocol):
    """Makes files from files; resumes from what an earlier attempt left in its directory."""

    @property
    def kind(self) -> str:
        """The kind of job, the first part of its directory's name."""
        ...

    @property
    def version(self) -> int:
        """Raised when the code gives another result for the same configuration."""
        ...

    @property
    def config(self) -> Mapping[str, Any]:
        """All that decides the result besides version and inputs, and nothing else, for JSON."""
        ...

    def run(self, context: JobContext) -> None:
        """Do the work."""
        ...


def trains(description: Mapping[str, Any]) -> bool:
    """Whether the job with a description trains policies; to join shards is no training."""
    joins = any(name.startswith(f"{SHARD}-") for name in description["inputs"])
    return "training" in description["config"] and not joins


@dataclass(frozen=True)
class Job:
    """A stage, a label for readers, and the jobs whose results are its inputs, by name."""

    stage: Stage
    label: str
    inputs: Mapping[str, "Job"] = field(default_factory=dict)

    @cached_property
    def description(self) -> dict[str, Any]:
        """All that decides its result; its checksum is the address."""
        return {
            "kind": self.stage.kind,
            "version": self.stage.version,
            "config": self.stage.config,
            "inputs": {name: job.address for name, job in self.inputs.items()},
        }

    @cached_property
    def address(self) -> str:
        """The first digits of the description's checksum."""
        text = json.dumps(self.description, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def trains(self) -> bool:
        """Whether it trains policies."""
        return trains(self.description)

    @property
    def name(self) -> str:
        """The name of its directory."""
        return f"{self.stage.kind}-{self.label}-{self.address}"

    @property
    def on_driver(self) -> bool:
        """Whether it reads what only the driver may, so that it is given to no other machine."""
        return getattr(self.stage, "on_driver", False)


def in_order(goals: Iterable[Job]) -> list[Job]:
    """The goals and all jobs that they depend on, each once, after its inputs."""
    found: dict[str, Job] = {}

    def visit(job: Job) -> None:
        if job.address not in found:
            for job_input in job.inputs.values():
                visit(job_input)
            found[job.address] = job

    for goal in goals:
        visit(goal)
    return list(found.values())


@dataclass(frozen=True)
class JobStore:
    """A directory with jobs and their results."""

    root: Path

    def directory(self, job: Job) -> Path:
        """The directory of a job, for its work and its result."""
        return self.root / JOBS / job.name

    def inputs(self, job: Job) -> dict[str, Path]:
        """The directories of a job's inputs, by name."""
        return {name: self.directory(job_input) for name, job_input in job.inputs.items()}

    def is_done(self, job: Job) -> bool:
        """Whether a job is done; an error if what says so is damaged."""
        return seconds_of(self.directory(job)) is not None

    def plan(self, jobs: Iterable[Job]) -> None:
        """Write the descriptions of jobs that are to be done, for `statuses`."""
        for job in jobs:
            path = self.directory(job) / JOB
            if not path.exists():
                write_json(path, job.description)

    def alone(self) -> AbstractContextManager[None]:
        """Lock the store against other processes."""
        return alone(self.root, "runs jobs")

    def begin(self, job: Job) -> None:
        """Note that a job has begun, for `statuses`."""
        write_whole(self.directory(job) / BEGUN, b"")

    def perform(
        self,
        job: Job,
        writers: Sequence[MetricsWriter],
        log: Log,
        home: Path | None = None,
        checkpoint_seconds: float | None = None,
    ) -> None:
        """Run a job, or resume it; its inputs must be done."""
        directory = self.directory(job)
        started = time.monotonic()
        commit = provenance.commit()  # now, as the source may change while the job runs
        self.begin(job)
        inputs = self.inputs(job)
        job.stage.run(JobContext(directory, inputs, writers, log, home, checkpoint_seconds))
        # A resumed training also counts the time of earlier attempts.
        seconds = max(time.monotonic() - started, _training_seconds(directory))
        end = {"seconds": round(seconds, 1), "cochef": cochef.__version__, "commit": commit}
        write_whole(directory / DONE, (json.dumps(end) + "\n").encode())


def seconds_of(directory: Path) -> float | None:
    """How long the job in a directory took, if it is done."""
    path = directory / DONE
    if not path.exists():
        return None
    try:
        return number(_read(path).get("seconds"), "seconds")
    except InputError as error:
        raise InputError(f"{path}: damaged ({error}); {_AGAIN}") from None


@dataclass(frozen=True)
class JobStatus:
    """The status of a job."""

    name: str
    state: str  # done, waiting, begun, or the percentage of a training
    seconds: float | None
    inputs: tuple[str, ...]  # names of jobs


def statuses(root: Path) -> list[JobStatus]:
    """The status of all jobs in a store, each after its inputs."""
    descriptions = {
        path.parent.name: _read(path) for path in sorted((root / JOBS).glob(f"*/{JOB}"))
    }
    if not descriptions:
        raise InputError(f"{root}: no jobs in it; give what was given to `cochef run --out`")
    by_address = {name.rpartition("-")[2]: name for name in descriptions}
    found: dict[str, JobStatus] = {}

    def visit(name: str) -> None:
        if name in found:
            return
        directory = root / JOBS / name
        addresses = descriptions[name].get("inputs")
        if not isinstance(addresses, dict):
            raise InputError(f"{directory / JOB}: damaged (no inputs); delete its directory")
        inputs = [by_address[address] for address in addresses.values() if address in by_address]
        for job_input in inputs:
            visit(job_input)
        seconds = seconds_of(directory)
        state = "done" if seconds is not None else _progress(directory)
        found[name] = JobStatus(name, state, seconds, tuple(dict.fromkeys(inputs)))

    for name in descriptions:
        visit(name)
    return list(found.values())


_AGAIN = "delete its directory, and the job is done again"


def _progress(directory: Path) -> str:
    """The progress of an unfinished job: the percentage of a training, or whether it has begun."""
    metrics = read_metrics(directory)
    if metrics:
        training = _read(directory / CONFIG).get("training", {})
        return f"{metrics[-1]['steps'] / max(1, training.get('total_steps', 0)):.0%}"
    return "begun" if (directory / BEGUN).exists() else "waiting"


def _training_seconds(directory: Path) -> float:
    """The seconds of all attempts at a training, if the job in a directory is one."""
    metrics = read_metrics(directory)
    return float(metrics[-1]["seconds"]) if metrics else 0.0


def _read(path: Path) -> dict[str, Any]:
    return read_table(path, MAX_BYTES, "a job", _AGAIN)
