"""The report of a study: report.html, report.md, a CSV of each table, and figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cochef.evaluation.plots import save
from cochef.evaluation.report import (
    HTML,
    MARKDOWN,
    Block,
    Heading,
    Lead,
    Paragraph,
    Picture,
    Report,
)
from cochef.evaluation.tables import ResultTable
from cochef.files import write_whole
from cochef.kitchen.events import Event
from cochef.web import analysis, export
from cochef.web.analysis import Columns, Contrast, RankingPreference, ScoreEstimate, ScoreFit
from cochef.web.caveats import SIMULATED, caveats
from cochef.web.findings import main_finding
from cochef.web.preference_model import WorthContrast
from cochef.web.progress import StudyStage
from cochef.web.report_sections import Section, effect_sections, excluded_section, worth_sections
from cochef.web.store import StudyStore

ExactRecord = RankingPreference | WorthContrast | ScoreEstimate | Contrast

_ACROSS = 3  # panels of a figure
_SEATS = ("#0072b2", "#e69f00")  # told apart by colour-blind readers, too
_MEASURES = (
    "collisions",
    "idle",
    "handed_over",
    "onions_passed_over_counter",
    "correct_placements",
    "wrong_placements",
    "soups_from_middle_pot",
)


def write(store: StudyStore, directory: Path) -> list[str]:
    """Analyse a study and write all of its report; the names of the files."""
    agents = store.study.agents
    everything = analysis.game_columns(store)
    games = analysis.kept(everything)
    ranked = analysis.rankings(store)
    left_out = analysis.people_left_out(store, everything, ranked.people.tolist())
    ranked = ranked.without(left_out)
    preferred = analysis.preferences(agents, ranked) if len(ranked.ranks) else []
    worths = analysis.worths(agents, ranked) if len(ranked.ranks) else []
    fits = analysis.fits(agents, games) if games else []
    sections = [
        _people(store, everything),
        excluded_section(store, everything, left_out),
        *_preferences(store, preferred),
        *worth_sections(worths),
        *_scores(fits),
        *effect_sections(store, ranked, games),
        *_behaviour(games),
        _comments(store),
    ]
    made = {"games.csv": _columns_csv(everything)} if everything else {}
    for name, rows in _exact(preferred, worths, fits).items():
        if rows:
            made[f"{name}.csv"] = _records_csv(rows)
    for section in sections:
        for name, table in section.tables.items():
            made.setdefault(f"{name}.csv", _csv(table.header, table.rows))
    for name, content in made.items():
        write_whole(directory / name, content)
    blocks: list[Block] = [Paragraph(caveat) for caveat in caveats(store)]
    blocks.append(Lead(main_finding(worths, fits)))
    for section in sections:
        blocks += _blocks(section, directory)
    # The first line says so, wherever a report of a rehearsal goes.
    title = f"{SIMULATED}: {store.study.title}" if store.is_simulated else store.study.title
    Report(title, blocks).write(directory)
    return [*made, MARKDOWN, HTML, *(block.file for block in blocks if isinstance(block, Picture))]


def _blocks(section: Section, directory: Path) -> Iterator[Block]:
    """The section as blocks of a report; its figures are saved."""
    yield Heading(section.heading)
    yield Paragraph(section.text)
    for name, figure in section.figures.items():
        file = f"{name}.png"
        save(figure, directory / file)
        yield Picture(file, f"{section.heading} by layout", (directory / file).read_bytes())
    yield from section.tables.values()


def _exact(
    preferred: Sequence[RankingPreference],
    worths: Sequence[WorthContrast],
    fits: Sequence[ScoreFit],
) -> dict[str, Sequence[ExactRecord]]:
    """What the tables show rounded, in full."""
    return {
        "preferences": preferred,
        "plackett_luce": worths,
        "scores": [estimate for fit in fits for estimate in fit.estimates],
        "contrasts": [contrast for fit in fits for contrast in fit.contrasts],
    }


def _people(store: StudyStore, games: Columns) -> Section:
    people = store.participants()
    rows = []
    for layout in store.study.layouts:
        stages = [one.progress.stage for one in people if one.layout == layout]
        finished = sum(stage is StudyStage.THANKS for stage in stages)
        played = wrong = 0
        if games:
            here = games["layout"] == layout
            played = int(here.sum())
            wrong = int((games["score"] != games["replayed_score"])[here].sum())
        rows.append((layout, str(len(stages)), str(finished), str(played), str(wrong)))
    header = (
        "layout",
        "joined",
        "finished",
        "complete games",
        "of these not replaying to their score",
    )
    return Section(
        "Participants",
        "Games are complete games that count. Each was replayed by the rules, from its stored "
        "actions.",
        {"participants": ResultTable("Participants and games", header, tuple(rows))},
    )


def _preferences(store: StudyStore, preferred: Sequence[RankingPreference]) -> Iterator[Section]:
    if not preferred:
        return
    agents = store.study.agents
    tables = {}
    for layout in dict.fromkeys(one.layout for one in preferred):
        here = [one for one in preferred if one.layout == layout]
        cells = {(one.agent, one.other): _preference_text(one) for one in here}
        rows = [_preference_row(agent, agents, cells) for agent in agents]
        title = f"{layout}: preference of the row over the column, {here[0].people} people"
        tables[f"preferences_{layout}"] = ResultTable(title, ("agent", *agents), tuple(rows))
    yield Section(
        "Preferences",
        "How many ranked the row's agent above the column's, minus how many ranked it below, as a "
        "share of all who ranked them. Brackets: 95% interval, people resampled within layouts.",
        tables,
        {"preferences": _preference_figure(agents, preferred)},
    )


def _preference_row(
    agent: str, agents: Sequence[str], cells: Mapping[tuple[str, str], str]
) -> tuple[str, ...]:
    return (agent, *(cells.get((agent, other), "-") for other in agents))


def _preference_text(one: RankingPreference) -> str:
    return f"{one.value:+.2f} [{one.low:+.2f}, {one.high:+.2f}]"


def _panels(number: int) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, three in a row."""
    across = min(number, _ACROSS)
    down = -(-number // across)
    figure, grid = plt.subplots(
        down, across, figsize=(3.6 * across, 3.6 * down), layout="constrained", squeeze=False
    )
    panels = grid.flatten().tolist()
    for left_over in panels[number:]:
        left_over.remove()
    return figure, panels[:number]


def _preference_figure(agents: Sequence[str], preferred: Sequence[RankingPreference]) -> Figure:
    layouts = list(dict.fromkeys(one.layout for one in preferred))
    figure, panels = _panels(len(layouts))
    image = None
    for axes, layout in zip(panels, layouts, strict=True):
        values = np.full((len(agents), len(agents)), np.nan)
        for one in preferred:
            if one.layout != layout:
                continue
            row = agents.index(one.agent)
            column = agents.index(one.other)
            values[row, column] = one.value
            axes.text(column, row, f"{one.value:+.2f}", ha="center", va="center")
        image = axes.imshow(values, cmap="PuOr", vmin=-1.5, vmax=1.5)
        axes.set(title=layout)
        axes.set_xticks(range(len(agents)), agents, rotation=35, ha="right")
        axes.set_yticks(range(len(agents)), agents)
    if image is not None:
        figure.colorbar(image, ax=panels, label="row preferred over column", shrink=0.8)
    return figure


def _scores(fits: Sequence[ScoreFit]) -> Iterator[Section]:
    if not fits:
        return
    tables = {}
    for fit in fits:
        tables[f"scores_{fit.layout}"] = _mean_table(fit)
        tables[f"contrasts_{fit.layout}"] = _contrast_table(fit)
    notes = [f"{fit.layout}: {note}." for fit in fits for note in fit.notes]
    yield Section(
        "Scores",
        "A linear mixed model: a mean for each agent and seat, and a random constant for each "
        "person; over all layouts also a constant for each layout. Brackets: 95% intervals by the "
        "normal approximation, which are somewhat narrow with few people. " + " ".join(notes),
        tables,
        {"scores": _score_figure(fits)},
    )


def _mean_table(fit: ScoreFit) -> ResultTable:
    cells = {
        (one.agent, one.seat): _with_interval(one.mean, one.low, one.high) for one in fit.estimates
    }
    agents = dict.fromkeys(one.agent for one in fit.estimates)
    title = (
        f"{fit.layout}: mean score, {fit.games} games of {fit.people} people (deviation of people "
        f"{fit.deviation_of_people:.1f}, of games {fit.deviation_of_games:.1f})"
    )
    header = ("agent", "both seats", "person in seat 0", "person in seat 1")
    rows = tuple((agent, cells[agent, None], cells[agent, 0], cells[agent, 1]) for agent in agents)
    return ResultTable(title, header, rows)


def _contrast_table(fit: ScoreFit) -> ResultTable:
    rows = tuple(
        (
            f"{one.agent} - {one.other}",
            _with_interval(one.difference, one.low, one.high),
            f"{one.p_value:.2g}",
            f"{one.corrected:.2g}",
        )
        for one in fit.contrasts
    )
    header = ("agents", "difference", "p", "p by Holm")
    return ResultTable(f"{fit.layout}: differences", header, rows)


def _with_interval(value: float, low: float, high: float) -> str:
    return f"{value:z.1f}" if np.isnan(low) else f"{value:z.1f} [{low:z.1f}, {high:z.1f}]"


def _score_figure(fits: Sequence[ScoreFit]) -> Figure:
    figure, panels = _panels(len(fits))
    for axes, fit in zip(panels, fits, strict=True):
        agents = list(dict.fromkeys(one.agent for one in fit.estimates))
        for seat, colour in enumerate(_SEATS):
            chosen = [one for one in fit.estimates if one.seat == seat]
            places = np.arange(len(agents)) + 0.2 * (seat - 0.5)
            means = np.array([one.mean for one in chosen])
            below = [one.mean - one.low for one in chosen]
            above = [one.high - one.mean for one in chosen]
            axes.errorbar(
                places,
                means,
                np.nan_to_num([below, above]),
                fmt="os"[seat],
                color=colour,
                capsize=3,
                label=f"person in seat {seat}",
            )
        axes.set_xticks(range(len(agents)), agents, rotation=35, ha="right")
        axes.set(title=fit.layout)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("mean score and 95% interval")
    panels[0].legend()
    return figure


def _behaviour(games: Columns) -> Iterator[Section]:
    if not games:
        return
    cooking = analysis.shares(games, Event.PLACEMENT_IN_POT)
    delivery = analysis.shares(games, Event.DELIVERY)
    onions = games[f"human_{Event.POTTING_ONION.label}"]
    prefers_onions = onions > games[f"human_{Event.POTTING_TOMATO.label}"]
    measures = [
        f"{who}_{name}"
        for name in _MEASURES
        for who in ("human", "agent")
        if np.nan_to_num(games.get(f"{who}_{name}", np.zeros(1))).any()
    ]
    rows = []
    for layout in sorted(set(games["layout"].tolist())):
        for agent in dict.fromkeys(games["agent"].tolist()):
            here = (games["layout"] == layout) & (games["agent"] == agent)
            columns = [cooking[here], delivery[here], games["score"][here & prefers_onions]]
            columns += [games[measure][here] for measure in measures]
            rows.append((layout, agent, str(int(here.sum())), *map(_mean, columns)))
    header = (
        "layout",
        "agent",
        "games",
        "human's share of cooking",
        "of deliveries",
        "onion-preferred score",
    )
    names = tuple(measure.replace("_", " ") for measure in measures)
    yield Section(
        "Behaviour",
        "Means of a game. Shares: of games in which anybody cooked or delivered. The "
        "onion-preferred score is that of games in which the human potted more onions than "
        "tomatoes. All counts of every game are in games.csv.",
        {"behaviour": ResultTable("What people and agents did", (*header, *names), tuple(rows))},
    )


def _mean(column: np.ndarray) -> str:
    there = column[~np.isnan(column.astype(float))]
    return f"{there.mean():.2f}" if len(there) else "-"


def _comments(store: StudyStore) -> Section:
    where = {one.number: one.layout for one in store.participants()}
    rows = [
        (
            where[row["participant"]],
            row["agent"],
            row["letter"],
            str(row["participant"]),
            row["question"],
            row["comment"],
        )
        for row in export.comments(store)
        if row["comment"].strip()
    ]
    header = ("layout", "agent", "seen as", "participant", "question", "comment")
    table = ResultTable("What people wrote", header, tuple(sorted(rows)))
    return Section("Comments", f"{len(rows)} comments.", {"comments": table})


def _columns_csv(columns: Columns) -> bytes:
    lists = [column.tolist() for column in columns.values()]
    return _csv(tuple(columns), list(zip(*lists, strict=True)))


def _records_csv(records: Sequence[ExactRecord]) -> bytes:
    header = tuple(field.name for field in fields(records[0]))
    return _csv(header, [astuple(record) for record in records])


def _csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> bytes:
    return export.csv_bytes(header, [dict(zip(header, row, strict=True)) for row in rows])
