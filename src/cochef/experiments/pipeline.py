"""From nothing to measured agents: the jobs of a method in a kitchen, and who needs what.

population ──> pool ──> agents ──> measured ──> report
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cochef.agents import pool
from cochef.agents.names import checksums
from cochef.errors import InputError, shown
from cochef.evaluation import crossplay, records
from cochef.experiments import adaptation, pools, populations
from cochef.experiments.adaptation import Adaptation
from cochef.experiments.jobs import Job, Place
from cochef.experiments.populations import Population
from cochef.experiments.presets import AS_IT_IS, PRESETS, RUN_METHODS, Changes, Preset
from cochef.experiments.results import WriteReport
from cochef.kitchen.layout import Layout
from cochef.learning import reward_config, runs
from cochef.learning.reward_config import RewardConfig
from cochef.methods.hsp import BiasedShaping


@dataclass(frozen=True)
class TrainPopulation:
    """The first stage of a method."""

    population: Population
    kind: str = "population"
    version: int = 1

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
    episodes: int = 100
    seed: int = 0
    kind: str = "pool"
    version: int = 1

    @property
    def about(self) -> Mapping[str, Any]:
        """All settings."""
        names = ("method", "keep", "mep", "episodes", "seed")
        return {name: getattr(self, name) for name in names} | {"layout": self.layout.fingerprint}

    def run(self, place: Place) -> None:
        """Choose, and copy."""
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
            pools.of_levels(place.directory, population, self.method, self.layout)


@dataclass(frozen=True)
class TrainAgents:
    """The second stage; needs `pool`."""

    layout: Layout
    adaptation: Adaptation
    kind: str = "agents"
    version: int = 2

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
    agents: int
    """How many of them, from the first."""
    episodes: int
    seed: int
    kind: str = "measured"
    version: int = 1

    @property
    def about(self) -> Mapping[str, Any]:
        """All settings."""
        return {
            "method": self.method,
            "layout": self.layout.fingerprint,
            "agents": self.agents,
            "partners": {name: checksums(name) for name in crossplay.unseen_partners(self.layout)},
            "episodes": self.episodes,
            "seed": self.seed,
        }

    def run(self, place: Place) -> None:
        """Play, and record every episode."""
        directory = place.needs["agents"] / runs.AGENTS
        agents = [crossplay.Player(self.method, str(directory / f"{n:02}"), n) for n in range(self.agents)]
        partners = crossplay.players(crossplay.unseen_partners(self.layout))
        found = crossplay.evaluate(self.layout, agents, partners, episodes=self.episodes, seed=self.seed)
        named = [replace(player, name=f"{self.method}/{player.seed:02}") for player in agents]
        manifest = crossplay.manifest(self.layout, named, partners, self.episodes, self.seed, greedy=False)
        records.write(place.directory, found, manifest)


def jobs(
    layout: Layout,
    methods: Sequence[str],
    preset: str = "laptop",
    seed: int = 0,
    changes: Changes = AS_IT_IS,
    rewards: RewardConfig | None = None,
) -> Job:
    """The report on some methods in a kitchen, with all that it needs."""
    if preset not in PRESETS:
        raise InputError(f"unknown preset {shown(preset)}; known: {', '.join(PRESETS)}")
    unknown = [method for method in methods if method not in RUN_METHODS]
    if unknown or not methods or len(set(methods)) < len(methods):
        raise InputError(f"methods {shown(list(methods))}; it takes some of {', '.join(RUN_METHODS)}, each once")
    settings = changes.of(PRESETS[preset])
    plan = _Plan(layout, preset, settings, seed, rewards or reward_config.shipped(layout))
    needs: dict[str, Job] = {}
    for method in methods:
        needs |= {f"{method}-{name}": job for name, job in plan.method(method).items()}
    return Job(WriteReport(layout, tuple(methods), preset), f"{'-'.join(methods)}-{layout.name}", needs)


@dataclass(frozen=True)
class _Plan:
    """What all methods have in common."""

    layout: Layout
    preset: str
    settings: Preset
    seed: int
    rewards: RewardConfig

    def method(self, method: str) -> dict[str, Job]:
        """All jobs of a method: population (and mep), pool, agents, measured."""
        if method == "sp":  # the policies of FCP's population at the end
            agents = self.population("fcp", max(self.settings.members["fcp"], self.settings.adaptive.seeds))
            return {"agents": agents, "measured": self.measured(method, agents)}
        members = self.settings.members[method]
        found = {"population": self.population(method, members)}
        build, size = BuildPool(method, self.layout, episodes=self.settings.episodes, seed=self.seed), 3 * members
        if method == "hsp":
            build = replace(build, keep=self.settings.kept, mep=self.settings.mep)
            size = (members if self.settings.kept is None else self.settings.kept) + 3 * self.settings.mep
            if self.settings.mep:
                found |= {"mep": self.population("mep", self.mep_members())}
        pool = Job(build, self.label(method), dict(found))
        adapt = adaptation.adaptation(self.settings.adaptive, self.rewards, size, self.seed)
        agents = Job(TrainAgents(self.layout, adapt), self.label(method), {"pool": pool})
        return found | {"pool": pool, "agents": agents, "measured": self.measured(method, agents)}

    def mep_members(self) -> int:
        """The size of MEP's population, some of which join HSP's pool."""
        there, wanted = self.settings.members["mep"], self.settings.mep
        if wanted > there:
            raise InputError(f"{wanted} policies of MEP for HSP's pool, of a population of {there}; take up to {there}")
        return there

    def label(self, method: str) -> str:
        return f"{method}-{self.layout.name}"

    def population(self, method: str, members: int) -> Job:
        shaping = BiasedShaping(self.settings.biased_shaping if method == "hsp" else "none")
        grown = populations.population(
            method, self.layout, self.preset, self.seed, members, rewards=self.rewards, biased_shaping=shaping
        )
        return Job(TrainPopulation(grown), self.label(method))

    def measured(self, method: str, agents: Job) -> Job:
        number, episodes = self.settings.adaptive.seeds, self.settings.episodes
        measure = Measure(method, self.layout, number, episodes, self.seed)
        return Job(measure, self.label(method), {"agents": agents})
