"""The plan of a reproduction: jobs in order, how long they take, what a budget leaves out."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from cochef.errors import InputError, shown
from cochef.experiments import estimates
from cochef.experiments.jobs import Job, JobStore, in_order
from cochef.experiments.presets import PRESETS
from cochef.kitchen import layouts
from cochef.reproduction.declared import LAYOUTS, Experiment, Goal, Setting
from cochef.validation import known, number, whole_number

HOUR = 3600.0
MOST_AGENTS = 100
ALL_LAYOUTS = "all layouts"  # of an experiment that is about all at once


@dataclass(frozen=True)
class Scope:
    """Which experiments are run, and how much of them."""

    experiments: tuple[Experiment, ...]
    preset: str = "laptop"
    layouts: tuple[str, ...] = LAYOUTS
    """Layouts in the order of running; an experiment takes those that it is about."""
    seeds: tuple[int, ...] = (0,)
    """Populations."""
    agents: int | None = None
    """Agents of a population; the preset's number if None."""
    study: str | None = None
    """The database of a study with people."""
    brief: bool = False
    """Whether experiments take the first layout that they are about and no other, for tests."""

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        known(self.preset, "preset", PRESETS)
        for name in self.layouts:
            known(name, "layout of the paper", LAYOUTS)
        if not self.experiments:
            raise InputError("no experiments; name some, or all")
        for name, values in (("layouts", self.layouts), ("seeds", self.seeds)):
            if not values or len(set(values)) < len(values):
                raise InputError(f"{name} {shown(list(values))}; give at least one, each once")
        if self.agents is not None:
            whole_number(self.agents, "agents", 1, MOST_AGENTS)

    @property
    def agents_each(self) -> int:
        """Agents of a population."""
        return PRESETS[self.preset].second_stage.agents if self.agents is None else self.agents

    def layouts_of(self, experiment: Experiment) -> tuple[str, ...]:
        """The layouts in which an experiment is run, in order."""
        found = [layout for layout in self.layouts if layout in experiment.layouts]
        return tuple(found[:1] if self.brief else found)

    def setting(self, layout: str, seed: int) -> Setting:
        """Where a part of an experiment is run."""
        return Setting(self.preset, layouts.get(layout), seed, self.agents, self.study)


@dataclass(frozen=True)
class Block:
    """What is complete together: some experiments in one layout with one population."""

    experiments: tuple[str, ...]
    layout: str
    seed: int
    goals: tuple[Goal, ...]
    jobs: tuple[Job, ...]
    """Jobs that no earlier block has, each after its inputs."""

    @property
    def name(self) -> str:
        """What it is, in a line."""
        return f"{', '.join(self.experiments)}: {self.layout}, population {self.seed}"


@dataclass(frozen=True)
class Plan:
    """Blocks in the order of running, and those that do not fit into the budget."""

    scope: Scope
    blocks: tuple[Block, ...]
    left_out: tuple[Block, ...] = ()

    @cached_property
    def jobs(self) -> list[Job]:
        """All jobs, each once and after its inputs."""
        return [job for block in self.blocks for job in block.jobs]

    @cached_property
    def goals(self) -> list[tuple[Block, Goal]]:
        """All goals with the blocks that they belong to."""
        return [(block, goal) for block in self.blocks for goal in block.goals]


def make(scope: Scope) -> Plan:
    """All blocks of a scope: population by population, the main comparison first."""
    blocks = []
    planned: set[str] = set()
    for seed in scope.seeds:
        for experiments, layout in _parts(scope, seed):
            where = scope.layouts[0] if layout == ALL_LAYOUTS else layout
            setting = scope.setting(where, seed)
            goals = {
                (goal.condition, goal.job.address): goal
                for experiment in experiments
                for goal in experiment.goals(setting)
            }
            if not goals:
                continue
            jobs = _shared_first(list(goals.values()), planned)
            planned |= {job.address for job in jobs}
            names = tuple(experiment.name for experiment in experiments)
            blocks.append(Block(names, layout, seed, tuple(goals.values()), tuple(jobs)))
    return Plan(scope, tuple(blocks))


def within(scope: Scope, hours: float | None, store: JobStore) -> Plan:
    """The plan of a scope; with a budget, as many blocks from the first as are done in time.

    If not even the first unfinished block fits, populations get fewer agents.
    """
    plan = make(scope)
    if hours is None:
        return plan
    number(hours, "budget", 0)
    for agents in range(scope.agents_each, 0, -1):
        if agents < scope.agents_each:
            plan = make(replace(scope, agents=agents))
        cut = _cut(plan, hours * HOUR, store)
        if cut.blocks:
            return cut
    least = estimates.measured(store).left(plan.blocks[0].jobs, store)
    raise InputError(
        f"budget is {hours:g} hours; {plan.blocks[0].name} with one agent takes about "
        f"{least / HOUR:.1f}"
    )


def _cut(plan: Plan, seconds: float, store: JobStore) -> Plan:
    estimator = estimates.measured(store)
    kept = 0
    for block in plan.blocks:
        seconds -= estimator.left(block.jobs, store)
        if seconds < 0:
            break
        kept += 1
    return replace(plan, blocks=plan.blocks[:kept], left_out=plan.blocks[kept:])


def _parts(scope: Scope, seed: int) -> Iterator[tuple[list[Experiment], str]]:
    """Experiments and a layout that are complete together, for one population."""
    wanted = [one for one in scope.experiments if one.populations or seed == scope.seeds[0]]
    for layout in scope.layouts:
        first = [one for one in wanted if one.first and layout in scope.layouts_of(one)]
        if first:
            yield first, layout
    for experiment in wanted:
        if not experiment.layouts:
            yield [experiment], ALL_LAYOUTS
        if not experiment.first:
            for layout in scope.layouts_of(experiment):
                yield [experiment], layout


def _shared_first(goals: Sequence[Goal], planned: set[str]) -> list[Job]:
    """The jobs of some goals that are not planned yet; what several goals need comes first."""
    needs = Counter(job.address for goal in goals for job in in_order([goal.job]))
    every = [job for job in in_order([goal.job for goal in goals]) if job.address not in planned]
    # The inputs of what several goals need are needed by several, too: the order stays valid.
    shared = [job for job in every if needs[job.address] > 1]
    return [*shared, *(job for job in every if needs[job.address] == 1)]
