"""What ships with the package: the best agent in training of each method and layout, and pools."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cochef.agents import pool, shipped, shipped_pools, storage
from cochef.errors import InputError
from cochef.evaluation import records
from cochef.experiments import pipeline
from cochef.experiments.jobs import Job, JobStore
from cochef.experiments.presets import Overrides
from cochef.experiments.results import LAST
from cochef.experiments.stages import agent_path
from cochef.kitchen import layouts
from cochef.kitchen.layout import Layout
from cochef.learning import runs


@dataclass(frozen=True)
class Shipment:
    """Copies results of finished runs with some settings into the package, or elsewhere."""

    preset: str
    seed: int
    overrides: Overrides
    root: Path
    into: Path | None = None

    def ship_agent(self, layout: Layout, method: str) -> Path:
        """Copy the agent with the best return in training; its path.

        The evaluation is copied along, but does not decide: else its figures would be too good.
        """
        jobs = self._jobs(layout, method)
        agents = JobStore(self.root).directory(jobs["agents"])
        found, _ = records.read(self._finished(jobs["evaluation"]))
        # Those that were evaluated, from the first.
        candidates = len(np.unique(found["agent_seed"]))
        returns = runs.mean_of_last(agents, "task_return", LAST)[:candidates]
        best = int(returns.argmax())
        own = found.where(found["agent_seed"] == best)
        card, tensors = storage.read(Path(f"{agent_path(agents, best)}{storage.SUFFIX}"))
        metadata = {
            "method": method,
            **self._made,
            "steps": jobs["agents"].stage.config["training"]["total_steps"],
            "member": best,
            "chosen_of": len(returns),
            "return_in_training": round(float(returns[best]), 1),
            "evaluation": {
                partner: round(float(rows["score"].mean()), 1) for _, partner, rows in own.pairs()
            },
        }
        path = shipped.path(method, layout.name, self.into)
        storage.save(path, replace(card, metadata=metadata), tensors)
        return path

    def ship_pools(self, layout: Layout, chosen: Sequence[str]) -> Path:
        """Copy the pools of some methods; the path of their file."""
        pools = {}
        for method in chosen:
            jobs = self._jobs(layout, method)
            if "pool" not in jobs:
                raise InputError(f"{method} has no pool; it has no second stage")
            pools[method] = pool.read(self._finished(jobs["pool"]), layout)
        path = shipped_pools.path(layout.name, self.into)
        shipped_pools.pack(path, layout, pools, self._made)
        return path

    @property
    def _made(self) -> dict[str, Any]:
        """How it was made, for the files that ship."""
        overrides = {
            name: value for name, value in asdict(self.overrides).items() if value is not None
        }
        return {"preset": self.preset, "seed": self.seed, "overrides": overrides}

    def _jobs(self, layout: Layout, method: str) -> Mapping[str, Job]:
        if not layouts.ships(layout):
            raise InputError(f"{layout.name} does not ship; its agents and pools cannot either")
        return pipeline.method_jobs(layout, method, self.preset, self.seed, self.overrides)

    def _finished(self, job: Job) -> Path:
        store = JobStore(self.root)
        directory = store.directory(job)
        if not store.is_done(job):
            raise InputError(
                f"{directory}: not finished; "
                "`cochef run` with the same options begins or resumes it"
            )
        return directory
