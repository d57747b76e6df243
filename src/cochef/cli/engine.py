"""The arguments that say where jobs run: here, or on a Ray cluster."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cochef.errors import InputError
from cochef.runtime import cores, use_cores
from cochef.validation import number, whole_number

if TYPE_CHECKING:
    from cochef.experiments.engines import Engine
    from cochef.experiments.ray_engine import JobResources

MOST = 1000


@dataclass
class EngineArguments:
    """Where jobs run."""

    engine: Literal["local", "ray"] = "local"
    """In this process, or as tasks of a Ray cluster (docs/cluster.md)."""
    address: str | None = None
    """HOST:PORT of the Ray cluster; one is started on this machine if not given."""
    store: str | None = None
    """What nodes share: a directory, or a URL such as s3://bucket/runs; OUT/store if not given."""
    job_cpus: int | None = None
    """Cores for each job, which decide its bits; as many as this machine has if not given."""
    job_gpus: float | None = None
    """GPUs, or a share of one, for each job that trains; none if not given."""
    job_memory: float | None = None
    """GiB of memory for each job; 2 if not given."""
    retries: int | None = None
    """How often a job is tried again whose worker or node died; 3 times if not given."""
    scratch: Path | None = None
    """Where nodes work; a temporary directory if not given."""

    def use_cores(self) -> None:
        """Compute in this process with as many cores as each job has."""
        use_cores(self._cpus())

    def make(self) -> "Engine":
        """The engine."""
        if self.engine == "local":
            self._refuse_others()
            from cochef.experiments.engines import LocalEngine

            return LocalEngine()
        from cochef.experiments.ray_engine import RayEngine

        return RayEngine(
            address=self.address,
            store=self.store,
            resources=self._resources(),
            scratch=self.scratch,
        )

    def _resources(self) -> "JobResources":
        """What each job needs of a node."""
        from cochef.experiments.ray_engine import JobResources

        usual = JobResources()
        gpus = usual.gpus if self.job_gpus is None else self.job_gpus
        memory = usual.memory if self.job_memory is None else self.job_memory
        retries = usual.retries if self.retries is None else self.retries
        return JobResources(
            cpus=self._cpus(),
            gpus=number(gpus, "job-gpus", 0.0, MOST),
            memory=number(memory, "job-memory", 0.1, 1e5),
            retries=whole_number(retries, "retries", 0, MOST),
        )

    def _cpus(self) -> int:
        """Cores for each job."""
        if self.job_cpus is None:
            return cores()
        return whole_number(self.job_cpus, "job-cpus", 1, MOST)

    def _refuse_others(self) -> None:
        """Refuse what only a cluster has."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name not in ("engine", "job_cpus") and value is not None:
                flag = entry.name.replace("_", "-")
                raise InputError(f"{flag} is {value}; it is for --engine ray")
