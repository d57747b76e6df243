"""The comparison of all methods: with scripted partners, by seat, and with human models."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cochef import methods
from cochef.evaluation import human_likeness
from cochef.evaluation.tables import ResultTable
from cochef.experiments.jobs import Job
from cochef.experiments.presets import PRESETS
from cochef.kitchen.constants import SEATS
from cochef.reproduction import claims, figures, paper
from cochef.reproduction.declared import (
    ONION_LAYOUTS,
    TOMATO_LAYOUTS,
    Condition,
    Experiment,
    Goal,
    RunPhase,
    Setting,
    Stored,
    evaluations_of,
)
from cochef.reproduction.origin import together
from cochef.reproduction.page import Page, add_grid
from cochef.reproduction.scores import Entry, EpisodeChoice, cell
from cochef.reproduction.stages import CROSS_PLAY, PlayAcross

ALL_METHODS = "all methods"
MODEL_OF_2019 = "human-2019"


def _partner_prefers_onions(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Episodes in which the partner put more onions than tomatoes into pots."""
    return columns["partner_potting_onion"] > columns["partner_potting_tomato"]


@dataclass(frozen=True)
class BehaviourMeasure:
    """What is measured of an agent's behaviour: a column of an evaluation, in some episodes."""

    title: str
    column: str
    among: EpisodeChoice | None = None


_SCORE = BehaviourMeasure("score", "score")
_WRONG = BehaviourMeasure("wrong placements of the agent", "agent_wrong_placements")
_LIKES_TOMATOES = ("distant_tomato", "script:tomato_placement")  # where, and with whom
_MEASURES = {
    "counter_circuit": (
        BehaviourMeasure("onions passed by the agent", "agent_onions_passed_over_counter"),
        BehaviourMeasure("onions passed by the partner", "partner_onions_passed_over_counter"),
    ),
    "distant_tomato": (
        _SCORE,
        BehaviourMeasure("onion-preferred score", "score", _partner_prefers_onions),
        _WRONG,
        BehaviourMeasure("correct placements of the agent", "agent_correct_placements"),
    ),
    "many_orders": (
        _SCORE,
        BehaviourMeasure("soups of the agent from the middle pot", "agent_soups_from_middle_pot"),
    ),
}
# The paper's own scripts in these layouts like tomatoes; people also liked onions.
_ONION_SCRIPTS = ("script:onion_placement", "script:onion_placement_and_delivery")


EVALUATIONS = evaluations_of(map(Condition, methods.names()))
"""The evaluation of every method with all partners that nobody was trained with."""


def human_models(stored: Stored, condition: str, layout: str) -> list[str]:
    """The human models that a condition was evaluated with, both kinds."""
    partners = stored.scores.partners(condition, layout)
    return [name for name in partners if name.startswith("human-")]


def with_human_models(stored: Stored, conditions: Sequence[str]) -> list[Entry]:
    """Scores of conditions with the human models of the onion layouts, by seat."""
    entries = []
    for layout in stored.among(ONION_LAYOUTS):
        found = [human_models(stored, condition, layout) for condition in conditions]
        models = list(dict.fromkeys(name for names in found for name in names))
        for model in models or [f"human-proxy:{layout}"]:
            for seat in range(SEATS):
                for condition in conditions:
                    score = stored.scores.score(condition, layout, model, seat)
                    published = paper.with_human_model(condition, layout, seat)
                    entries.append(Entry(layout, model, seat, condition, score, published))
    return entries


def show_human_models(stored: Stored) -> Page:
    """Table 1 and table 20, with the row of earlier results."""
    page = Page()
    page.say(
        "Mean task return of an episode with models of people, by seat of the agent. "
        "human-proxy is our clone of the people of the test half of the human games; human-2019 "
        "are clones made as the paper's were, with the recipe of Carroll et al. 2019. The paper's "
        "numbers are with the networks of 2019. Earlier results are the paper's row Existing SOTA."
    )
    entries = with_human_models(stored, methods.names())
    for layout in stored.among(ONION_LAYOUTS):
        for seat in range(SEATS):
            published = paper.with_human_model(paper.EARLIER, layout, seat)
            for model in dict.fromkeys(e.partner for e in entries if e.layout == layout):
                entries.append(
                    Entry(layout, model, seat, paper.EARLIER, None, published, is_papers_alone=True)
                )
    add_grid(page, "human-models", "With human models", entries, place, PLACE)
    add_bars(page, "human-models", entries, "With human models")
    page.claim(_human_model_claims(stored, entries))
    return page


PLACE = ("layout", "partner", "seat")


def place(entry: Entry) -> tuple[str, ...]:
    """Layout, partner and seat of an entry."""
    return (*partner_place(entry), "both" if entry.seat is None else str(entry.seat))


def add_bars(page: Page, name: str, entries: Sequence[Entry], title: str) -> None:
    """Add bars of scores, if there are any."""
    figure = figures.bars(entries, {})
    if figure is not None:
        caption = (
            f"{title}: bars are means over populations, points populations, diamonds the paper"
            f"{together(e.score.origin for e in entries if e.score is not None).marks}"
        )
        page.figure(name, figure, caption)


def _baselines(entries: Sequence[Entry]) -> list[str]:
    """The methods that the paper compares its own with: those it has numbers of."""
    published = [entry.condition for entry in entries if entry.published is not None]
    return [name for name in methods.names() if name in published and name != methods.OWN]


def lead_in(
    entries: Sequence[Entry], layout: str, one: str, other: str, model: str | None = None
) -> claims.PopulationMeans:
    """How far a condition is ahead of another in a layout, over partners and seats.

    With the name of a kind of human models, over the models of this kind alone.
    """
    means = []
    for condition in (one, other):
        scores = [
            entry.score
            for entry in entries
            if (entry.layout, entry.condition) == (layout, condition)
            and model in (None, kind_of_model(entry.partner))
        ]
        means.append(claims.averaged(scores))
    return claims.lead(*means)


def kind_of_model(partner: str) -> str:
    """The kind of a human model, such as human-2019."""
    return partner.partition(":")[0]


def _human_model_claims(stored: Stored, entries: Sequence[Entry]) -> Iterator[claims.Claim]:
    for model in human_likeness.MODELS:
        topic = claims.MODELS_OF_2019 if model == MODEL_OF_2019 else claims.OUR_MODELS
        for other in _baselines(entries):
            for layout in stored.among(ONION_LAYOUTS):
                found = lead_in(entries, layout, methods.OWN, other, model)
                yield claims.not_below(topic, f"not below {other} in {layout}", found)


def script_entries(stored: Stored) -> list[Entry]:
    """Scores of all methods with the paper's scripts, both seats."""
    entries = []
    for layout in stored.layouts:
        for partner, published in paper.with_scripts(layout).items():
            for method in methods.names():
                score = stored.scores.score(method, layout, partner)
                cell = published.get(method)
                entries.append(Entry(layout, partner, None, method, score, cell))
    return entries


def show_scripts(stored: Stored) -> Page:
    """Table 2."""
    page = Page()
    page.say(
        "Mean task return of an episode with scripted partners that nobody was trained with, both "
        "seats together."
    )
    entries = script_entries(stored)
    add_grid(page, "scripts", "With scripted partners", entries, partner_place, PLACE[:2])
    add_bars(page, "scripts", entries, "With scripted partners")
    page.claim(script_claims(entries))
    return page


def partner_place(entry: Entry) -> tuple[str, ...]:
    """Layout and partner of an entry, without what is the same in a whole table or row."""
    partner = entry.partner.removeprefix("script:").removesuffix(f":{entry.layout}")
    return entry.layout, partner


def script_claims(entries: Sequence[Entry]) -> Iterator[claims.Claim]:
    """Whether HSP is ahead of every baseline, over all layouts and in each."""
    layouts = list(dict.fromkeys(entry.layout for entry in entries))
    for other in _baselines(entries):
        leads = [lead_in(entries, layout, methods.OWN, other) for layout in layouts]
        yield claims.ahead(claims.SCRIPTED, f"ahead of {other} over all layouts", *leads)
        for layout, found in zip(layouts, leads, strict=True):
            yield claims.ahead(claims.SCRIPTED, f"ahead of {other} in {layout}", found)


def show_scripts_by_seat(stored: Stored) -> Page:
    """Table 23."""
    page = Page()
    page.say("Mean task return of an episode with scripted partners, by seat of the agent.")
    entries = []
    for layout in stored.layouts:
        for partner, published in paper.scripts_by_seat(layout).items():
            for seat in range(SEATS):
                for method in methods.names():
                    score = stored.scores.score(method, layout, partner, seat)
                    cell = paper.pair(published.get(method, {}).get(str(seat)))
                    entries.append(Entry(layout, partner, seat, method, score, cell))
    add_grid(page, "scripts-by-seat", "With scripted partners by seat", entries, place, PLACE)
    return page


def show_behaviour(stored: Stored) -> Page:
    """The study's behaviour measures, with scripted partners."""
    page = Page()
    page.say(
        "What the study measures with people, measured with scripted partners, where no people are "
        "needed: onions passed over the middle counter, placements into a pot that is partly "
        "filled with tomatoes, soups taken from the middle pot, and scores, also among episodes in "
        "which the partner put more onions than tomatoes into pots (onion-preferred; - if there "
        "was none); means of an episode over populations."
    )
    for layout in stored.among(_MEASURES):
        rows = []
        partners = list(paper.scripts_by_seat(layout))
        if layout in TOMATO_LAYOUTS:
            partners += _ONION_SCRIPTS
        for partner in partners:
            for measure in _MEASURES[layout]:
                cells = [
                    _behaviour_cell(stored, method, layout, partner, measure)
                    for method in methods.names()
                ]
                rows.append((partner, measure.title, *cells))
        header = ("partner", "measure", *methods.names())
        page.table(f"behaviour-{layout}", ResultTable(layout, header, tuple(rows)))
    wrong = {
        method: score.mean
        for method in methods.names()
        if (score := stored.scores.score(method, *_LIKES_TOMATOES, column=_WRONG.column))
    }
    if wrong:
        layout, partner = _LIKES_TOMATOES
        page.finding = (
            f"{_WRONG.title.capitalize()} with {partner} in {layout}, of an episode: "
            + ", ".join(f"{method} {mean:.1f}" for method, mean in wrong.items())
        )
    return page


def _behaviour_cell(
    stored: Stored, method: str, layout: str, partner: str, measure: BehaviourMeasure
) -> str:
    read = stored.scores.score
    score = read(method, layout, partner, column=measure.column, among=measure.among)
    if score is None and read(method, layout, partner) is not None:
        return "-"
    return cell(score, 2)


def all_methods(setting: Setting) -> Iterator[Goal]:
    """The first agents of all methods with each other."""
    inputs = {name: setting.jobs(Condition(name))["agents"] for name in methods.names()}
    play = PlayAcross(setting.layout, PRESETS[setting.preset].episodes, setting.seed)
    yield Goal(ALL_METHODS, Job(play, setting.layout.name, inputs), methods.names())


def show_cross_play(stored: Stored) -> Page:
    """The mean score of every pair of methods."""
    page = Page()
    page.say(
        "The first agent of every method with the first agent of every other and with a copy of "
        "itself, means over both seats and populations: row with column."
    )
    names = methods.names()
    with_others: dict[str, list[float]] = {}
    for layout in stored.layouts:
        results = stored.results.select("crossplay", ALL_METHODS, layout)
        seats: dict[tuple[str, str], dict[int, list[float]]] = {}
        for result in results:
            for row in result.json(CROSS_PLAY)["pairs"]:
                by_seed = seats.setdefault((row["agent"], row["partner"]), {})
                by_seed.setdefault(result.seed, []).append(row["score"])
        rows = []
        for one in names:
            cells = []
            for two in names:
                by_seed = seats.get((one, two), {})
                means = {seed: sum(both) / len(both) for seed, both in by_seed.items()}
                cells.append(cell(stored.scores.of(results, means, agents=1)))
                if means and one != two:
                    with_others.setdefault(one, []).append(float(np.mean(list(means.values()))))
            rows.append((one, *cells))
        table = ResultTable(layout, ("agent", *names), tuple(rows))
        page.table(f"cross-play-{layout}", table)
    if with_others:
        page.finding = "Mean score with agents of the other methods: " + ", ".join(
            f"{method} {np.mean(scores):.1f}" for method, scores in with_others.items()
        )
    return page


CROSS = Experiment(
    name="cross-play",
    title="All methods with each other",
    paper=(),
    goals=all_methods,
    show=show_cross_play,
)

HUMAN_MODELS = Experiment(
    name="human-models",
    title="With human models",
    paper=("Table 1", "Table 20"),
    goals=EVALUATIONS,
    show=show_human_models,
    layouts=ONION_LAYOUTS,
    phase=RunPhase.COMPARISON,
)

SCRIPTS = Experiment(
    name="scripts",
    title="With scripted partners",
    paper=("Table 2",),
    goals=EVALUATIONS,
    show=show_scripts,
    phase=RunPhase.COMPARISON,
)

SCRIPTS_BY_SEAT = Experiment(
    name="scripts-by-seat",
    title="With scripted partners, by seat",
    paper=("Table 23",),
    goals=EVALUATIONS,
    show=show_scripts_by_seat,
    phase=RunPhase.COMPARISON,
)

BEHAVIOUR = Experiment(
    name="behaviour",
    title="What agents do with scripted partners",
    paper=(),
    goals=EVALUATIONS,
    show=show_behaviour,
    layouts=("counter_circuit", *TOMATO_LAYOUTS),
    phase=RunPhase.COMPARISON,
)
