"""Engines: what runs jobs. This one does so in this process; `ray_engine` on a cluster."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from cochef.experiments.jobs import Job, JobStore
from cochef.learning.writers import Log, MetricsWriter

WritersOf = Callable[[Job], Sequence[MetricsWriter]]


@runtime_checkable
class Engine(Protocol):
    """Runs jobs."""

    def run(self, jobs: Sequence[Job], store: JobStore, writers_of: WritersOf, log: Log) -> None:
        """Do all jobs that are not done; `jobs` has each after its inputs."""
        ...


class LocalEngine:
    """Runs one job after the other in this process; each uses all cores."""

    def run(self, jobs: Sequence[Job], store: JobStore, writers_of: WritersOf, log: Log) -> None:
        """Do all jobs that are not done."""
        with store.alone():
            store.plan(jobs)
            for number, job in enumerate(jobs, start=1):
                if store.is_done(job):
                    continue
                log(f"[{number}/{len(jobs)}] {job.name}")
                store.perform(job, writers_of(job), log)
