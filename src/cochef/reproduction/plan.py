"""The plan of a reproduction: jobs in order, how long they take, and what is left out."""

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cochef import methods
from cochef.errors import InputError, shown
from cochef.experiments import estimates
from cochef.experiments.jobs import Job, JobStore, in_order
from cochef.experiments.presets import PRESETS
from cochef.experiments.shards import split
from cochef.kitchen import layouts
from cochef.reproduction.declared import LAYOUTS, Experiment, Goal, RunPhase, Setting
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
    methods: tuple[str, ...] = ()
    """Only goals about these methods and no others; all goals if there are none."""
    brief: bool = False
    """Whether experiments take the first layout that they are about and no other, for tests."""
    shard_members: int | None = None
    """Members of a job at most, where a population's are independent; populations stay whole if
    None."""

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        known(self.preset, "preset", PRESETS)
        for name in self.layouts:
            known(name, "layout of the paper", LAYOUTS)
        for name in self.methods:
            known(name, "method", methods.names())
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

    def goals_of(self, experiment: Experiment, setting: Setting) -> Iterator[Goal]:
        """The goals of a part of an experiment, with populations in shards if asked for."""
        for goal in experiment.goals(setting):
            if self.shard_members is None:
                yield goal
            else:
                yield replace(goal, job=split(goal.job, self.shard_members))

    def setting(self, layout: str, seed: int) -> Setting:
        """Where a part of an experiment is run."""
        return Setting(self.preset, layouts.get(layout), seed, self.agents, self.study)

    def has(self, goal: Goal) -> bool:
        """Whether a goal is about the chosen methods; all are if none were chosen."""
        if not self.methods:
            return True
        return bool(goal.methods) and set(goal.methods) <= set(self.methods)


@dataclass(frozen=True)
class PlanBlock:
    """What is complete together: some experiments in one layout with one population."""

    experiments: tuple[str, ...]
    layout: str
    seed: int
    goals: tuple[Goal, ...]
    jobs: tuple[Job, ...]
    """Jobs that no earlier block has, each after its inputs."""
    stored: int = 0
    """How many goals need no job, as their results are stored."""

    @property
    def name(self) -> str:
        """What it is, in a line."""
        return f"{', '.join(self.experiments)}: {self.layout}, population {self.seed}"


@dataclass(frozen=True)
class Plan:
    """Blocks in the order of running, and what is left out."""

    scope: Scope
    blocks: tuple[PlanBlock, ...]
    left_out: tuple[PlanBlock, ...] = ()
    """Blocks that do not fit into the budget; none of them is finished."""
    fewer_agents_than: int | None = None
    """The agents of a population that were asked for, if the budget allows fewer only."""
    other_methods: Mapping[str, list[str]] = field(default_factory=dict)
    """Conditions that are left out as they are not about the chosen methods, by experiment."""

    @cached_property
    def jobs(self) -> list[Job]:
        """All jobs, each once and after its inputs."""
        return [job for block in self.blocks for job in block.jobs]

    @cached_property
    def goals(self) -> list[tuple[PlanBlock, Goal]]:
        """All goals with the blocks that they belong to."""
        return [(block, goal) for block in self.blocks for goal in block.goals]


def make(scope: Scope, stored: Collection[str] = frozenset()) -> Plan:
    """All blocks of a scope: phase by phase, then population by population.

    `stored` has the addresses of goals whose results are stored: they need no job, unless another
    goal that is still to be done takes their inputs.
    """
    blocks = []
    planned: set[str] = set()
    other_methods: dict[str, list[str]] = {}
    for phase, seed in itertools.product(RunPhase, scope.seeds):
        for experiments, layout in _parts(scope, phase, seed):
            where = scope.layouts[0] if layout == ALL_LAYOUTS else layout
            setting = scope.setting(where, seed)
            goals: dict[tuple[str, str], Goal] = {}
            for experiment in experiments:
                for goal in scope.goals_of(experiment, setting):
                    if scope.has(goal):
                        goals[goal.condition, goal.job.address] = goal
                    else:
                        left_out = other_methods.setdefault(experiment.name, [])
                        if goal.condition not in left_out:
                            left_out.append(goal.condition)
            if not goals:
                continue
            left = [goal for goal in goals.values() if goal.job.address not in stored]
            jobs = _shared_first(left, planned)
            planned |= {job.address for job in jobs}
            block = PlanBlock(
                experiments=tuple(experiment.name for experiment in experiments),
                layout=layout,
                seed=seed,
                goals=tuple(goals.values()),
                jobs=tuple(jobs),
                stored=len(goals) - len(left),
            )
            blocks.append(block)
    return Plan(scope, tuple(blocks), other_methods=other_methods)


def within(
    scope: Scope, hours: float | None, store: JobStore, stored: Collection[str] = frozenset()
) -> Plan:
    """The plan of a scope; with a budget, as many blocks from the first as are done in time.

    Finished blocks are always part of it. If there are none, and not even the first one fits,
    populations get fewer agents.
    """
    plan = make(scope, stored)
    if hours is None:
        return plan
    number(hours, "budget", 0)
    # What is done needs no inputs any more, even if they were deleted.
    done = {goal.job.address for _, goal in plan.goals if store.is_done(goal.job)}
    stored = {*stored, *done}
    plan = make(scope, stored)
    if not plan.blocks:
        return plan
    for agents in range(scope.agents_each, 0, -1):
        if agents < scope.agents_each:
            fewer = make(replace(scope, agents=agents), stored)
            plan = replace(fewer, fewer_agents_than=scope.agents_each)
        cut = _cut(plan, hours * HOUR, store, stored)
        if cut.blocks:
            return cut
    least = estimates.measured(store).left(plan.blocks[0].jobs, store)
    raise InputError(
        f"budget is {hours:g} hours; {plan.blocks[0].name} with one agent takes about "
        f"{least / HOUR:.1f}"
    )


def _cut(plan: Plan, seconds: float, store: JobStore, stored: Collection[str]) -> Plan:
    """As many blocks from the first as are done in time, and those later ones that are finished."""
    estimator = estimates.measured(store)
    kept: list[PlanBlock] = []
    left_out: list[PlanBlock] = []
    for block in plan.blocks:
        seconds -= estimator.left(block.jobs, store)
        if seconds >= 0 and not left_out:
            kept.append(block)
        elif _is_finished(block, store, stored):
            kept.append(replace(block, jobs=()))  # nor do inputs that were deleted take time
        else:
            left_out.append(block)
    return replace(plan, blocks=tuple(kept), left_out=tuple(left_out))


def _is_finished(block: PlanBlock, store: JobStore, stored: Collection[str]) -> bool:
    """Whether there are all its results; a block without jobs may wait for those of others."""
    return all(goal.job.address in stored or store.is_done(goal.job) for goal in block.goals)


def _parts(scope: Scope, phase: RunPhase, seed: int) -> Iterator[tuple[Sequence[Experiment], str]]:
    """Experiments of a phase and a layout that are complete together, for one population."""
    wanted = [
        one
        for one in scope.experiments
        if one.phase == phase and (one.populations or seed == scope.seeds[0])
    ]
    if phase == RunPhase.COMPARISON:
        # Its experiments show the same results: a layout is complete for all of them at once.
        for layout in scope.layouts:
            here = [one for one in wanted if layout in scope.layouts_of(one)]
            if here:
                yield here, layout
        return
    for experiment in wanted:
        for layout in scope.layouts_of(experiment) if experiment.layouts else (ALL_LAYOUTS,):
            yield [experiment], layout


def _shared_first(goals: Sequence[Goal], planned: set[str]) -> list[Job]:
    """The jobs of some goals that are not planned yet; what several goals need comes first."""
    needs = Counter(job.address for goal in goals for job in in_order([goal.job]))
    wanted = [goal.job for goal in goals]
    every = [job for job in in_order(wanted) if job.address not in planned]
    # The inputs of what several goals need are needed by several, too: the order stays valid.
    shared = [job for job in every if needs[job.address] > 1]
    return [*shared, *(job for job in every if needs[job.address] == 1)]
