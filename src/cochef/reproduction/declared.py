"""What an experiment of the paper is: a value that names its jobs and how its results are shown."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import IntEnum
from functools import cached_property

from cochef import methods
from cochef.experiments import pipeline
from cochef.experiments.jobs import Job
from cochef.experiments.presets import NO_OVERRIDES, Overrides
from cochef.kitchen.layout import Layout
from cochef.reproduction.page import Page
from cochef.reproduction.scores import ScoreReader
from cochef.reproduction.stored import ResultKey, Results, StoredResult

ONION_LAYOUTS = ("asymmetric_advantages", "coordination_ring", "counter_circuit")
TOMATO_LAYOUTS = ("distant_tomato", "many_orders")
LAYOUTS = (*ONION_LAYOUTS, *TOMATO_LAYOUTS)
"""The paper's five layouts, in its order."""
TRIAL_LAYOUTS = ("counter_circuit", "distant_tomato")
"""Enough for every table and figure: those of presets for tests, and of what the paper lacks."""


@dataclass(frozen=True)
class Condition:
    """A method, perhaps with changes to the preset: a row or column of a table."""

    method: str
    overrides: Overrides = NO_OVERRIDES

    @property
    def name(self) -> str:
        """The name under which its results are stored, such as `hsp pool=no-mep`."""
        changes = asdict(self.overrides).items()
        return " ".join([self.method, *(f"{name}={value}" for name, value in changes if value)])

    def goal(self, job: Job) -> "Goal":
        """A job of this condition as a goal."""
        return Goal(self.name, job, (self.method,))


OWN = Condition(methods.OWN)
"""The paper's own method as the paper has it."""


@dataclass(frozen=True)
class Setting:
    """Where and how a part of an experiment is run."""

    preset: str
    layout: Layout
    seed: int
    """The population: everything that is trained follows from it."""
    agents: int | None = None
    """Agents of a population; the preset's number if None."""
    study: str | None = None
    """The database of a study with people."""

    def jobs(self, condition: Condition) -> Mapping[str, Job]:
        """All jobs of a condition, by name."""
        overrides = condition.overrides
        if self.agents is not None:
            overrides = replace(overrides, agents=self.agents)
        return pipeline.method_jobs(
            self.layout, condition.method, self.preset, self.seed, overrides
        )


@dataclass(frozen=True)
class Goal:
    """A job whose result an experiment shows, under the name of its condition."""

    condition: str
    job: Job
    methods: tuple[str, ...] = ()
    """The methods that it needs agents of; none if it is about no method."""


class RunPhase(IntEnum):
    """When an experiment is run: what comes first needs the least and says the most."""

    COMPARISON = 1
    """The main comparison: the agents of all methods."""
    EVALUATION = 2
    """Trains nobody beyond the main comparison."""
    TRAINING = 3
    """Trains more: ablations and best responses."""


@dataclass(frozen=True)
class Stored:
    """What pages are made of: stored results of a preset, in some layouts."""

    results: Results
    layouts: tuple[str, ...]
    wanted: Mapping[str, frozenset[ResultKey]] = field(default_factory=dict)
    """What every experiment shows, by its name."""

    def among(self, layouts: Iterable[str]) -> list[str]:
        """Those of the layouts that the pages are about."""
        return [layout for layout in layouts if layout in self.layouts]

    @property
    def preset(self) -> str:
        """The preset of the results."""
        return self.results.preset

    def marks(self, results: Iterable[StoredResult]) -> str:
        """The marks of what is shown of some results."""
        return self.results.origin(results).marks

    @cached_property
    def scores(self) -> ScoreReader:
        """The scores of evaluations."""
        return ScoreReader(self.results)


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper, or several that come from the same results."""

    name: str
    title: str
    paper: tuple[str, ...]
    """The tables and figures of the paper that it reproduces."""
    goals: Callable[[Setting], Iterable[Goal]]
    show: Callable[[Stored], Page]
    """Makes the page from stored results alone."""
    layouts: tuple[str, ...] = LAYOUTS
    """Those that it is about; none if it is about all of them at once."""
    populations: bool = True
    """Whether every population has a result of its own; else the first one is enough."""
    phase: RunPhase = field(default=RunPhase.EVALUATION, kw_only=True)
    """When it is run: after all experiments of earlier phases, in all layouts and populations."""


def evaluations_of(conditions: Iterable[Condition]) -> Callable[[Setting], Iterator[Goal]]:
    """The evaluations of some conditions."""
    every = tuple(conditions)

    def goals(setting: Setting) -> Iterator[Goal]:
        for condition in every:
            yield condition.goal(setting.jobs(condition)["evaluation"])

    return goals


def no_goals(setting: Setting) -> Iterator[Goal]:
    """Nothing to run: what is shown follows from the package alone."""
    yield from ()
