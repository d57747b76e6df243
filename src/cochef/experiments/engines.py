"""What runs jobs: one after the other on this machine, for now."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from cochef.experiments.jobs import Job, JobStore
from cochef.learning.writers import Log, MetricsWriter

WritersOf = Callable[[Job], Sequence[MetricsWriter]]


@runtime_checkable
class Engine(Protocol):
    """Runs jobs."""

    def run(self, jobs: Sequence[Job], store: JobStore, writers_of: WritersOf, log: Log) -> None:
        """Do all jobs that are not done; each comes after its inputs."""
        ...


class LocalEngine:
    """One job after the other, in this process, which uses all cores for each."""

    def run(self, jobs: Sequence[Job], store: JobStore, writers_of: WritersOf, log: Log) -> None:
        """Do all jobs that are not done."""
        with store.alone():
            store.plan(jobs)
            for number, job in enumerate(jobs, start=1):
                if store.is_done(job):
                    continue
                log(f"[{number}/{len(jobs)}] {job.name}")
                store.perform(job, writers_of(job), log)
