"""How long jobs will take: by similar jobs of the same store, else by the rates of rates.toml.

Loads no JAX.
"""

import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from cochef.experiments.jobs import JOB, Job, JobStore, seconds_of

_LEAST_SECONDS = 0.1
# What decides how fast a training is.
_PACE = ("kitchens", "rollout_steps", "epochs", "minibatches", "chunk", "network")


@dataclass(frozen=True)
class FinishedJob:
    """A job of a store that is done: what it did, and how long that took."""

    kind: str
    config: Mapping[str, Any]
    seconds: float


@dataclass(frozen=True)
class Estimator:
    """Estimates the seconds of jobs on so many cores, by what is done already."""

    finished: Sequence[FinishedJob]
    cores: int

    def left(self, jobs: Iterable[Job], store: JobStore) -> float:
        """About how many seconds all jobs take that are not done."""
        return sum((self.seconds(job) for job in jobs if not store.is_done(job)), start=0.0)

    def seconds(self, job: Job) -> float:
        """About how long a job takes."""
        config = job.stage.config
        rates = _rates()
        of_kind = rates.get(job.stage.kind, {})
        start = of_kind.get("start", 0.0)
        work = _work(config)
        measured = self._measured_rate(job.stage.kind, config)
        if measured is not None:
            # The rate includes what it took to start.
            return max(start, work / measured)
        network = config.get("training", {}).get("network", {})
        rate = of_kind.get(network.get("observation", "compact"))
        if rate is None:
            return start
        return start + work / (rate * self.cores / rates["cores"])

    def _measured_rate(self, kind: str, config: Mapping[str, Any]) -> float | None:
        """Work a second of similar jobs; the best, because others may have shared the machine."""
        pace = _pace(config)
        alike = [done for done in self.finished if done.kind == kind and _pace(done.config) == pace]
        # The same population in another layout says more than another population.
        name = config.get("population")
        same = [done for done in alike if done.config.get("population") == name] or alike
        rates = [_work(done.config) / max(done.seconds, _LEAST_SECONDS) for done in same]
        return max(rates, default=0.0) or None


def measured(store: JobStore, cores: int | None = None) -> Estimator:
    """An estimator by all jobs of a store that are done."""
    found = []
    for path in sorted((store.root / "jobs").glob(f"*/{JOB}")):
        seconds = seconds_of(path.parent)
        if seconds is None:
            continue
        try:
            description = json.loads(path.read_bytes())
            found.append(FinishedJob(description["kind"], description["config"], seconds))
        except (OSError, ValueError, KeyError, TypeError):
            continue  # a damaged description is no reason not to plan
    return Estimator(found, cores or os.cpu_count() or 1)


def _work(config: Mapping[str, Any]) -> float:
    """How much a job does: steps where it trains, episodes where it evaluates."""
    if "training" in config:
        return float(config["members"] * config["training"]["total_steps"])
    if "partners" in config:
        return float(config["agents"] * len(config["partners"]) * config["episodes"])
    return 0.0


def _pace(config: Mapping[str, Any]) -> dict[str, Any]:
    training = config.get("training", {})
    return {name: training.get(name) for name in _PACE}


@cache
def _rates() -> dict[str, Any]:
    text = (resources.files("cochef.experiments") / "rates.toml").read_text("utf-8")
    return tomllib.loads(text)
