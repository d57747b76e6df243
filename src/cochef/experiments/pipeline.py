"""From nothing to measured agents: the jobs of a method in a kitchen, and who needs what.

population ──> pool ──> agents ──> measured ──> report
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cochef.agents import pool
from cochef.compilation import keep_compiled
from cochef.errors import InputError, shown
from cochef.evaluation import crossplay, records
from cochef.experiments import adaptation, pools, populations
from cochef.experiments.adaptation import Adaptation
from cochef.experiments.jobs import Job, Place
from cochef.experiments.populations import Population
from cochef.experiments.presets import PRESETS, RUN_METHODS, Preset
from cochef.experiments.results import WriteReport
from cochef.kitchen.layout import Layout
from cochef.learning import runs, utilities


@dataclass(frozen=True)
class TrainPopulation:
    """The first stage of a method."""

    population: Population
    kind: str = "population"

    @property
    def label(self) -> str:
        """The method and the kitchen."""
        return f"{self.population.method}-{self.population.layout.name}"

    @property
    def about(self) -> Mapping[str, Any]:
        """All settings."""
        return self.population.about

    def run(self, place: Place) -> None:
        """Train, or go on training."""
        populations.train(self.population, place.directory, place.sinks, tell=place.tell)


@dataclass(frozen=True)
class BuildPool:
    """The policies that a method's agents learn with; needs `population`, and with HSP perhaps `mep`."""

    method: str
    layout: Layout
    keep: int | None = None
    """Biased policies that are kept; all if not given."""
    mep: int = 0
    """Members of the population of MEP that join."""
    first: int | None = None
    """Members of the method's own population, three levels of each; all if not given."""
    episodes: int = 100
    seed: int = 0
    kind: str = "pool"

    @property
    def label(self) -> str:
        """The method and the kitchen."""
        return f"{self.method}-{self.layout.name}"

    @property
    def about(self) -> Mapping[str, Any]:
        """All settings."""
        names = ("method", "keep", "mep", "first", "episodes", "seed")
        return {name: getattr(self, name) for name in names} | {"layout": self.layout.fingerprint}

    def run(self, place: Place) -> None:
        """Choose, and copy."""
        keep_compiled()
        population = place.needs["population"]
        if self.method == "hsp":
            pools.of_biased(
                place.directory,
                population,
                self.layout,
                keep=self.keep,
                mep=place.needs.get("mep"),
                mep_members=self.mep,
                episodes=self.episodes,
                seed=self.seed,
            )
        else:
            pools.of_levels(place.directory, population, self.method, self.layout, self.first)


@dataclass(frozen=True)
class TrainAgents:
    """The second stage; needs `pool`."""

    method: str
    layout: Layout
    adaptation: Adaptation
    kind: str = "agents"

    @property
    def label(self) -> str:
        """The method and the kitchen."""
        return f"{self.method}-{self.layout.name}"

    @property
    def about(self) -> Mapping[str, Any]:
        """All settings."""
        return self.adaptation.about

    def run(self, place: Place) -> None:
        """Train, or go on training."""
        files = pool.read(place.needs["pool"], self.layout)
        adaptation.train(self.adaptation, files, place.directory, place.sinks, tell=place.tell)


@dataclass(frozen=True)
class Measure:
    """Agents with everybody that nobody trained with; needs `agents`."""

    method: str
    layout: Layout
    episodes: int
    seed: int
    kind: str = "measured"

    @property
    def label(self) -> str:
        """The method and the kitchen."""
        return f"{self.method}-{self.layout.name}"

    @property
    def about(self) -> Mapping[str, Any]:
        """All settings."""
        return {
            "method": self.method,
            "layout": self.layout.fingerprint,
            "partners": crossplay.unseen_partners(self.layout),
            "episodes": self.episodes,
            "seed": self.seed,
        }

    def run(self, place: Place) -> None:
        """Play, and record every episode."""
        keep_compiled()
        files = sorted((place.needs["agents"] / runs.AGENTS).glob("[0-9]*.safetensors"))
        agents = [crossplay.Player(self.method, str(path), seed) for seed, path in enumerate(files)]
        partners = crossplay.players(crossplay.unseen_partners(self.layout))
        found = crossplay.evaluate(self.layout, agents, partners, episodes=self.episodes, seed=self.seed)
        named = [replace(player, name=f"{self.method}/{player.seed:02}") for player in agents]
        manifest = crossplay.manifest(self.layout, named, partners, self.episodes, self.seed, greedy=False)
        records.write(place.directory, found, manifest)


def jobs(
    layout: Layout,
    methods: Sequence[str],
    preset: str = "laptop",
    seeds: int | None = None,
    seed: int = 0,
    pool_name: str = "paper",
    sampling: str | None = None,
) -> Job:
    """The report on some methods in a kitchen, with all that it needs."""
    if preset not in PRESETS:
        raise InputError(f"unknown preset {shown(preset)}; known: {', '.join(PRESETS)}")
    unknown = [method for method in methods if method not in RUN_METHODS]
    if unknown or not methods or len(set(methods)) < len(methods):
        raise InputError(f"methods {shown(list(methods))}; it takes some of {', '.join(RUN_METHODS)}, each once")
    settings = PRESETS[preset].with_pool(pool_name)
    stage = settings.adaptive
    stage = replace(stage, seeds=stage.seeds if seeds is None else seeds, sampling=sampling or stage.sampling)
    settings = replace(settings, adaptive=stage)
    needs: dict[str, Job] = {}
    for method in methods:
        needs |= {f"{method}-{name}": job for name, job in _method(method, layout, preset, settings, seed).items()}
    return Job(WriteReport(layout, tuple(methods), preset), needs)


def _method(method: str, layout: Layout, preset: str, settings: Preset, seed: int) -> dict[str, Job]:
    """All jobs of a method: population (mep), pool, agents, measured."""

    def grown(name: str, members: int) -> Job:
        return Job(TrainPopulation(populations.population(name, layout, preset, seed, members)))

    adapt = Adaptation(settings.adaptive, utilities.shipped(layout), seed)
    if method == "sp":
        agents = grown("selfplay", settings.adaptive.seeds)
        return {"agents": agents, "measured": _measured(method, layout, settings, seed, agents)}
    found = {"population": grown(method, settings.members[method])}
    build = BuildPool(method, layout, episodes=settings.episodes, seed=seed)
    if method == "hsp":
        build = replace(build, keep=settings.kept, mep=settings.mep)
        found |= {"mep": grown("mep", settings.members["mep"])} if settings.mep else {}
    made = Job(build, dict(found))
    agents = Job(TrainAgents(method, layout, adapt), {"pool": made})
    return found | {"pool": made, "agents": agents, "measured": _measured(method, layout, settings, seed, agents)}


def _measured(method: str, layout: Layout, settings: Preset, seed: int, agents: Job) -> Job:
    return Job(Measure(method, layout, settings.episodes, seed), {"agents": agents})
