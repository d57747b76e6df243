"""Agents that go with the package: of each method and kitchen the one that did best in training."""

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from cochef.agents import shipped, storage
from cochef.errors import InputError
from cochef.evaluation import records
from cochef.experiments import jobs, pipeline
from cochef.experiments.presets import AS_IT_IS, Changes
from cochef.experiments.results import LAST
from cochef.kitchen import layouts
from cochef.kitchen.layout import Layout
from cochef.learning import runs


def ship(layout: Layout, method: str, preset: str, seed: int, changes: Changes, root: Path) -> Path:
    """Copy the agent with the best return in training, with what it was measured at; where it is then.

    The choice does not look at what was measured.
    """
    if not layouts.ships(layout):
        raise InputError(f"{layout.name} does not ship; its agents cannot either")
    store = jobs.Store(root)
    needs = pipeline.jobs(layout, (method,), preset, seed, changes).needs
    agents, measured = (store.directory(needs[f"{method}-{name}"]) for name in ("agents", "measured"))
    if not (measured / jobs.DONE).exists():
        raise InputError(f"{measured}: not finished; `cochef run` with the same options begins it or goes on with it")
    found, _ = records.read(measured)
    candidates = len(np.unique(found["agent_seed"]))  # those that were measured, from the first
    returns = np.mean([line["task"] for line in runs.metrics(agents)[-LAST:]], axis=0)[:candidates]
    best = int(returns.argmax())
    own = found.where(found["agent_seed"] == best)
    figures = {partner: round(float(rows["score"].mean()), 1) for _, partner, rows in own.pairs()}
    card, tensors = storage.read(agents / runs.AGENTS / f"{best:02}{storage.SUFFIX}")
    about = {
        "method": method,
        "preset": preset,
        "seed": seed,
        "changes": {name: value for name, value in asdict(changes).items() if value != getattr(AS_IT_IS, name)},
        "member": best,
        "chosen_of": len(returns),
        "return_in_training": round(float(returns[best]), 1),
        "measured": figures,
    }
    path = shipped.path(method, layout.name)
    storage.save(path, replace(card, about=about), tensors)
    shipped.layouts_of.cache_clear()
    return path
