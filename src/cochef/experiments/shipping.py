"""Agents that go with the package: of each method and kitchen the one that did best in training."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from cochef.agents import shipped, storage
from cochef.errors import InputError
from cochef.evaluation import records
from cochef.experiments import jobs, pipeline
from cochef.experiments.results import LAST
from cochef.kitchen.layout import Layout
from cochef.learning import runs


def ship(layout: Layout, method: str, preset: str, seed: int, root: Path) -> Path:
    """Copy the agent with the best return in training, with what it was measured at; where it is then.

    The choice does not look at what was measured.
    """
    store = jobs.Store(root)
    needs = pipeline.jobs(layout, (method,), preset, seed=seed).needs
    agents, measured = (store.directory(needs[f"{method}-{name}"]) for name in ("agents", "measured"))
    if not (measured / jobs.DONE).exists():
        raise InputError(f"{measured}: not finished; `cochef run --layout {layout.name} --method {method}` goes on")
    returns = np.mean([line["task"] for line in runs.metrics(agents)[-LAST:]], axis=0)
    best = int(returns.argmax())
    found, _ = records.read(measured)
    own = found.where(found["agent_seed"] == best)
    figures = {partner: round(float(rows["score"].mean()), 1) for _, partner, rows in own.pairs()}
    card, tensors = storage.read(agents / runs.AGENTS / f"{best:02}{storage.SUFFIX}")
    about = {
        "method": method,
        "preset": preset,
        "seed": seed,
        "member": best,
        "chosen_of": len(returns),
        "return_in_training": round(float(returns[best]), 1),
        "measured": figures,
    }
    path = shipped.path(method, layout.name)
    storage.save(path, replace(card, about=about), tensors)
    shipped.layouts_of.cache_clear()
    return path
