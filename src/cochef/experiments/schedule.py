"""The schedule of a graph of jobs on some workers, simulated from how long each job takes."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cochef.experiments.jobs import Job
from cochef.validation import whole_number

Seconds = Mapping[str, float]  # of jobs by address


@dataclass(frozen=True)
class CriticalPath:
    """The chain of jobs that no number of workers makes shorter."""

    jobs: tuple[Job, ...]
    seconds: float


@dataclass(frozen=True)
class JobSchedule:
    """How long all jobs take on some workers."""

    workers: int
    seconds: float
    work: float
    """The seconds of all jobs one after the other."""

    @property
    def speedup(self) -> float:
        """How many times faster than one worker."""
        return self.work / self.seconds if self.seconds else 1.0

    @property
    def busy(self) -> float:
        """The share of the workers' time in which they work."""
        return self.speedup / self.workers


def simulate(jobs: Sequence[Job], seconds: Seconds, workers: int) -> JobSchedule:
    """Every free worker takes the first job in order whose inputs are done, as the engine does."""
    whole_number(workers, "workers", 1)
    places = {job.address: place for place, job in enumerate(jobs)}
    missing = {job.address: _inputs(job, places) for job in jobs}
    users: dict[str, list[str]] = {address: [] for address in places}
    for address, inputs in missing.items():
        for job_input in inputs:
            users[job_input].append(address)
    ready = [place for address, place in places.items() if not missing[address]]
    heapq.heapify(ready)
    running: list[tuple[float, int]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < workers:
            place = heapq.heappop(ready)
            heapq.heappush(running, (now + seconds[jobs[place].address], place))
        now, place = heapq.heappop(running)
        done = jobs[place].address
        for user in users[done]:
            missing[user].discard(done)
            if not missing[user]:
                heapq.heappush(ready, places[user])
    return JobSchedule(workers, now, sum(seconds[job.address] for job in jobs))


def critical_path(jobs: Sequence[Job], seconds: Seconds) -> CriticalPath:
    """The longest chain of jobs, each an input of the next; `jobs` has each after its inputs."""
    paths: dict[str, CriticalPath] = {}
    for job in jobs:
        before = [paths[address] for address in _inputs(job, paths)]
        longest = max(before, key=_length, default=CriticalPath((), 0.0))
        length = longest.seconds + seconds[job.address]
        paths[job.address] = CriticalPath((*longest.jobs, job), length)
    return max(paths.values(), key=_length, default=CriticalPath((), 0.0))


def _length(path: CriticalPath) -> float:
    return path.seconds


def _inputs(job: Job, known: Mapping[str, object]) -> set[str]:
    """The addresses of a job's inputs, without those that are done."""
    return {found.address for found in job.inputs.values() if found.address in known}
