"""How long jobs will take: by similar finished jobs of the store, else by the rates of rates.toml.

Both are tables of the same form: the rates at which finished jobs did their work. `rates.toml` is
such a table that was saved (`cochef cluster-plan --save-rates`). Loads no JAX.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from pathlib import Path
from statistics import median
from typing import Any

from cochef import provenance
from cochef.errors import InputError
from cochef.experiments.jobs import JOB, JOBS, Job, JobStore, seconds_of, trains
from cochef.files import read_limited, write_whole
from cochef.learning.writers import SHARD
from cochef.runtime import cores as cores_here

_LEAST_SECONDS = 0.1
_START_SECONDS = 10.0  # mostly compiling; how long the smallest job of another size takes
UNKNOWN_SECONDS = 30.0  # a job of a kind that no table has
# A pass through the paper's networks in passes through those on the compact vector, where no
# training on the 26 planes was measured: the gradient of one row took 27 to 31 times as long in
# two layouts, on two cores. They have 110 to 240 times the multiply-adds, which are done faster.
GRID_COST = 30.0
_MAX_BYTES = 1024**2

_HEADER = (
    "# Rates of finished jobs, as `cochef cluster-plan --save-rates` writes them. Work is passes",
    "# through a network where a job trains (a step of a policy is one, and three more in every",
    "# epoch), episodes of a pair in a seat where it evaluates, and otherwise 1.",
)

# A step of a learner is one forward pass, and in each epoch a forward and a backward pass, which
# cost about three.
_EPOCH_PASSES = 3
_SIDES = 2  # of a pair; best responses are trained to both

# What decides how fast a training is, besides its population.
_PACE = ("kitchens", "rollout_steps", "epochs", "minibatches", "chunk")
_NETWORK = ("observation", "channels", "hidden", "recurrent", "recurrent_kind", "shared_trunk")
# Best responses are trained as agents are: with a pool, which has one policy.
_LIKE = {"bound": "agents", "exploitability": "agents"}


class _Paced:
    """Something whose pace is known: sizes of rollouts, updates and networks."""

    pace: Mapping[str, Any]

    @property
    def observation(self) -> str:
        """What networks see, which decides most about their cost."""
        return self.pace.get("observation", "")


@dataclass(frozen=True)
class JobWork(_Paced):
    """What a job does, as far as its time depends on it."""

    kind: str
    """The kind of job; a shard's is that of its whole."""
    population: str
    """What is trained; nothing if it is no population."""
    pace: Mapping[str, Any]
    """Sizes of rollouts, updates and networks; nothing if it trains nobody."""
    amount: float
    """Passes through a network where it trains, episodes where it evaluates, otherwise 1."""


def work_of(description: Mapping[str, Any]) -> JobWork:
    """What the job with a description does."""
    kind = description["kind"]
    config = description["config"]
    if not trains(description):
        # What joins shards has the kind of the whole, and its training settings.
        joins = "training" in config
        return JobWork("join" if joins else kind, "", {}, _episodes(config))
    training = config["training"]
    network = training["network"]
    pace = {name: training[name] for name in _PACE} | {name: network[name] for name in _NETWORK}
    passes = 1 + _EPOCH_PASSES * training["epochs"]
    amount = environment_steps(description) * passes
    return JobWork(config.get("whole", kind), config.get("population", ""), pace, amount)


def environment_steps(description: Mapping[str, Any]) -> float:
    """The steps that all policies of a job are trained for; 0 if it trains nobody."""
    if not trains(description):
        return 0.0
    config = description["config"]
    if "pairs" in config:
        policies = config["pairs"] * _SIDES * config["seeds"]
    elif SHARD in config:
        policies = config[SHARD][1]
    else:
        policies = config["members"]
    return float(policies * config["training"]["total_steps"])


def _episodes(config: Mapping[str, Any]) -> float:
    """The episodes of a job that evaluates; those of all others are about equally much work."""
    if "partners" not in config:
        return 1.0
    return float(config["agents"] * len(config["partners"]) * config["episodes"])


@dataclass(frozen=True)
class JobRate(_Paced):
    """How fast jobs of one kind, population and pace were."""

    kind: str
    population: str
    pace: Mapping[str, Any]
    rate: float
    """Work a second, of the median job: others may have shared the machine for some time."""
    jobs: int
    seconds: float
    """Of all these jobs."""


@dataclass(frozen=True)
class RateTable:
    """The rates of finished jobs, and where they were measured."""

    machine: str
    cores: int
    date: str
    rates: tuple[JobRate, ...]

    @property
    def jobs(self) -> int:
        """How many finished jobs it is from."""
        return sum(rate.jobs for rate in self.rates)

    def most_similar(self, work: JobWork) -> list[JobRate]:
        """Rates of the most similar jobs; of one population if there are some of it."""
        kinds = (work.kind, _LIKE.get(work.kind))
        found: list[JobRate] = []
        for kind in kinds:
            found = found or [
                rate
                for rate in self.rates
                if rate.kind == kind and rate.observation == work.observation
            ]
        same_pace = [rate for rate in found if rate.pace == work.pace] or found
        return [rate for rate in same_pace if rate.population == work.population] or same_pace


@dataclass(frozen=True)
class Estimator:
    """Estimates the seconds of jobs on so many cores."""

    own: RateTable
    """Of the jobs that are finished here."""
    saved: RateTable
    """For what no finished job is similar to."""
    cores: int

    def seconds(self, job: Job) -> float:
        """About how long a job takes."""
        work = work_of(job.description)
        seconds = self._measured(work)
        if seconds is None and work.observation == "grid":
            compact = replace(work, pace={**work.pace, "observation": "compact"})
            seconds = self._measured(replace(compact, amount=GRID_COST * work.amount))
        return UNKNOWN_SECONDS if seconds is None else seconds

    def _measured(self, work: JobWork) -> float | None:
        """The seconds of some work by similar jobs, if there are any."""
        for table in (self.own, self.saved):
            similar = table.most_similar(work)
            if not similar:
                continue
            seconds = work.amount * median(1 / one.rate for one in similar)
            seconds *= table.cores / self.cores
            # The rate of jobs of the same pace includes what it took to start.
            is_same = similar[0].pace == work.pace
            return seconds if is_same else max(_START_SECONDS, seconds)
        return None

    def is_known(self, job: Job) -> bool:
        """Whether a job of its kind was ever measured, with networks of its kind if it trains."""
        return self._measured(work_of(job.description)) is not None

    def left(self, jobs: Iterable[Job], store: JobStore) -> float:
        """About how many seconds all jobs take that are not done."""
        return sum((self.seconds(job) for job in jobs if not store.is_done(job)), start=0.0)

    @property
    def source(self) -> str:
        """Where the rates are from, for readers."""
        saved = f"{self.saved.jobs} jobs on {self.saved.machine} ({self.saved.date})"
        if not self.own.rates:
            return f"by the rates of {saved}"
        return f"by the rates of {self.own.jobs} finished jobs; what is unlike them, of {saved}"


def measured(store: JobStore, cores: int | None = None) -> Estimator:
    """An estimator by all jobs of a store that are done."""
    cores = cores or cores_here()
    return Estimator(rates_of(store, cores), _shipped(), cores)


def rates_of(store: JobStore, cores: int) -> RateTable:
    """The rates of the finished jobs of a store, which ran on a machine like this one."""
    groups: dict[str, list[tuple[JobWork, float]]] = {}
    for path in sorted((store.root / JOBS).glob(f"*/{JOB}")):
        seconds = seconds_of(path.parent)
        if seconds is None:
            continue
        try:
            work = work_of(json.loads(path.read_bytes()))
        except (OSError, ValueError, KeyError, TypeError):
            continue  # a damaged description is no reason not to plan
        key = json.dumps([work.kind, work.population, work.pace], sort_keys=True)
        groups.setdefault(key, []).append((work, max(seconds, _LEAST_SECONDS)))
    rates = [_group_rate(group) for _, group in sorted(groups.items())]
    date = datetime.now(UTC).date().isoformat()
    return RateTable(provenance.processor(), cores, date, tuple(rates))


def _group_rate(group: list[tuple[JobWork, float]]) -> JobRate:
    """The rate of jobs that are alike."""
    first = group[0][0]
    # Of the times, because they are what is added up: a job that took no time has any rate.
    rate = 1 / median(seconds / work.amount for work, seconds in group)
    total = sum(seconds for _, seconds in group)
    return JobRate(first.kind, first.population, first.pace, rate, len(group), round(total, 1))


def save(table: RateTable, path: Path) -> None:
    """Write a table as TOML."""
    if not table.rates:
        raise InputError("no finished job to take rates from; give another --out")
    lines = [
        *_HEADER,
        f"machine = {json.dumps(table.machine)}",
        f"cores = {table.cores}",
        f"date = {json.dumps(table.date)}",
    ]
    for rate in table.rates:
        rounded = replace(rate, rate=float(f"{rate.rate:.4g}"))
        row = {name: _toml(value) for name, value in asdict(rounded).items()}
        lines += ["", "[[rates]]", *(f"{name} = {value}" for name, value in row.items())]
    write_whole(path, ("\n".join(lines) + "\n").encode())


def _toml(value: object) -> str:
    """A value of a table in TOML, which is JSON but for tables."""
    if not isinstance(value, dict):
        return json.dumps(value)
    if not value:
        return "{}"
    return "{ " + ", ".join(f"{name} = {_toml(entry)}" for name, entry in value.items()) + " }"


def read(path: Path) -> RateTable:
    """Read a table that was saved."""
    return _parse(read_limited(path, _MAX_BYTES, "rates of jobs").decode(), str(path))


def _parse(text: str, where: str) -> RateTable:
    try:
        content = tomllib.loads(text)
        rates = tuple(JobRate(**row) for row in content.pop("rates"))
        return RateTable(**content, rates=rates)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{where}: no rates of jobs ({error})") from error


@cache
def _shipped() -> RateTable:
    text = (resources.files("cochef.experiments") / "rates.toml").read_text("utf-8")
    return _parse(text, "rates.toml")
