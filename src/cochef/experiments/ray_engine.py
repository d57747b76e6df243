"""The engine for many machines: every job is a task of a Ray cluster.

The driver, which is this process, submits a job when its inputs are done, shows what the nodes
tell, and copies finished jobs to its own directory. Nodes and driver meet in the shared store only,
so any of them may die: what is finished is in the store.
"""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cochef import interrupts
from cochef.errors import InputError
from cochef.experiments import ray_cluster
from cochef.experiments.claims import LEASE, StaleWatch
from cochef.experiments.engines import WritersOf
from cochef.experiments.jobs import Job, JobStore
from cochef.experiments.ray_worker import (
    PROGRESS_SECONDS,
    JobOutcome,
    JobRequest,
    Message,
    MessageKind,
    OutcomeKind,
)
from cochef.experiments.shared_store import SharedStore
from cochef.learning.writers import Log, MetricsWriter
from cochef.runtime import cores

STORE = "store"  # the shared store in the driver's own directory, if no other is given
POLL_SECONDS = 0.2
BUSY_SECONDS = 1.0  # between two looks at jobs that other drivers do
GRACE_SECONDS = 5.0  # for nodes to give up their claims when the driver stops


@dataclass(frozen=True)
class JobResources:
    """What a job needs of a node; GPUs are for training only."""

    cpus: int = field(default_factory=cores)
    """Cores, each a device for JAX: as many as a local run has, for the same result."""
    gpus: float = 0.0
    memory: float = 2.0  # GiB
    retries: int = 3
    """How often a job is tried again whose worker or node died."""

    def options(self, job: Job) -> dict[str, Any]:
        """The options of a Ray task."""
        return {
            "num_cpus": self.cpus,
            "num_gpus": self.gpus if job.trains else 0,
            "memory": int(self.memory * 1024**3),
            "max_retries": self.retries,
            "name": job.name,
        }


@dataclass(frozen=True)
class RayEngine:
    """Runs jobs on a Ray cluster, as many at once as there is room for."""

    address: str | None = None
    """HOST:PORT of a cluster; without one it is started on this machine, on loopback."""
    store: str | None = None
    """A directory that all nodes share, or a URL of object storage; a default is in the out."""
    resources: JobResources = field(default_factory=JobResources)
    lease: float = LEASE
    progress_seconds: float = PROGRESS_SECONDS
    """Between two copies of an unfinished training in the store."""
    scratch: Path | None = None

    def run(self, jobs: Sequence[Job], store: JobStore, writers_of: WritersOf, log: Log) -> None:
        """Do all jobs that are not done, here or in the shared store."""
        url = self.store or str((store.root / STORE).resolve())
        with store.alone():
            store.plan(jobs)
            driver = _Driver(self, store, SharedStore(url), writers_of, log)
            left = driver.gather(jobs)
            if not left:
                return
            # The jobs on other nodes have to be told.
            connected = ray_cluster.connected(self.address, log, self.resources.retries)
            with interrupts.as_exception(), connected:
                driver.inbox = ray_cluster.inbox()
                driver.warn_of_small_nodes(left)
                try:
                    driver.work(left)
                finally:
                    driver.stop()


@dataclass
class _Driver:
    """Submits jobs and takes what they give until all are done."""

    engine: RayEngine
    local: JobStore
    shared: SharedStore
    writers_of: WritersOf
    log: Log
    inbox: Any = None
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    waiting: dict[str, Job] = field(default_factory=dict)  # by address
    running: dict[Any, Job] = field(default_factory=dict)  # by Ray's reference
    busy: dict[str, Job] = field(default_factory=dict)  # by address: others do them
    numbers: dict[str, str] = field(default_factory=dict)  # [1/9] by a job's name
    writers: dict[str, Sequence[MetricsWriter]] = field(default_factory=dict)  # by a job's name
    jobs: dict[str, Job] = field(default_factory=dict)  # by name
    looked: float = 0.0

    def gather(self, jobs: Sequence[Job]) -> list[Job]:
        """Exchange finished jobs between the two stores; return those that neither has."""
        left = []
        for job in jobs:
            done, complete = self.local.is_done(job), self.shared.is_complete(job.name)
            if done and not complete:
                self.shared.publish(job.name, self.local.directory(job))
            elif complete and not done:
                self.shared.fetch(job.name, self.local.directory(job))
            elif not done:
                left.append(job)
        return left

    def warn_of_small_nodes(self, left: Sequence[Job]) -> None:
        """Say so if no node is large enough for a job: it waits until one joins the cluster."""
        resources = self.engine.resources
        for job in left:
            if not ray_cluster.has_room(resources.options(job)):
                gpus = f", {resources.gpus:g} GPUs" if resources.gpus else ""
                self.log(
                    f"WARNING: no node has {resources.cpus} cores{gpus} and {resources.memory:g} "
                    f"GiB of memory, as a job needs; waiting for one (--job-cpus, --job-memory)"
                )
                return

    def work(self, left: Sequence[Job]) -> None:
        """Do the jobs."""
        self.numbers = {
            job.name: f"[{number}/{len(left)}]" for number, job in enumerate(left, start=1)
        }
        self.jobs = {job.name: job for job in left}
        self.waiting = {job.address: job for job in left}
        watch = StaleWatch(self.shared, self.engine.lease)
        while self.waiting or self.running or self.busy:
            self.submit_ready()
            ready = ray_cluster.ended(list(self.running), POLL_SECONDS)
            self.show_messages()
            for reference in ready:
                job = self.running.pop(reference)
                self.take(job, ray_cluster.outcome(reference, job.name))
            self.look_at_busy(watch)

    def submit_ready(self) -> None:
        """Submit every waiting job whose inputs are done."""
        unfinished = {job.address for job in (*self.waiting.values(), *self.running.values())}
        unfinished |= self.busy.keys()
        for address, job in list(self.waiting.items()):
            if unfinished.isdisjoint(job_input.address for job_input in job.inputs.values()):
                del self.waiting[address]
                self.submit(job)

    def submit(self, job: Job, stale: bytes | None = None) -> None:
        """Give a job to the cluster, unless only this process may do it."""
        if job.on_driver:
            self.perform_here(job)
            return
        engine = self.engine
        request = JobRequest(
            job=job,
            store=self.shared,
            driver=self.name,
            home=self.local.root,
            cpus=engine.resources.cpus,
            lease=engine.lease,
            scratch=engine.scratch,
            progress_seconds=engine.progress_seconds,
            stale=stale,
        )
        reference = ray_cluster.submit(request, self.inbox, engine.resources.options(job))
        self.running[reference] = job

    def perform_here(self, job: Job) -> None:
        """Do a job in this process."""
        self.log(f"{self.numbers[job.name]} {job.name} in this process")
        self.local.perform(job, self.writers_of(job), self.log)
        self.shared.publish(job.name, self.local.directory(job))

    def take(self, job: Job, outcome: JobOutcome) -> None:
        """Take the outcome of a job."""
        if outcome.kind is OutcomeKind.FAILED:
            raise InputError(f"{job.name} on {outcome.node}: {outcome.reason}")
        if outcome.kind is OutcomeKind.BUSY:
            self.busy[job.address] = job
            return
        self.finish(job)

    def finish(self, job: Job) -> None:
        """Copy the result of a job."""
        for writer in self.writers.pop(job.name, ()):
            writer.end()
        self.shared.fetch(job.name, self.local.directory(job))

    def look_at_busy(self, watch: StaleWatch) -> None:
        """Take what other drivers have finished, and what they have left."""
        if not self.busy or time.monotonic() - self.looked < BUSY_SECONDS:
            return
        self.looked = time.monotonic()
        for address, job in list(self.busy.items()):
            if self.shared.is_complete(job.name):
                del self.busy[address]
                self.finish(job)
                continue
            stale = watch.stale(job.name)
            if stale is not None or watch.is_free(job.name):
                del self.busy[address]
                self.submit(job, stale)

    def show_messages(self) -> None:
        """Show what the nodes tell, as if the jobs ran here."""
        for message in ray_cluster.messages(self.inbox):
            self.show(message)

    def show(self, message: Message) -> None:
        """Show a message; one of an earlier run may still arrive."""
        job = self.jobs.get(message.job)
        if job is None:
            return
        writers = self.writers.get(message.job, ())
        if message.kind is MessageKind.STARTED:
            self.log(f"{self.numbers[job.name]} {job.name} on {message.content}")
            self.local.begin(job)
        elif message.kind is MessageKind.LOG:
            self.log(f"{job.name}: {message.content}")
        elif message.kind is MessageKind.BEGIN:
            for writer in writers:  # of an attempt that died
                writer.end()
            self.writers[job.name] = self.writers_of(job)
            for writer in self.writers[job.name]:
                writer.begin(message.content)
        elif message.kind is MessageKind.WRITE:
            for writer in writers:
                writer.write(message.content)
        elif message.kind is MessageKind.END:
            for writer in self.writers.pop(job.name, ()):
                writer.end()

    def stop(self) -> None:
        """Close the display, and stop what still runs, so that its claims are given up."""
        for writers in self.writers.values():
            for writer in writers:
                writer.end()
        if self.running:
            ray_cluster.cancel(list(self.running), GRACE_SECONDS)
