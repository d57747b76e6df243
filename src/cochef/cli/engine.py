"""The arguments that say where jobs run: here, or on a Ray cluster."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cochef.errors import InputError
from cochef.runtime import cores
from cochef.validation import number, whole_number

if TYPE_CHECKING:
    from cochef.experiments.engines import Engine

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
    """Cores of a node for each job; as many as this machine has if not given."""
    job_gpus: float = 0.0
    """GPUs, or a share of one, for each job that trains."""
    job_memory: float = 2.0
    """GiB of memory for each job."""
    retries: int = 3
    """How often a job is tried again whose worker or node died."""
    scratch: Path | None = None
    """Where nodes work; a temporary directory if not given."""

    def make(self) -> "Engine":
        """The engine."""
        if self.engine == "local":
            self._refuse_others()
            from cochef.experiments.engines import LocalEngine

            return LocalEngine()
        from cochef.experiments.ray_engine import JobResources, RayEngine

        cpus = whole_number(
            cores() if self.job_cpus is None else self.job_cpus, "job-cpus", 1, MOST
        )
        number(self.job_gpus, "job-gpus", 0.0, MOST)
        number(self.job_memory, "job-memory", 0.1, 1e5)
        whole_number(self.retries, "retries", 0, MOST)
        return RayEngine(
            address=self.address,
            store=self.store,
            resources=JobResources(cpus, self.job_gpus, self.job_memory, self.retries),
            scratch=self.scratch,
        )

    def _refuse_others(self) -> None:
        """Refuse what only a cluster has."""
        for name in ("address", "store", "scratch", "job_cpus"):
            value = getattr(self, name)
            if value is not None:
                flag = name.replace("_", "-")
                raise InputError(f"{flag} is {value}; it is for --engine ray")
