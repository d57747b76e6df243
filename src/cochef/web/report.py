"""What a study found, for people to read: report.html, report.md, a CSV of each table, and figures."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cochef.evaluation.plots import save
from cochef.evaluation.report import HTML, MARKDOWN, Block, Heading, Paragraph, Picture, Report
from cochef.evaluation.tables import Table
from cochef.files import write_whole
from cochef.kitchen.constants import Event
from cochef.web import analysis, export
from cochef.web.analysis import Column, Contrast, Estimate, Fit, Preference
from cochef.web.progress import Stage
from cochef.web.store import Store

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


@dataclass(frozen=True)
class Section:
    """A heading, what to know about it, and its tables and figures by name."""

    heading: str
    text: str
    tables: tuple[tuple[str, Table], ...] = ()
    figures: tuple[tuple[str, Figure], ...] = ()


def write(store: Store, directory: Path) -> list[str]:
    """Analyse a study and write all of its report; the names of the files."""
    games = analysis.game_columns(store)
    layouts, ranks = analysis.rankings(store)
    liked = analysis.preferences(store.study.agents, layouts, ranks) if len(ranks) else []
    fits = analysis.fits(store.study.agents, games) if games else []
    sections = [_people(store, games), *_preferences(store, liked), *_scores(fits), *_behaviour(games)]
    sections.append(_comments(store))
    made = {"games.csv": _columns_csv(games)} if games else {}
    made |= {f"{name}.csv": _csv(rows) for name, rows in _exact(liked, fits).items() if rows}
    made |= {
        f"{name}.csv": export.csv_bytes(table.header, [dict(zip(table.header, row, strict=True)) for row in table.rows])
        for section in sections
        for name, table in section.tables
        if f"{name}.csv" not in made
    }
    for name, content in made.items():
        write_whole(directory / name, content)
    blocks = [block for section in sections for block in _blocks(section, directory)]
    Report(store.study.title, blocks).write(directory)
    return [*made, MARKDOWN, HTML, *(block.file for block in blocks if isinstance(block, Picture))]


def _blocks(section: Section, directory: Path) -> Iterator[Block]:
    """The section as blocks of a report; its figures are saved."""
    yield Heading(section.heading)
    yield Paragraph(section.text)
    for name, figure in section.figures:
        file = f"{name}.png"
        save(figure, directory / file)
        yield Picture(file, f"{section.heading} by kitchen", (directory / file).read_bytes())
    yield from (table for _, table in section.tables)


def _exact(liked: Sequence[Preference], fits: Sequence[Fit]) -> dict[str, Sequence[Preference | Estimate | Contrast]]:
    return {
        "preferences": liked,
        "scores": [estimate for fit in fits for estimate in fit.estimates],
        "contrasts": [contrast for fit in fits for contrast in fit.contrasts],
    }


def _people(store: Store, games: dict[str, Column]) -> Section:
    people = store.participants()
    rows = []
    for layout in store.study.layouts:
        stages = [one.progress.stage for one in people if one.layout == layout]
        played = int((games["layout"] == layout).sum()) if games else 0
        wrong = int((games["score"] != games["replayed_score"])[games["layout"] == layout].sum()) if games else 0
        finished = sum(stage is Stage.THANKS for stage in stages)
        rows.append((layout, str(len(stages)), str(finished), str(played), str(wrong)))
    header = ("kitchen", "joined", "finished", "complete games", "of these not replaying to their score")
    return Section(
        "Participants",
        "Games are complete games that count. Each was played again by the rules, from its stored actions.",
        (("participants", Table("Participants and games", header, tuple(rows))),),
    )


def _preferences(store: Store, liked: Sequence[Preference]) -> Iterator[Section]:
    if not liked:
        return
    agents, tables = store.study.agents, []
    for layout in dict.fromkeys(one.layout for one in liked):
        found = {(one.agent, one.other): one for one in liked if one.layout == layout}
        people = next(iter(found.values())).people
        rows = [
            (agent, *("-" if agent == other else _preference_text(found[agent, other]) for other in agents))
            for agent in agents
        ]
        title = f"{layout}: preference of the row over the column, {people} people"
        tables.append((f"preferences_{layout}", Table(title, ("agent", *agents), tuple(rows))))
    yield Section(
        "Preferences",
        "How many ranked the row's agent above the column's, minus how many ranked it below, as a share of all who "
        "ranked them. Brackets: 95% interval, people resampled within kitchens.",
        tuple(tables),
        (("preferences", _preference_figure(agents, liked)),),
    )


def _preference_text(one: Preference) -> str:
    return f"{one.value:+.2f} [{one.low:+.2f}, {one.high:+.2f}]"


def _panels(number: int) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, three in a row."""
    across = min(number, _ACROSS)
    down = -(-number // across)
    figure, grid = plt.subplots(down, across, figsize=(3.6 * across, 3.6 * down), layout="constrained", squeeze=False)
    panels = grid.flatten().tolist()
    for left_over in panels[number:]:
        left_over.remove()
    return figure, panels[:number]


def _preference_figure(agents: Sequence[str], liked: Sequence[Preference]) -> Figure:
    layouts = list(dict.fromkeys(one.layout for one in liked))
    figure, panels = _panels(len(layouts))
    image = None
    for axes, layout in zip(panels, layouts, strict=True):
        values = np.full((len(agents), len(agents)), np.nan)
        for one in (one for one in liked if one.layout == layout):
            row, column = agents.index(one.agent), agents.index(one.other)
            values[row, column] = one.value
            axes.text(column, row, f"{one.value:+.2f}", ha="center", va="center")
        image = axes.imshow(values, cmap="PuOr", vmin=-1.5, vmax=1.5)
        axes.set(title=layout)
        axes.set_xticks(range(len(agents)), agents, rotation=35, ha="right")
        axes.set_yticks(range(len(agents)), agents)
    if image is not None:
        figure.colorbar(image, ax=panels, label="row preferred over column", shrink=0.8)
    return figure


def _scores(fits: Sequence[Fit]) -> Iterator[Section]:
    if not fits:
        return
    tables = []
    for fit in fits:
        by = {(one.agent, one.seat): _with_interval(one.mean, one.low, one.high) for one in fit.estimates}
        agents = dict.fromkeys(one.agent for one in fit.estimates)
        title = (
            f"{fit.layout}: mean score, {fit.games} games of {fit.people} people "
            f"(deviation of people {fit.deviation_of_people:.1f}, of games {fit.deviation_of_games:.1f})"
        )
        rows = tuple((agent, by[agent, None], by[agent, 0], by[agent, 1]) for agent in agents)
        header = ("agent", "both seats", "person in seat 0", "person in seat 1")
        tables.append((f"scores_{fit.layout}", Table(title, header, rows)))
        differences = tuple(
            (
                f"{one.agent} - {one.other}",
                _with_interval(one.difference, one.low, one.high),
                f"{one.p_value:.2g}",
                f"{one.corrected:.2g}",
            )
            for one in fit.contrasts
        )
        header = ("agents", "difference", "p", "p by Holm")
        tables.append((f"contrasts_{fit.layout}", Table(f"{fit.layout}: differences", header, differences)))
    notes = [f"{fit.layout}: {note}." for fit in fits for note in fit.notes]
    yield Section(
        "Scores",
        "A linear mixed model: a mean for each agent and seat, and a random constant for each person; over all "
        "kitchens also a constant for each kitchen. Brackets: 95% intervals by the normal approximation, which are "
        "somewhat narrow with few people. " + " ".join(notes),
        tuple(tables),
        (("scores", _score_figure(fits)),),
    )


def _with_interval(value: float, low: float, high: float) -> str:
    return f"{value:z.1f}" if np.isnan(low) else f"{value:z.1f} [{low:z.1f}, {high:z.1f}]"


def _score_figure(fits: Sequence[Fit]) -> Figure:
    figure, panels = _panels(len(fits))
    for axes, fit in zip(panels, fits, strict=True):
        agents = list(dict.fromkeys(one.agent for one in fit.estimates))
        for seat, colour in enumerate(_SEATS):
            chosen = [one for one in fit.estimates if one.seat == seat]
            places = np.arange(len(agents)) + 0.2 * (seat - 0.5)
            means = np.array([one.mean for one in chosen])
            reach = np.nan_to_num([[one.mean - one.low for one in chosen], [one.high - one.mean for one in chosen]])
            axes.errorbar(places, means, reach, fmt="os"[seat], color=colour, capsize=3, label=f"person in seat {seat}")
        axes.set_xticks(range(len(agents)), agents, rotation=35, ha="right")
        axes.set(title=fit.layout)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("mean score and 95% interval")
    panels[0].legend()
    return figure


def _behaviour(games: dict[str, Column]) -> Iterator[Section]:
    if not games:
        return
    cooking, delivery = (analysis.shares(games, event) for event in (Event.PLACEMENT_IN_POT, Event.DELIVERY))
    onions = games[f"human_{Event.POTTING_ONION.label}"] > games[f"human_{Event.POTTING_TOMATO.label}"]
    measures = [f"{who}_{name}" for name in _MEASURES for who in ("human", "agent") if games[f"{who}_{name}"].any()]
    rows = []
    for layout in sorted(set(games["layout"].tolist())):
        for agent in dict.fromkeys(games["agent"].tolist()):
            here = (games["layout"] == layout) & (games["agent"] == agent)
            columns = [cooking[here], delivery[here], games["score"][here & onions]]
            columns += [games[measure][here] for measure in measures]
            rows.append((layout, agent, str(int(here.sum())), *(_mean(column) for column in columns)))
    header = ("kitchen", "agent", "games", "human's share of cooking", "of deliveries", "onion-preferred score")
    names = tuple(measure.replace("_", " ") for measure in measures)
    yield Section(
        "Behaviour",
        "Means of a game. Shares: of games in which anybody cooked or delivered. The onion-preferred score is that of "
        "games in which the human potted more onions than tomatoes. All counts of every game are in games.csv.",
        (("behaviour", Table("What people and agents did", (*header, *names), tuple(rows))),),
    )


def _mean(column: Column) -> str:
    there = column[~np.isnan(column.astype(float))]
    return f"{there.mean():.2f}" if len(there) else "-"


def _comments(store: Store) -> Section:
    where = {one.number: one.layout for one in store.participants()}
    rows = [
        (where[row["participant"]], row["agent"], str(row["participant"]), row["question"], row["comment"])
        for row in export.comments(store)
        if row["comment"].strip()
    ]
    header = ("kitchen", "agent", "participant", "question", "comment")
    table = Table("What people wrote", header, tuple(sorted(rows)))
    return Section("Comments", f"{len(rows)} comments.", (("comments", table),))


def _columns_csv(columns: dict[str, Column]) -> bytes:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return export.csv_bytes(tuple(columns), [dict(zip(columns, row, strict=True)) for row in rows])


def _csv(rows: Sequence[Preference | Estimate | Contrast]) -> bytes:
    header = tuple(field.name for field in fields(rows[0]))
    return export.csv_bytes(header, [dict(zip(header, astuple(row), strict=True)) for row in rows])
