"""Work as a graph of jobs, each addressed by the checksum of all that decides its result.

A job that is done is never done again, whoever asks for it; a job that was stopped goes on where it was.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import cochef
from cochef.errors import InputError
from cochef.files import alone, read_limited, write_whole
from cochef.learning import runs
from cochef.learning.writers import MetricsWriter

JOB, BEGUN, DONE = "job.json", "begun", "done.json"
MAX_BYTES = 16 * 1024**2

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Place:
    """Where a task works, where it finds what it needs, and whom it tells about its progress."""

    directory: Path
    needs: Mapping[str, Path]
    sinks: Sequence[MetricsWriter] = ()
    tell: Tell = print


@runtime_checkable
class Task(Protocol):
    """Something that makes files from files; goes on with what an earlier attempt left in its place."""

    @property
    def kind(self) -> str:
        """What sort of work it is."""
        ...

    @property
    def version(self) -> int:
        """Raised when the same settings give another result than before."""
        ...

    @property
    def about(self) -> Mapping[str, Any]:
        """All that decides the result, but for what it needs; fit for JSON."""
        ...

    def run(self, place: Place) -> None:
        """Do it."""
        ...


@dataclass(frozen=True)
class Job:
    """A task, what it is about in a few words without spaces, and the jobs it needs, by the name it has for them."""

    task: Task
    label: str
    needs: Mapping[str, "Job"] = field(default_factory=dict)

    @cached_property
    def table(self) -> dict[str, Any]:
        """What is written down about it; its checksum is its address."""
        needs = {name: job.address for name, job in self.needs.items()}
        return {"kind": self.task.kind, "version": self.task.version, "about": self.task.about, "needs": needs}

    @cached_property
    def address(self) -> str:
        """Follows from the task's configuration and what it needs."""
        return hashlib.sha256(json.dumps(self.table, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def name(self) -> str:
        """The name of its directory."""
        return f"{self.task.kind}-{self.label}-{self.address}"


def in_order(goals: Iterable[Job]) -> list[Job]:
    """All jobs that are needed, each once, after those it needs."""
    found: dict[str, Job] = {}

    def visit(job: Job) -> None:
        if job.address not in found:
            for need in job.needs.values():
                visit(need)
            found[job.address] = job

    for goal in goals:
        visit(goal)
    return list(found.values())


@dataclass(frozen=True)
class Store:
    """Where jobs and their results are."""

    root: Path

    def directory(self, job: Job) -> Path:
        """Where a job works and leaves its result."""
        return self.root / "jobs" / job.name

    def seconds(self, job: Job) -> float | None:
        """How long a job took, if it is done."""
        return seconds(self.directory(job))

    def plan(self, jobs: Iterable[Job]) -> None:
        """Write down what is to be done, for `overview`."""
        for job in jobs:
            if not (self.directory(job) / JOB).exists():
                write_whole(self.directory(job) / JOB, (json.dumps(job.table, indent=1) + "\n").encode())

    def alone(self) -> AbstractContextManager[None]:
        """Nobody else works in this store."""
        return alone(self.root, "runs jobs")

    def perform(self, job: Job, sinks: Sequence[MetricsWriter], tell: Tell) -> float:
        """Do a job, or go on with it; what it needs must be done. Says how many seconds that took."""
        directory = self.directory(job)
        started = time.monotonic()
        needs = {name: self.directory(need) for name, need in job.needs.items()}
        write_whole(directory / BEGUN, b"")
        job.task.run(Place(directory, needs, sinks, tell))
        spent = max(time.monotonic() - started, _trained(directory))
        end = {"seconds": round(spent, 1), "cochef": cochef.__version__}
        write_whole(directory / DONE, (json.dumps(end) + "\n").encode())
        return spent


def seconds(directory: Path) -> float | None:
    """How long the job of a directory took, if it is done; a training that was stopped counts whole."""
    path = directory / DONE
    if not path.exists():
        return None
    found = _read(path).get("seconds")
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        raise InputError(f"{path}: damaged (no seconds); delete its directory, and the job is done again")
    return float(found)


@dataclass(frozen=True)
class State:
    """How a job stands."""

    name: str
    state: str  # done, waiting, or how far it is
    seconds: float | None
    needs: tuple[str, ...]  # the names of the jobs it needs


def overview(root: Path) -> list[State]:
    """All jobs in a store, each after those it needs."""
    tables = {path.parent.name: _read(path) for path in sorted((root / "jobs").glob(f"*/{JOB}"))}
    if not tables:
        raise InputError(f"{root}: no jobs in it; give what was given to `cochef run --out`")
    by_address = {name.rpartition("-")[2]: name for name in tables}
    found: dict[str, State] = {}

    def visit(name: str) -> None:
        if name in found:
            return
        addresses = tables[name].get("needs")
        if not isinstance(addresses, dict):
            raise InputError(f"{root / 'jobs' / name / JOB}: damaged (no needs); delete its directory")
        needs = [by_address[address] for address in addresses.values() if address in by_address]
        for need in needs:
            visit(need)
        directory = root / "jobs" / name
        spent = seconds(directory)
        state = "done" if spent is not None else _progress(directory, tables[name])
        found[name] = State(name, state, spent, tuple(dict.fromkeys(needs)))

    for name in tables:
        visit(name)
    return list(found.values())


def _progress(directory: Path, table: Mapping[str, Any]) -> str:
    """How far a job is that is not done: the part of a training, or whether it has begun."""
    done = len(runs.metrics(directory))
    if done:
        training = table.get("about", {}).get("training", {})
        iterations = training.get("total", 0) // max(1, training.get("kitchens", 1) * training.get("steps", 1))
        return f"{done / max(1, iterations):.0%}"
    return "begun" if (directory / BEGUN).exists() else "waiting"


def _trained(directory: Path) -> float:
    """The seconds of all attempts at a training, if the job of a directory is one."""
    lines = runs.metrics(directory)
    return float(lines[-1]["seconds"]) if lines else 0.0


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_limited(path, MAX_BYTES, "a job"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: damaged ({error}); delete its directory, and the job is done again") from error
    if not isinstance(found, dict):
        raise InputError(f"{path}: damaged (not a table); delete its directory, and the job is done again")
    return found
