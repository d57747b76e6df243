"""Sections of a study's report: what was left out, the preference model, unwanted effects."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from matplotlib.figure import Figure

from cochef.evaluation.tables import ResultTable
from cochef.web import effects, exclusions
from cochef.web.analysis import Columns, Rankings
from cochef.web.preference_model import PRIOR_DEVIATION, WorthContrast
from cochef.web.store import StudyStore


@dataclass(frozen=True)
class Section:
    """A heading, a text, and tables and figures by the names of their files."""

    heading: str
    text: str
    tables: Mapping[str, ResultTable] = field(default_factory=dict)
    figures: Mapping[str, Figure] = field(default_factory=dict)


def excluded_section(store: StudyStore, games: Columns, people: Collection[int]) -> Section:
    """What the rules of the study leave out of all that follows."""
    rules = exclusions.stated(store.study.exclusions)
    broken = exclusions.counts(games["excluded"]) if games else {}
    rows = tuple((words, str(broken.get(name, 0))) for name, words in rules.items())
    table = ResultTable("Left out", ("rule", "games"), rows)
    numbers = ", ".join(map(str, sorted(people)))
    listed = f" Rankings left out, of participants: {numbers}." if people else ""
    total = len(games["excluded"]) if games else 0
    text = (
        "The rules stand in the study file and could not be changed once somebody had joined. "
        f"They leave out {sum(broken.values())} of {total} games; a game counts under the first "
        f"rule that it breaks.{listed}"
    )
    return Section("Exclusions", text if rules else "The study leaves nothing out.", _some(table))


def _some(table: ResultTable) -> dict[str, ResultTable]:
    return {"exclusions": table} if table.rows else {}


def worth_sections(contrasts: Sequence[WorthContrast]) -> Iterator[Section]:
    """The preferences by a Plackett-Luce model."""
    if not contrasts:
        return
    tables = {}
    for layout in dict.fromkeys(one.layout for one in contrasts):
        here = [one for one in contrasts if one.layout == layout]
        rows = tuple(
            (
                f"{one.agent} above {one.other}",
                f"{one.probability:.2f} [{one.low:.2f}, {one.high:.2f}]",
                f"{one.p_value:.2g}",
                f"{one.corrected:.2g}",
            )
            for one in here
        )
        title = f"{layout}: probability of being ranked above, {here[0].people} people"
        header = ("agents", "probability", "p", "p by Holm")
        tables[f"plackett_luce_{layout}"] = ResultTable(title, header, rows)
    yield Section(
        "Preferences by a Plackett-Luce model",
        "Every agent has a worth, and people choose first, second and so on in proportion to it; "
        "one model for whole rankings. 0.5 means alike. Brackets: 95% intervals. A normal prior of "
        f"the logarithms of worths (deviation {PRIOR_DEVIATION:g}) keeps them finite where all "
        "agree.",
        tables,
    )


def effect_sections(store: StudyStore, ranked: Rankings, games: Columns) -> Iterator[Section]:
    """Effects of letters and order, which should not be there."""
    tables = {}
    if len(ranked.ranks):
        for found in effects.rank_effects(store, ranked.people.tolist(), ranked.ranks):
            tables[f"effect_{found.of.replace(' ', '_')}"] = _rank_table(found)
    trend = effects.score_trend(store.study.agents, games) if games else None
    if trend is not None:
        tables["effect_of_position"] = _trend_table(trend)
    if tables:
        yield Section(
            "Order and letters",
            "Letters are shuffled and orders are balanced, so these should matter little. Ranks: "
            "Friedman's test. Scores: the slope over the games of a person, beside a constant for "
            "each person and for each agent and seat on each layout; people may learn, which "
            "balance takes care of, unless the agents' trends differ.",
            tables,
        )


def _rank_table(found: effects.RankEffect) -> ResultTable:
    header = ("", *found.means)
    row = ("mean rank", *(f"{mean:.2f}" for mean in found.means.values()))
    p_value = "not known" if math.isnan(found.p_value) else f"{found.p_value:.2g}"
    title = f"Rank by {found.of}: p = {p_value}, {found.people} people"
    return ResultTable(title, header, (row,))


def _trend_table(trend: effects.ScoreTrend) -> ResultTable:
    rows = tuple(
        (agent, f"{slope:+.2f} ± {1.96 * trend.errors[agent]:.2f}")
        for agent, slope in trend.slopes.items()
    )
    title = (
        f"Points gained from one game to the next, {trend.games} games: p of no trend "
        f"{trend.p_any:.2g}, of the same trend for all {trend.p_different:.2g}"
    )
    return ResultTable(title, ("agent", "points a game (95%)"), rows)
