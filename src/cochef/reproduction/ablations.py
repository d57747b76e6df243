"""The paper's ablations: how the pool is made, how partners are sampled, how much is trained."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from cochef import methods
from cochef.evaluation import human_likeness
from cochef.evaluation.tables import ResultTable
from cochef.experiments.jobs import Job, Stage
from cochef.experiments.presets import PRESETS, Overrides
from cochef.experiments.stages import BuildPool, TrainAgents
from cochef.kitchen import layouts as known_layouts
from cochef.methods.parts.pools import LEVELS
from cochef.reproduction import claims, comparison, figures, paper
from cochef.reproduction.declared import (
    ONION_LAYOUTS,
    OWN,
    TRIAL_LAYOUTS,
    Condition,
    Experiment,
    Goal,
    RunPhase,
    Setting,
    Stored,
    evaluations_of,
)
from cochef.reproduction.page import Page, add_grid
from cochef.reproduction.scores import Entry, Score, cell, number_text
from cochef.reproduction.stages import (
    AT_END,
    CURVE,
    DIFFERENCE,
    CompareEvents,
    ReadCurve,
    returns_at_end,
)
from cochef.reproduction.stored import StoredResult

# Where the paper says so (section 6.2); elsewhere it found no difference.
MEP_HELPS_IN = ("counter_circuit",)
FILTER_HELPS_IN = ("coordination_ring", "counter_circuit")

KITCHENS = (50, 100, 200, 300)
"""The paper's numbers of parallel environments."""

NO_MEP = Condition(methods.OWN, Overrides(pool="no-mep"))
NO_FILTER = Condition(methods.OWN, Overrides(pool="no-filter"))
POOLS = (NO_MEP, NO_FILTER, OWN)
DOUBLE = "double"
BASELINES = tuple(
    method.name
    for method in methods.every()
    if method.name != methods.OWN and DOUBLE in method.variants
)
"""What the paper compares its own with: the other methods whose pools can be larger."""
POOL_SIZES = tuple(
    Condition(method, overrides)
    for method in BASELINES
    for overrides in (Overrides(), Overrides(pool=DOUBLE))
)
SAMPLINGS = tuple(
    Condition("mep", Overrides(sampling=sampling)) for sampling in ("uniform", "prioritised")
)
BIASED_SHAPING = (OWN, Condition(methods.OWN, Overrides(biased_shaping="constant")))
BEGINNINGS = tuple(
    Condition(method, overrides)
    for method in (methods.OWN, "fcp", "mep")
    for overrides in (Overrides(), Overrides(begin="scratch"))
)
BEGINNINGS_IN = (*TRIAL_LAYOUTS, "asymmetric_advantages")


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
        Condition(methods.OWN, Overrides(sampling="uniform", kitchens=kitchens))
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
    jobs = setting.jobs(OWN)
    preset = PRESETS[setting.preset]
    agents = preset.second_stage.agents if setting.agents is None else setting.agents
    compare = CompareEvents(setting.layout, agents, preset.episodes, setting.seed)
    inputs = {name: jobs[name] for name in ("pool", "agents")}
    yield OWN.goal(Job(compare, f"{OWN.method}-{setting.layout.name}", inputs))


def _with_human_models(
    page: Page, stored: Stored, name: str, title: str, conditions: Sequence[Condition]
) -> list[Entry]:
    """Add a table and bars of conditions with human models."""
    entries = comparison.with_human_models(stored, [one.name for one in conditions])
    add_grid(page, name, title, entries, comparison.place, comparison.PLACE)
    comparison.add_bars(page, name, entries, title)
    return entries


def _cases(
    claim: Callable[..., claims.Claim],
    topic: str,
    entries: Sequence[Entry],
    pair: Sequence[Condition],
    text: str,
    layouts: Iterable[str],
) -> Iterator[claims.Claim]:
    """A claim that compares two conditions in some layouts, by kind of human models."""
    one, other = pair
    for layout in layouts:
        for model in human_likeness.MODELS:
            found = comparison.lead_in(entries, layout, one.name, other.name, model)
            yield claim(topic, f"{text} in {layout}, with {model}", found)


def show_pools(stored: Stored) -> Page:
    """Figure 3 and table 22."""
    page = Page()
    page.say(
        "HSP's pool without MEP's policies (all biased policies), without the filter (all biased "
        "policies and MEP's), and with both, with human models. Adaptive agents begin as MEP's "
        "policies in all three, if the preset transfers. All learn in as many kitchens at once; "
        "where those do not divide evenly among a pool's partners, partners take turns in them."
    )
    page.table("learning", _learning(stored))
    entries = _with_human_models(page, stored, "pool-construction", "HSP's pools", POOLS)
    for topic, without, text, layouts in (
        (claims.MEP_HELPS, NO_MEP, "ahead of HSP without MEP's policies", MEP_HELPS_IN),
        (claims.FILTER_HELPS, NO_FILTER, "ahead of HSP without the filter", FILTER_HELPS_IN),
    ):
        here = stored.among(layouts)
        page.claim(_cases(claims.ahead, topic, entries, (OWN, without), text, here))
    return page


def _learning(stored: Stored) -> ResultTable:
    """What agents learn from with each of HSP's pools, as this program trains them."""
    setting = Setting(stored.preset, known_layouts.get(stored.layouts[0]), seed=0)
    rows = []
    for condition in POOLS:
        jobs = setting.jobs(condition)
        partners = _pool_size(jobs["pool"].stage)
        agents = jobs["agents"].stage
        assert isinstance(agents, TrainAgents)
        training = agents.training_with(partners)
        numbers = (
            *(partners, training.kitchens, training.steps_per_iteration),
            *(training.iterations, training.total_steps),
        )
        rows.append((condition.name, *(f"{number:,}" for number in numbers)))
    header = (
        *("condition", "policies in the pool", "kitchens", "environment steps of an update"),
        *("updates", "environment steps"),
    )
    note = "Of every agent, as this program trains them with this preset, in all layouts."
    return ResultTable("What agents learn from", header, tuple(rows), note=note)


def _pool_size(stage: Stage) -> int:
    """How many policies a pool of HSP has."""
    assert isinstance(stage, BuildPool)
    sizes = {name: size or 0 for name, size in stage.sizes.items()}
    return (sizes["kept"] or sizes["biased"]) + len(LEVELS) * sizes["mep"]


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
    finals: dict[tuple[str, str], Score | None] = {}
    shown: list[StoredResult] = []
    rows = []
    for layout in stored.layouts:
        curves[layout] = {}
        cells = []
        for condition, number in zip(conditions, numbers, strict=True):
            results = stored.results.select("curve", condition.name, layout)
            shown += results
            curves[layout][number] = [result.json(CURVE) for result in results]
            means = {
                result.seed: float(returns_at_end(curve).mean())
                for result, curve in zip(results, curves[layout][number], strict=True)
            }
            finals[layout, number] = stored.scores.of(results, means)
            cells.append(cell(finals[layout, number]))
        rows.append((layout, *cells))
    if any(curve for by_name in curves.values() for curve in by_name.values()):
        figure = figures.learning_curves(curves, numbers)
        marks = stored.marks(shown)
        page.figure(
            "curves",
            figure,
            "Lines are means over agents, bands their range, points agents over the last "
            f"{AT_END:.0%} of training{marks}",
        )
    title = "Return at the end of training, by kitchens"
    note = f"Means over the last {AT_END:.0%} of a learning curve."
    table = ResultTable(title, ("layout", *numbers), tuple(rows), note=note)
    page.table("final-returns", table)
    most, least = numbers[-1], numbers[0]
    page.claim(
        claims.ahead(
            claims.LARGE_BATCHES,
            f"{most} kitchens end higher than {least} in {layout}",
            claims.lead(*(claims.averaged([finals[layout, one]]) for one in (most, least))),
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
    text = "uniform sampling is not below it"
    layouts = stored.among(ONION_LAYOUTS)
    page.claim(_cases(claims.not_below, claims.SAMPLING, entries, SAMPLINGS, text, layouts))
    return page


def show_pool_sizes(stored: Stored) -> Page:
    """Table 21."""
    page = Page()
    page.say("Pools of the preset's size and of twice as many policies, with human models.")
    entries = _with_human_models(page, stored, "pool-size", "Pool sizes", POOL_SIZES)
    found = []
    layouts = stored.among(ONION_LAYOUTS)
    for pair in zip(POOL_SIZES[::2], POOL_SIZES[1::2], strict=True):
        method = pair[0].method
        text = f"{method} is not below {method} with twice the pool"
        found += _cases(claims.not_below, claims.POOL_SIZE, entries, pair, text, layouts)
    page.claim(found)
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
    shown: list[StoredResult] = []
    found = []
    for layout in stored.layouts:
        results = stored.results.select("difference", OWN.name, layout)
        shown += results[:1]
        means: dict[str, dict[int, float]] = {"biased": {}, "scripted": {}}
        for result in results:
            table = result.json(DIFFERENCE)
            biased = np.array(table["biased"])
            values = np.array(table["differences"])
            panel = f"{layout}{stored.marks(results[:1])}"
            drawn.setdefault(panel, (values[biased].tolist(), values[~biased].tolist()))
            means["biased"][result.seed] = float(values[biased].mean())
            means["scripted"][result.seed] = float(values[~biased].mean())
        scores = {kind: stored.scores.of(results, by_seed) for kind, by_seed in means.items()}
        cells = []
        for kind, score in scores.items():
            theirs = published[layout][kind]
            apart = "-" if score is None else f"{score.mean - theirs:+.2f}"
            cells += [cell(score, 2), number_text((theirs, None), 2), apart]
        rows.append((layout, *cells))
        text = f"their event difference is larger than that of biased policies in {layout}"
        lead = claims.lead(*(claims.averaged([scores[kind]]) for kind in ("scripted", "biased")))
        found.append(claims.ahead(claims.UNLIKE, text, lead))
    columns = [(kind, f"{kind}, paper", "difference") for kind in ("biased", "scripted")]
    header = ("layout", *columns[0], *columns[1])
    title = "Mean event difference to the most similar policy"
    page.table("event-difference", ResultTable(title, header, tuple(rows)))
    if drawn:
        figure = figures.event_differences(drawn)
        caption = f"A point is a policy of the first population{stored.marks(shown)}"
        page.figure("event-difference", figure, caption)
    page.claim(found)
    return page


def show_constant_shaping(stored: Stored) -> Page:
    """HSP as the authors' runs had it, beside the paper's text."""
    page = Page()
    page.say(
        "HSP with biased policies that get no shaped reward, as the paper says, and a constant "
        "one, as the authors' code has it; with all partners that nobody was trained with."
    )
    _with_all_partners(
        page, stored, "constant-shaping", "Shaping of biased policies", BIASED_SHAPING
    )
    return page


def show_transfer(stored: Stored) -> Page:
    """Transfer against fresh weights."""
    page = Page()
    page.say(
        "Agents that begin as policies of their method's population with the task reward (so do "
        "HSP's pairs), and agents that begin with fresh weights, for the same number of steps; "
        "with all partners that nobody was trained with."
    )
    _with_all_partners(page, stored, "transfer", "Transfer and scratch", BEGINNINGS)
    changes = {}
    for plain, scratch in zip(BEGINNINGS[::2], BEGINNINGS[1::2], strict=True):
        leads = _leads(page.entries, scratch, plain)
        if leads:
            changes[plain.name] = f"{plain.name} {np.mean(leads):+.1f} in {len(leads)} rows"
    if changes:
        page.finding = f"Mean change from transfer to scratch: {', '.join(changes.values())}"
    return page


def _leads(entries: Sequence[Entry], one: Condition, other: Condition) -> list[float]:
    """How far a condition is ahead of another, in every row that has both."""
    means = {
        (entry.layout, entry.partner, entry.condition): entry.score.mean
        for entry in entries
        if entry.score is not None
    }
    return [
        mean - means[layout, partner, other.name]
        for (layout, partner, condition), mean in means.items()
        if condition == one.name and (layout, partner, other.name) in means
    ]


def _with_all_partners(
    page: Page, stored: Stored, name: str, title: str, conditions: Sequence[Condition]
) -> None:
    """Add a table of conditions with all partners that nobody was trained with."""
    entries = []
    names = [condition.name for condition in conditions]
    for layout in stored.layouts:
        known = [stored.scores.partners(condition, layout) for condition in names]
        for partner in max(known, key=len):
            for condition in names:
                score = stored.scores.score(condition, layout, partner)
                entries.append(Entry(layout, partner, None, condition, score))
    add_grid(page, name, title, entries, comparison.place, comparison.PLACE)


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
    layouts=TRIAL_LAYOUTS,
    phase=RunPhase.TRAINING,
)

TRANSFER = Experiment(
    name="transfer",
    title="Agents that begin as task policies, and from scratch",
    paper=(),
    goals=evaluations_of(BEGINNINGS),
    show=show_transfer,
    layouts=BEGINNINGS_IN,
    phase=RunPhase.TRAINING,
)
