"""What ships with the package: the best agent in training of each method and layout, and pools."""

from collections.abc import Sequence
from dataclasses import asdict, replace
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
from cochef.learning.writers import read_metrics


def ship(
    layout: Layout,
    method: str,
    preset: str,
    seed: int,
    overrides: Overrides,
    root: Path,
    into: Path | None = None,
) -> Path:
    """Copy the agent with the best return in training into the package, or elsewhere; its path.

    The evaluation is copied along, but does not decide: else its figures would be too good.
    """
    if not layouts.ships(layout):
        raise InputError(f"{layout.name} does not ship; its agents cannot either")
    jobs = pipeline.method_jobs(layout, method, preset, seed, overrides)
    store = JobStore(root)
    agents = store.directory(jobs["agents"])
    evaluation = _finished(store, jobs["evaluation"])
    found, _ = records.read(evaluation)
    candidates = len(np.unique(found["agent_seed"]))  # those that were evaluated, from the first
    last = [line["task_return"] for line in read_metrics(agents)[-LAST:]]
    returns = np.mean(last, axis=0)[:candidates]
    best = int(returns.argmax())
    own = found.where(found["agent_seed"] == best)
    card, tensors = storage.read(Path(f"{agent_path(agents, best)}{storage.SUFFIX}"))
    metadata = {
        "method": method,
        "preset": preset,
        "seed": seed,
        "overrides": _given(overrides),
        "member": best,
        "chosen_of": len(returns),
        "return_in_training": round(float(returns[best]), 1),
        "evaluation": {
            partner: round(float(rows["score"].mean()), 1) for _, partner, rows in own.pairs()
        },
    }
    path = shipped.path(method, layout.name, into)
    storage.save(path, replace(card, metadata=metadata), tensors)
    return path


def ship_pools(
    layout: Layout,
    chosen: Sequence[str],
    preset: str,
    seed: int,
    overrides: Overrides,
    root: Path,
    into: Path | None = None,
) -> Path:
    """Put the pools of some methods into the package, or elsewhere; the path of their file."""
    if not layouts.ships(layout):
        raise InputError(f"{layout.name} does not ship; its pools cannot either")
    store = JobStore(root)
    pools = {}
    for method in chosen:
        jobs = pipeline.method_jobs(layout, method, preset, seed, overrides)
        if "pool" not in jobs:
            raise InputError(f"{method} has no pool; it has no second stage")
        pools[method] = pool.read(_finished(store, jobs["pool"]), layout)
    path = shipped_pools.path(layout.name, into)
    made = {"preset": preset, "seed": seed, "overrides": _given(overrides)}
    shipped_pools.pack(path, layout, pools, made)
    return path


def _finished(store: JobStore, job: Job) -> Path:
    directory = store.directory(job)
    if not store.is_done(job):
        raise InputError(
            f"{directory}: not finished; `cochef run` with the same options begins or resumes it"
        )
    return directory


def _given(overrides: Overrides) -> dict[str, Any]:
    return {name: value for name, value in asdict(overrides).items() if value is not None}
