"""The graph of jobs that trains, evaluates and reports on some methods in a layout."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cochef import methods
from cochef.errors import InputError, shown
from cochef.experiments.evaluations import EvaluateAgents
from cochef.experiments.jobs import Job
from cochef.experiments.presets import NO_OVERRIDES, PRESETS, Overrides, Preset
from cochef.experiments.results import WriteReport
from cochef.experiments.stages import BuildPool, TrainAgents, TrainPopulation
from cochef.kitchen.layout import Layout
from cochef.learning import reward_config
from cochef.learning.reward_config import RewardConfig
from cochef.methods.parts.method import Method, Options, PopulationSpec, Scale, Sizes
from cochef.validation import known, whole_number

MOST = 1000  # the largest size of anything
MOST_EPISODES = 100_000


def report_job(
    layout: Layout,
    names: Sequence[str],
    preset: str = "laptop",
    seed: int = 0,
    overrides: Overrides = NO_OVERRIDES,
    rewards: RewardConfig | None = None,
) -> Job:
    """The report on some methods in a layout, with all jobs that it needs."""
    if not names or len(set(names)) < len(names):
        raise InputError(
            f"methods {shown(list(names))}; "
            f"it takes some of {', '.join(methods.names())}, each once"
        )
    chosen = [methods.get(name) for name in names]
    _check_overrides(overrides, chosen)
    graph = _graph(layout, preset, seed, overrides, rewards)
    inputs: dict[str, Job] = {}
    for method in chosen:
        inputs |= {f"{method.name}-{name}": job for name, job in graph.method(method).items()}
    return Job(WriteReport(layout, tuple(names)), f"{'-'.join(names)}-{layout.name}", inputs)


def method_jobs(
    layout: Layout,
    name: str,
    preset: str = "laptop",
    seed: int = 0,
    overrides: Overrides = NO_OVERRIDES,
    rewards: RewardConfig | None = None,
) -> Mapping[str, Job]:
    """All jobs of a method: its populations by name, `pool`, `agents` and `evaluation`."""
    method = methods.get(name)
    _check_overrides(overrides, [method])
    return _graph(layout, preset, seed, overrides, rewards).method(method)


def population(
    method: str,
    layout: Layout,
    preset: str = "laptop",
    seed: int = 0,
    members: int | None = None,
    steps: int | None = None,
    rewards: RewardConfig | None = None,
    options: Options | None = None,
) -> TrainPopulation:
    """A method's own population, perhaps with another size, length, rewards or options."""
    known(preset, "preset", PRESETS)
    chosen = methods.get(method)
    settings = PRESETS[preset]
    size = chosen.population.size
    return TrainPopulation(
        spec=chosen.population,
        layout=layout,
        rewards=rewards or reward_config.shipped(layout),
        training=settings.first_stage if steps is None else settings.first_stage.lasting(steps),
        members=getattr(size, settings.scale) if members is None else members,
        seed=seed,
        options=options or {},
    )


def sizes_of(method: Method, scale: Scale, overrides: Overrides = NO_OVERRIDES) -> Sizes:
    """All sizes of a method, with the overrides applied; an error if they contradict."""
    sizes: Sizes = method.sizes(scale)
    if overrides.pool is not None and overrides.pool in method.variants:
        changed = method.variants[overrides.pool](sizes)
        for name in overrides.sizes:
            if name in sizes and changed[name] != sizes[name]:
                raise InputError(
                    f"{name} is {overrides.sizes[name]} with the pool {overrides.pool}, "
                    "which settles it; drop one"
                )
        sizes = changed
    sizes = {name: overrides.sizes.get(name, size) for name, size in sizes.items()}
    for name, of in method.limits.items():
        size, most = sizes[name], sizes[of]
        if size is not None and most is not None and size > most:
            raise InputError(f"{name} is {size}; of {most} {of} it takes up to {most}")
    return sizes


def _check_overrides(overrides: Overrides, chosen: Sequence[Method]) -> None:
    """Raise an error about an override that none of the methods has, or that is no number."""
    if overrides.episodes is not None:
        whole_number(overrides.episodes, "episodes", 1, MOST_EPISODES)
    variants = {variant for method in chosen for variant in method.variants}
    if overrides.pool is not None:
        known(overrides.pool, "pool", sorted(variants))
    for name, size in overrides.sizes.items():
        owners = [method for method in chosen if name in method.sizes("full")]
        if not owners:
            raise InputError(f"{name} is {size}, which none of the methods has")
        whole_number(size, name, min(method.least(name) for method in owners), MOST)
    for name, value in overrides.options.items():
        specs = [spec for method in chosen for spec in method.populations if name in spec.options]
        if not specs:
            raise InputError(f"{name} is {shown(value)}, which none of the methods has")
        specs[0].with_defaults({name: value})


def _graph(
    layout: Layout, preset: str, seed: int, overrides: Overrides, rewards: RewardConfig | None
) -> "_Graph":
    known(preset, "preset", PRESETS)
    chosen = rewards or reward_config.shipped(layout)
    return _Graph(layout, overrides.preset(PRESETS[preset]), seed, overrides, chosen)


@dataclass(frozen=True)
class _Graph:
    """Makes the jobs of methods; populations with the same settings are the same job."""

    layout: Layout
    preset: Preset
    seed: int
    overrides: Overrides
    rewards: RewardConfig

    def method(self, method: Method) -> Mapping[str, Job]:
        """All jobs of a method: its populations by name, pool, agents, evaluation."""
        sizes = sizes_of(method, self.preset.scale, self.overrides)
        stage = self.overrides.second_stage(self.preset.second_stage)
        label = f"{method.name}-{self.layout.name}"
        if method.pool is None:
            # Without a second stage the population's members are the method's agents: at least
            # as many as the other methods have.
            agents = self.population(method.population, sizes, method, least=stage.agents)
            found = {}
        else:
            populations = {
                spec.name: self.population(spec, sizes, method)
                for spec in method.populations
                # A pool size may have a population's name; if none of it joins, it is not trained.
                if sizes.get(spec.name) != 0
            }
            build = BuildPool(method, self.layout, sizes, self.preset.episodes, self.seed)
            pool = Job(build, label, populations)
            inputs = {"pool": pool}
            if self.transfers:
                # Before the first stage is trained, which may take days.
                stage.training.network.check_inherits()
                spec = method.parent_population
                parents = populations.get(spec.name) or self.population(spec, sizes, method)
                inputs["parents"] = parents
                populations = {**populations, spec.name: parents}
            train = TrainAgents(self.layout, stage, self.rewards, self.seed, method.name)
            agents = Job(train, label, inputs)
            found = populations | {"pool": pool}
        evaluate = EvaluateAgents(
            method.name, self.layout, stage.agents, self.preset.episodes, self.seed
        )
        evaluation = Job(evaluate, label, {"agents": agents})
        return found | {"agents": agents, "evaluation": evaluation}

    @property
    def transfers(self) -> bool:
        """Whether learners begin as task policies."""
        return (self.overrides.begin or self.preset.begin) == "transfer"

    def population(self, spec: PopulationSpec, sizes: Sizes, method: Method, least: int = 1) -> Job:
        """A population of a method, with the one that it begins as."""
        members = sizes[spec.size.name]
        training = self.preset.first_stage
        inputs = {}
        if self.transfers and spec.parents is not None:
            parents = next(other for other in method.populations if other.name == spec.parents)
            inputs["parents"] = self.population(parents, sizes, method)
            training = training.lasting(round(spec.transfer_steps * training.total_steps))
        assert members is not None
        options = {
            name: value for name, value in self.overrides.options.items() if name in spec.options
        }
        train = TrainPopulation(
            spec=spec,
            layout=self.layout,
            rewards=self.rewards,
            training=training,
            members=max(members, least),
            seed=self.seed,
            options=options,
        )
        return Job(train, f"{spec.name}-{self.layout.name}", inputs)
