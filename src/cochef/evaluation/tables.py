"""Tables of results, for a terminal and for Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.table import Column
from rich.table import Table as RichTable
from rich.text import Text

from cochef.evaluation.behaviours import own_share
from cochef.evaluation.records import Records
from cochef.evaluation.statistics import Summary, event_difference
from cochef.kitchen.constants import SEATS

_CLOSE = 5.0  # a score this close to the best of its row is printed bold, as in the paper


@dataclass(frozen=True)
class ResultTable:
    """A title, a header and rows of text; `bold` marks cells by row and column."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bold: frozenset[tuple[int, int]] = frozenset()

    def rich(self) -> RichTable:
        """The table for a terminal."""
        columns = [Column(Text(name), overflow="fold") for name in self.header]
        table = RichTable(*columns, title=Text(self.title))
        for number, row in enumerate(self.rows):
            styles = ["bold" if mark else "" for mark in self._bold_in(number)]
            table.add_row(*map(Text, row, styles))
        return table

    def markdown(self) -> str:
        """The table for a document."""
        rule = ["---"] * len(self.header)
        lines = [f"**{self.title}**", "", _line(self.header), _line(rule)]
        for number, row in enumerate(self.rows):
            marks = zip(row, self._bold_in(number), strict=True)
            lines.append(_line([f"**{cell}**" if mark else cell for cell, mark in marks]))
        return "\n".join(lines) + "\n"

    def _bold_in(self, row: int) -> list[bool]:
        return [(row, column) in self.bold for column in range(len(self.header))]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def scores(records: Records, title: str) -> ResultTable:
    """Partners down, agents across: the mean score, and its deviation over training seeds."""
    agents = records.labels("agent")
    summaries = {(agent, partner): rows.summary() for agent, partner, rows in records.pairs()}
    body = []
    bold = set()
    for number, partner in enumerate(records.labels("partner")):
        row = [summaries[agent, partner] for agent in agents]
        best = max(summary.mean for summary in row)
        body.append((partner, *map(score, row)))
        for column, summary in enumerate(row, start=1):
            if summary.mean >= best - _CLOSE and len(agents) > 1:
                bold.add((number, column))
    return ResultTable(title, ("partner", *agents), tuple(body), frozenset(bold))


def score(summary: Summary) -> str:
    """A mean with its standard deviation over training seeds, or its error if there is one seed."""
    spread = summary.seed_deviation if summary.seeds > 1 else summary.standard_error
    return f"{summary.mean:.1f} ± {spread:.1f}"


def details(records: Records, title: str) -> ResultTable:
    """All statistics of every pair, in both seats and in each."""
    header = (
        *("agent", "partner", "seat", "mean", "sd of seeds", "s.e.", "IQM"),
        *("95% interval", "shaped", "episodes"),
    )
    body = []
    for agent, partner, rows in records.pairs():
        by_seat = {str(seat): rows.where(rows["seat"] == seat) for seat in range(SEATS)}
        for seat, chosen in {"both": rows, **by_seat}.items():
            summary = chosen.summary()
            body.append(
                (
                    agent,
                    partner,
                    seat,
                    f"{summary.mean:.1f}",
                    f"{summary.seed_deviation:.1f}",
                    f"{summary.standard_error:.1f}",
                    f"{summary.iqm:.1f}",
                    f"{summary.low:.1f} to {summary.high:.1f}",
                    f"{chosen['agent_shaped'].mean():.1f}",
                    str(summary.episodes),
                )
            )
    return ResultTable(title, header, tuple(body))


def partners(records: Records, compared: Sequence[str], title: str) -> ResultTable:
    """How different each agent's partners are, and how both divided the work.

    Partners differ by the counts of the compared events. The onion-preferred score is that of
    episodes in which the partner potted more onions than tomatoes.
    """
    header = (
        *("agent", "partner", "event difference", "own share of cooking", "of deliveries"),
        "onion-preferred score",
    )
    body = []
    for agent in records.labels("agent"):
        parts = [rows for label, _, rows in records.pairs() if label == agent]
        counts = np.array([_event_counts(rows, compared) for rows in parts])
        differences = event_difference(counts) if len(parts) > 1 else np.full(1, np.nan)
        for rows, difference in zip(parts, differences, strict=True):
            onions = rows["partner_potting_onion"] > rows["partner_potting_tomato"]
            body.append(
                (
                    agent,
                    str(rows["partner"][0]),
                    _number_or_dash(difference),
                    _number_or_dash(_agent_share(rows, "placement_in_pot")),
                    _number_or_dash(_agent_share(rows, "delivery")),
                    f"{rows['score'][onions].mean():.1f}" if onions.any() else "-",
                )
            )
    return ResultTable(title, header, tuple(body))


def _event_counts(records: Records, compared: Sequence[str]) -> list[float]:
    """The partner's mean count of each event."""
    return [records[f"partner_{event}"].mean() for event in compared]


def _number_or_dash(number: float) -> str:
    return "-" if np.isnan(number) else f"{number:.2f}"


def _agent_share(records: Records, event: str) -> float:
    """The agent's share of an event, averaged over the episodes in which it happened."""
    both = np.stack([records[f"agent_{event}"], records[f"partner_{event}"]], axis=1)
    shares = own_share(both)[:, 0]
    return float(np.nanmean(shares)) if np.isfinite(shares).any() else float("nan")


def behaviour(records: Records, title: str, measures: Sequence[str]) -> ResultTable:
    """The mean of some columns for every pair."""
    body = []
    for agent, partner, rows in records.pairs():
        means = [f"{rows[measure].mean():.2f}" for measure in measures]
        body.append((agent, partner, *means))
    return ResultTable(title, ("agent", "partner", *measures), tuple(body))
