"""The paper's ablations: how the pool is made, how partners are sampled, how much is trained."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from cochef.evaluation.statistics import Difference
from cochef.evaluation.tables import ResultTable
from cochef.experiments.jobs import Job
from cochef.experiments.presets import PRESETS, Overrides
from cochef.reproduction import claims, comparison, figures, paper
from cochef.reproduction.declared import (
    ONION_LAYOUTS,
    Condition,
    Experiment,
    Goal,
    RunPhase,
    Setting,
    Stored,
)
from cochef.reproduction.page import Page, add_grid
from cochef.reproduction.scores import Entry, Score, number_text
from cochef.reproduction.stages import CURVE, DIFFERENCE, CompareEvents, ReadCurve

KITCHENS = (50, 100, 200, 300)
"""The paper's numbers of parallel environments."""

POOLS = (
    Condition("hsp", Overrides(pool="no-mep")),
    Condition("hsp", Overrides(pool="no-filter")),
    Condition("hsp"),
)
BASELINES = ("fcp", "mep", "trajdiv")
POOL_SIZES = tuple(
    Condition(method, overrides)
    for method in BASELINES
    for overrides in (Overrides(), Overrides(pool="double"))
)
SAMPLINGS = tuple(
    Condition("mep", Overrides(sampling=sampling)) for sampling in ("uniform", "prioritised")
)
BIASED_SHAPING = (Condition("hsp"), Condition("hsp", Overrides(biased_shaping="constant")))


def evaluations_of(conditions: Iterable[Condition]) -> Callable[[Setting], Iterator[Goal]]:
    """The evaluations of some conditions."""

    def goals(setting: Setting) -> Iterator[Goal]:
        for condition in conditions:
            yield condition.goal(setting.jobs(condition)["evaluation"])

    return goals


def kitchens_of(preset: str) -> tuple[int, ...]:
    """The numbers of kitchens of the comparison; a preset for tests has fewer, in proportion."""
    settings = PRESETS[preset]
    if settings.scale != "tiny":
        return KITCHENS
    most = settings.second_stage.training.kitchens
    return tuple(max(1, most * kitchens // KITCHENS[-1]) for kitchens in KITCHENS)


def kitchen_conditions(preset: str) -> list[Condition]:
    """HSP with the numbers of kitchens; partners are drawn, so that no number is rounded."""
    return [
        Condition("hsp", Overrides(sampling="uniform", kitchens=kitchens))
        for kitchens in kitchens_of(preset)
    ]


def curves(setting: Setting) -> Iterator[Goal]:
    """The learning curves with every number of kitchens."""
    for condition in kitchen_conditions(setting.preset):
        agents = setting.jobs(condition)["agents"]
        label = f"{condition.method}-{setting.layout.name}"
        yield condition.goal(Job(ReadCurve(setting.layout), label, {"agents": agents}))


def differences(setting: Setting) -> Iterator[Goal]:
    """Event differences of biased and scripted policies with the adaptive agents."""
    condition = Condition("hsp")
    jobs = setting.jobs(condition)
    preset = PRESETS[setting.preset]
    agents = preset.second_stage.agents if setting.agents is None else setting.agents
    compare = CompareEvents(setting.layout, agents, preset.episodes, setting.seed)
    inputs = {name: jobs[name] for name in ("pool", "agents")}
    label = f"{condition.method}-{setting.layout.name}"
    yield condition.goal(Job(compare, label, inputs))


def _with_human_models(
    page: Page, stored: Stored, name: str, title: str, conditions: Sequence[Condition]
) -> list[Entry]:
    """Add a table and bars of conditions with human models."""
    entries = comparison.with_human_models(stored, [one.name for one in conditions])
    add_grid(page, name, title, entries, comparison.place, comparison.PLACE)
    comparison.add_bars(page, name, entries, title)
    return entries


def _lead(
    entries: Sequence[Entry], layout: str, one: Condition, other: Condition
) -> Difference | None:
    """How far a condition is ahead of another in a layout, over models and seats."""
    means = []
    for condition in (one, other):
        scores: list[Score | None] = [
            entry.score
            for entry in entries
            if entry.layout == layout and entry.condition == condition.name
        ]
        means.append(claims.averaged(scores))
    return claims.lead(*means)


def show_pools(stored: Stored) -> Page:
    """Figure 3 and table 22."""
    page = Page()
    page.say(
        "HSP's pool without MEP's policies (all biased policies), without the filter (all biased "
        "policies and MEP's), and with both, with human models. Adaptive agents begin as MEP's "
        "policies in all three, if the preset transfers. With stratified sampling the kitchens are "
        "a multiple of the pool's size."
    )
    entries = _with_human_models(page, stored, "pool-construction", "HSP's pools", POOLS)
    no_mep, no_filter, full = POOLS
    found = []
    for layout in stored.among(ONION_LAYOUTS):
        lead = _lead(entries, layout, full, no_filter)
        found.append(claims.ahead(claims.POOL, f"with the filter, in {layout}", lead))
        lead = _lead(entries, layout, full, no_mep)
        text = f"with MEP's policies and the filter, in {layout}"
        found.append(claims.ahead(claims.POOL, text, lead))
    page.claim(found)
    return page


def show_curves(stored: Stored) -> Page:
    """Figure 4."""
    page = Page()
    conditions = kitchen_conditions(stored.preset)
    numbers = [str(condition.overrides.kitchens) for condition in conditions]
    page.say(
        f"The return of HSP's adaptive agents while they learn with {', '.join(numbers)} kitchens "
        "at once, for the same number of environment steps. Partners are drawn uniformly, so that "
        "no number of kitchens is rounded."
    )
    curves = {}
    finals: dict[tuple[str, str], dict[int, float]] = {}
    rows = []
    for layout in stored.layouts:
        curves[layout] = {}
        cells = []
        for condition, number in zip(conditions, numbers, strict=True):
            results = stored.results.select("curve", condition.name, layout)
            curves[layout][number] = [result.json(CURVE) for result in results]
            means = {
                result.seed: float(np.mean(curve["task_return"][-1]))
                for result, curve in zip(results, curves[layout][number], strict=True)
            }
            finals[layout, number] = means
            score = None
            if results:
                score = Score(means, results[0].agents, 0, stored.is_current(results))
            cells.append("not run" if score is None else score.text())
        rows.append((layout, *cells))
    if any(curve for by_name in curves.values() for curve in by_name.values()):
        figure = figures.learning_curves(curves, numbers)
        page.figure("curves", figure, "Lines are means over agents, bands their range")
    title = "Return at the end of training, by kitchens"
    page.table("final-returns", ResultTable(title, ("layout", *numbers), tuple(rows)))
    most, least = numbers[-1], numbers[0]
    page.claim(
        claims.ahead(
            claims.LARGE_BATCHES,
            f"{most} kitchens end higher than {least} in {layout}",
            claims.lead(finals[layout, most], finals[layout, least]),
        )
        for layout in stored.layouts
    )
    return page


def show_sampling(stored: Stored) -> Page:
    """Table 5."""
    page = Page()
    page.say(
        "MEP's adaptive agents with partners drawn uniformly, and with those of a low return drawn "
        "more often, with human models."
    )
    entries = _with_human_models(page, stored, "sampling", "MEP by sampling", SAMPLINGS)
    uniform, prioritised = SAMPLINGS
    page.claim(
        claims.not_below(
            claims.SAMPLING,
            f"uniform sampling is not below it in {layout}",
            _lead(entries, layout, uniform, prioritised),
        )
        for layout in stored.among(ONION_LAYOUTS)
    )
    return page


def show_pool_sizes(stored: Stored) -> Page:
    """Table 21."""
    page = Page()
    page.say("Pools of the preset's size and of twice as many policies, with human models.")
    entries = _with_human_models(page, stored, "pool-size", "Pool sizes", POOL_SIZES)
    pairs = zip(POOL_SIZES[::2], POOL_SIZES[1::2], strict=True)
    page.claim(
        claims.not_below(
            claims.POOL_SIZE,
            f"{one.method} is not below {one.method} with twice the pool in {layout}",
            _lead(entries, layout, one, double),
        )
        for one, double in pairs
        for layout in stored.among(ONION_LAYOUTS)
    )
    return page


def show_differences(stored: Stored) -> Page:
    """Table 6."""
    page = Page()
    page.say(
        "In the union of the biased policies of HSP's pool and all scripts of a layout, each "
        "playing with HSP's adaptive agents: the event difference of every policy to the most "
        "similar other one, c_k over the union; means over policies and populations."
    )
    published = paper.numbers()["event_difference"]
    rows = []
    drawn = {}
    found = []
    for layout in stored.layouts:
        results = stored.results.select("difference", "hsp", layout)
        means: dict[str, dict[int, float]] = {"biased": {}, "scripted": {}}
        for result in results:
            table = result.json(DIFFERENCE)
            biased = np.array(table["biased"])
            values = np.array(table["differences"])
            drawn.setdefault(layout, (values[biased].tolist(), values[~biased].tolist()))
            means["biased"][result.seed] = float(values[biased].mean())
            means["scripted"][result.seed] = float(values[~biased].mean())
        cells = []
        for kind, by_seed in means.items():
            score = None
            if results:
                score = Score(by_seed, results[0].agents, 0, stored.is_current(results))
            cells.append("not run" if score is None else score.text(2))
            cells.append(number_text((published[layout][kind], None), 2))
        rows.append((layout, *cells))
        text = f"their event difference is larger than that of biased policies in {layout}"
        lead = claims.lead(means["scripted"], means["biased"])
        found.append(claims.ahead(claims.UNLIKE, text, lead))
    header = ("layout", "biased", "biased, paper", "scripted", "scripted, paper")
    title = "Mean event difference to the most similar policy"
    page.table("event-difference", ResultTable(title, header, tuple(rows)))
    if drawn:
        figure = figures.event_differences(drawn)
        page.figure("event-difference", figure, "A point is a policy of the first population")
    page.claim(found)
    return page


def show_constant_shaping(stored: Stored) -> Page:
    """HSP as the authors' runs had it, beside the paper's text."""
    page = Page()
    page.say(
        "HSP with biased policies that get no shaped reward, as the paper says, and a constant "
        "one, as the authors' code has it; with all partners that nobody was trained with."
    )
    entries = []
    for layout in stored.among(("counter_circuit", "distant_tomato")):
        conditions = [condition.name for condition in BIASED_SHAPING]
        partners = stored.scores.partners(conditions[-1], layout)
        for partner in partners or stored.scores.partners(conditions[0], layout):
            for condition in conditions:
                score = stored.scores.score(condition, layout, partner)
                entries.append(Entry(layout, partner, None, condition, score))
    title = "Shaping of biased policies"
    add_grid(page, "constant-shaping", title, entries, comparison.place, comparison.PLACE)
    return page


POOL_CONSTRUCTION = Experiment(
    name="pool-construction",
    title="How HSP's pool is made",
    paper=("Figure 3", "Table 22"),
    goals=evaluations_of(POOLS),
    show=show_pools,
    layouts=ONION_LAYOUTS,
    phase=RunPhase.TRAINING,
)

PARALLEL = Experiment(
    name="parallel-environments",
    title="Number of parallel environments",
    paper=("Figure 4",),
    goals=curves,
    show=show_curves,
    phase=RunPhase.TRAINING,
)

SAMPLING = Experiment(
    name="mep-sampling",
    title="MEP with uniform and with prioritised sampling",
    paper=("Table 5",),
    goals=evaluations_of(SAMPLINGS),
    show=show_sampling,
    layouts=ONION_LAYOUTS,
    phase=RunPhase.TRAINING,
)

EVENT_DIFFERENCE = Experiment(
    name="event-difference",
    title="How different scripts are from the pool",
    paper=("Table 6",),
    goals=differences,
    show=show_differences,
)

POOL_SIZE = Experiment(
    name="pool-size",
    title="Pools of 36 and of 72",
    paper=("Table 21",),
    goals=evaluations_of(POOL_SIZES),
    show=show_pool_sizes,
    layouts=ONION_LAYOUTS,
    phase=RunPhase.TRAINING,
)

CONSTANT_SHAPING = Experiment(
    name="constant-shaping",
    title="Biased policies with constant shaping, as the authors' code has it",
    paper=(),
    goals=evaluations_of(BIASED_SHAPING),
    show=show_constant_shaping,
    layouts=("counter_circuit", "distant_tomato"),
    phase=RunPhase.TRAINING,
)
