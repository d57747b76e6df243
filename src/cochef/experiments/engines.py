"""What runs jobs: one after the other on this machine, for now."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from cochef.experiments.jobs import Job, Store, Tell
from cochef.learning.writers import MetricsWriter

SinksFor = Callable[[Job], Sequence[MetricsWriter]]


@runtime_checkable
class Engine(Protocol):
    """Runs jobs."""

    def run(self, jobs: Sequence[Job], store: Store, sinks: SinksFor, tell: Tell) -> None:
        """Do all jobs that are not done; each comes after those it needs."""
        ...


class Local:
    """One job after the other, in this process, which uses all cores for each."""

    def run(self, jobs: Sequence[Job], store: Store, sinks: SinksFor, tell: Tell) -> None:
        """Do all jobs that are not done."""
        with store.alone():
            store.plan(jobs)
            for number, job in enumerate(jobs, start=1):
                if store.seconds(job) is not None:
                    continue
                tell(f"[{number}/{len(jobs)}] {job.name}")
                store.perform(job, sinks(job), tell)
