"""Results as tables, for a terminal and for Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.table import Column
from rich.table import Table as RichTable
from rich.text import Text

from cochef.evaluation.behaviours import own_share
from cochef.evaluation.records import Records
from cochef.evaluation.statistics import Summary, event_difference

_CLOSE = 5.0  # a score this close to the best of its row is printed bold, as in the paper


@dataclass(frozen=True)
class Table:
    """A title, a header and rows of text; `bold` marks cells by row and column."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bold: frozenset[tuple[int, int]] = frozenset()

    def rich(self) -> RichTable:
        """For a terminal."""
        table = RichTable(*(Column(Text(name), overflow="fold") for name in self.header), title=Text(self.title))
        for r, row in enumerate(self.rows):
            table.add_row(*(Text(cell, style="bold" if (r, c) in self.bold else "") for c, cell in enumerate(row)))
        return table

    def markdown(self) -> str:
        """For a document."""
        lines = [f"**{self.title}**", "", _line(self.header), _line(["---"] * len(self.header))]
        for r, row in enumerate(self.rows):
            lines.append(_line([f"**{cell}**" if (r, c) in self.bold else cell for c, cell in enumerate(row)]))
        return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def scores(records: Records, title: str) -> Table:
    """Partners down, agents across: the mean score, and its standard deviation over training seeds (or error)."""
    agents, partners = records.labels("agent"), records.labels("partner")
    found = {(agent, partner): rows.summary() for agent, partner, rows in records.pairs()}
    body, bold = [], set()
    for r, partner in enumerate(partners):
        best = max(found[agent, partner].mean for agent in agents)
        body.append((partner, *(score(found[agent, partner]) for agent in agents)))
        bold |= {(r, c + 1) for c, agent in enumerate(agents) if found[agent, partner].mean >= best - _CLOSE}
    return Table(title, ("partner", *agents), tuple(body), frozenset(bold if len(agents) > 1 else ()))


def score(summary: Summary) -> str:
    """A mean, and its standard deviation over training seeds, or its standard error if there is one seed."""
    spread = summary.seed_deviation if summary.seeds > 1 else summary.standard_error
    return f"{summary.mean:.1f} ± {spread:.1f}"


def details(records: Records, title: str) -> Table:
    """A row a pair and seat: everything the summary says."""
    header = ("agent", "partner", "seat", "mean", "sd of seeds", "s.e.", "IQM", "95% interval", "shaped", "episodes")
    body = []
    for agent, partner, rows in records.pairs():
        for name, chosen in (("both", rows), *((str(s), rows.where(rows["seat"] == s)) for s in (0, 1))):
            summary = chosen.summary()
            numbers = (summary.mean, summary.seed_deviation, summary.standard_error, summary.iqm)
            interval = f"{summary.low:.1f} to {summary.high:.1f}"
            shaped = f"{chosen['agent_shaped'].mean():.1f}"
            texts = (f"{number:.1f}" for number in numbers)
            body.append((agent, partner, name, *texts, interval, shaped, str(summary.episodes)))
    return Table(title, header, tuple(body))


def partners(records: Records, compared: Sequence[str], title: str) -> Table:
    """A row an agent and partner: how different the partner is from the one most like it, and how both shared the work.

    Partners differ by the counts of the compared events. The onion-preferred score is that of episodes in which the
    partner potted more onions than tomatoes.
    """
    header = ("agent", "partner", "event difference", "own share of cooking", "of deliveries", "onion-preferred score")
    events = [f"partner_{event}" for event in compared]
    body = []
    for agent in records.labels("agent"):
        rows = [part for label, _, part in records.pairs() if label == agent]
        counts = np.array([[part[event].mean() for event in events] for part in rows])
        differences = event_difference(counts) if len(rows) > 1 else np.full(1, np.nan)
        for part, difference in zip(rows, differences, strict=True):
            onions = part["partner_potting_onion"] > part["partner_potting_tomato"]
            numbers = (difference, _share(part, "placement_in_pot"), _share(part, "delivery"))
            score = f"{part['score'][onions].mean():.1f}" if onions.any() else "-"
            texts = ("-" if np.isnan(number) else f"{number:.2f}" for number in numbers)
            body.append((agent, str(part["partner"][0]), *texts, score))
    return Table(title, header, tuple(body))


def _share(records: Records, what: str) -> float:
    """The agent's share of what both did, averaged over the episodes in which anybody did it."""
    both = np.stack([records[f"agent_{what}"], records[f"partner_{what}"]], axis=1)
    shares = own_share(both)[:, 0]
    return float(np.nanmean(shares)) if np.isfinite(shares).any() else float("nan")


def behaviour(records: Records, title: str, measures: Sequence[str]) -> Table:
    """A row a pair: the mean of some columns per episode."""
    body = [
        (agent, partner, *(f"{rows[measure].mean():.2f}" for measure in measures))
        for agent, partner, rows in records.pairs()
    ]
    return Table(title, ("agent", "partner", *measures), tuple(body))
