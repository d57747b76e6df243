"""Choosing the agents that ship with the package: the best in training, by method and layout."""

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from cochef.agents import shipped, storage
from cochef.errors import InputError
from cochef.evaluation import records
from cochef.experiments import pipeline
from cochef.experiments.jobs import DONE, JobStore
from cochef.experiments.presets import Overrides
from cochef.experiments.results import LAST
from cochef.experiments.stages import agent_path
from cochef.kitchen import layouts
from cochef.kitchen.layout import Layout
from cochef.learning.writers import read_metrics


def ship(
    layout: Layout, method: str, preset: str, seed: int, overrides: Overrides, root: Path
) -> Path:
    """Copy the agent with the best return in training into the package; return its path.

    The evaluation is copied along, but does not decide: else its figures would be too good.
    """
    if not layouts.ships(layout):
        raise InputError(f"{layout.name} does not ship; its agents cannot either")
    job = pipeline.report_job(layout, (method,), preset, seed, overrides)
    inputs = JobStore(root).inputs(job)
    agents = inputs[f"{method}-agents"]
    evaluation = inputs[f"{method}-evaluation"]
    if not (evaluation / DONE).exists():
        raise InputError(
            f"{evaluation}: not finished; `cochef run` with the same options begins or resumes it"
        )
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
        "overrides": {
            name: value for name, value in asdict(overrides).items() if value is not None
        },
        "member": best,
        "chosen_of": len(returns),
        "return_in_training": round(float(returns[best]), 1),
        "evaluation": {
            partner: round(float(rows["score"].mean()), 1) for _, partner, rows in own.pairs()
        },
    }
    path = shipped.path(method, layout.name)
    storage.save(path, replace(card, metadata=metadata), tensors)
    return path
