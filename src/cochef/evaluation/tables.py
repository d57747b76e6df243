"""Tables of results, for a terminal, for Markdown and for LaTeX, and in full as CSV."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.table import Column
from rich.table import Table as RichTable
from rich.text import Text

from cochef.evaluation.behaviours import own_share
from cochef.evaluation.comparisons import Comparison
from cochef.evaluation.records import Records, Unit
from cochef.evaluation.statistics import Summary, event_difference
from cochef.kitchen.constants import SEATS

_CLOSE = 5.0  # a score this close to the best of its row is printed bold, as in the paper
_UNITS: Mapping[Unit, str] = {
    "population_seed": "populations",
    "agent_seed": "agents of one population",
}
_NUMBER = re.compile(r"[-+]?[\d.,]+( ± [\d.,]+|%)?|-|")
_MINUS = re.compile(r"(?<![\w.])-(?=\d)")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": "$<$",
    ">": "$>$",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


@dataclass(frozen=True)
class ResultTable:
    """A title, a header and rows of text; `bold` marks cells by row and column.

    The note says what the title does not, such as which error is shown.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bold: frozenset[tuple[int, int]] = frozenset()
    note: str = ""

    def rich(self) -> RichTable:
        """The table for a terminal without its note; text is folded and never cut."""
        columns = [Column(Text(name), overflow="fold") for name in self.header]
        table = RichTable(*columns, title=Text(self.title))
        for number, row in enumerate(self.rows):
            styles = ["bold" if mark else "" for mark in self.bold_in(number)]
            table.add_row(*map(Text, row, styles))
        return table

    def markdown(self) -> str:
        """The table for a document."""
        rule = ["---"] * len(self.header)
        lines = [f"**{self.title}**", "", _line(self.header), _line(rule)]
        for number, row in enumerate(self.rows):
            marks = zip(row, self.bold_in(number), strict=True)
            lines.append(_line([f"**{cell}**" if mark else cell for cell, mark in marks]))
        if self.note:
            lines += ["", self.note]
        return "\n".join(lines) + "\n"

    def latex(self, below: Sequence[str] = ()) -> str:
        """The table for a paper that uses the package booktabs, with lines of text below it."""
        columns = zip(*self.rows, strict=True)
        kinds = "".join("r" if _are_numbers(column) else "l" for column in columns)
        caption = f"{self.title}. {self.note}" if self.note else f"{self.title}."
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_latex(caption)}}}",
            rf"\begin{{tabular}}{{{kinds or 'l' * len(self.header)}}}",
            r"\toprule",
            _latex_line([_latex(name) for name in self.header]),
            r"\midrule",
        ]
        for number, row in enumerate(self.rows):
            marks = zip(map(_latex, row), self.bold_in(number), strict=True)
            lines.append(
                _latex_line([rf"\textbf{{{cell}}}" if mark else cell for cell, mark in marks])
            )
        lines += [r"\bottomrule", r"\end{tabular}"]
        lines += [rf"\par {_latex(text)}" for text in below]
        lines.append(r"\end{table}")
        return "\n".join(lines) + "\n"

    def csv(self) -> bytes:
        """The cells as they are shown, for a spreadsheet."""
        text = io.StringIO(newline="")
        csv.writer(text).writerows((self.header, *self.rows))
        return text.getvalue().encode()

    def bold_in(self, row: int) -> list[bool]:
        """Which cells of a row are bold."""
        return [(row, column) in self.bold for column in range(len(self.header))]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex(text: str) -> str:
    """Text that LaTeX sets as it is, with a minus where a number is negative."""
    escaped = "".join(_LATEX.get(sign, sign) for sign in text)
    return _MINUS.sub("$-$", escaped)


def _are_numbers(cells: Sequence[str]) -> bool:
    return all(_NUMBER.fullmatch(cell) for cell in cells)


def as_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Rows with the same names as a CSV file, numbers in full; what is not there is empty."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def error_note(records: Records) -> str:
    """Which error the scores are shown with: none with a single training seed."""
    unit = records.unit
    numbers = set()
    for agent in records.labels("agent"):
        numbers.add(len(np.unique(records[unit][records["agent"] == agent])))
    several = sorted(number for number in numbers if number > 1)
    if not several:
        return "A single agent each, so no error over training is shown."
    number = str(several[0]) if len(several) == 1 else f"{several[0]} to {several[-1]}"
    alone = "; a single one has none" if 1 in numbers else ""
    return f"± is the standard deviation over {number} {_UNITS[unit]}{alone}."


def scores(records: Records, title: str) -> ResultTable:
    """Partners down, agents across: the mean score, and its deviation over training seeds."""
    agents = records.labels("agent")
    summaries = {
        (agent, partner): rows.summary(unit=records.unit)
        for agent, partner, rows in records.pairs()
    }
    body = []
    bold = set()
    for number, partner in enumerate(records.labels("partner")):
        row = [summaries[agent, partner] for agent in agents]
        best = max(summary.mean for summary in row)
        body.append((partner, *map(score, row)))
        for column, summary in enumerate(row, start=1):
            if summary.mean >= best - _CLOSE and len(agents) > 1:
                bold.add((number, column))
    note = error_note(records)
    if len(agents) > 1:
        note += f" Bold is within {_CLOSE:g} of the best of its row."
    return ResultTable(title, ("partner", *agents), tuple(body), frozenset(bold), note)


def score(summary: Summary) -> str:
    """A mean with its standard deviation over training seeds, if there are several."""
    return mean_text(summary.mean, summary.seed_deviation)


def mean_text(mean: float, deviation: float | None) -> str:
    """A mean and the deviation that belongs to it, if there is one."""
    return f"{mean:.1f}" if deviation is None else f"{mean:.1f} ± {deviation:.1f}"


def details(records: Records, title: str) -> ResultTable:
    """All statistics of every pair, in both seats and in each."""
    header = (
        *("agent", "partner", "seat", "mean", "sd of seeds", "s.e. of episodes", "IQM"),
        *("95% interval", "shaped", "episodes"),
    )
    body = []
    for row in summary_rows(records):
        deviation = row["seed_deviation"]
        body.append(
            (
                row["agent"],
                row["partner"],
                "both" if row["seat"] is None else str(row["seat"]),
                f"{row['mean']:.1f}",
                "-" if deviation is None else f"{deviation:.1f}",
                f"{row['standard_error']:.1f}",
                f"{row['iqm']:.1f}",
                f"{row['low']:.1f} to {row['high']:.1f}",
                f"{row['shaped']:.1f}",
                str(row["episodes"]),
            )
        )
    note = (
        "The interval is that of the interquartile mean (IQM): episodes resampled within training "
        "seeds and seats."
    )
    return ResultTable(title, header, tuple(body), note=note)


def summary_rows(records: Records) -> list[dict[str, Any]]:
    """All statistics of every agent, partner and seat (None: both), in full."""
    rows = []
    for agent, partner, part in records.pairs():
        for seat in (None, *range(SEATS)):
            own = part if seat is None else part.where(part["seat"] == seat)
            summary = asdict(own.summary(unit=records.unit))
            shaped = float(own["agent_shaped"].mean())
            rows.append(
                {"agent": agent, "partner": partner, "seat": seat, **summary, "shaped": shaped}
            )
    return rows


def difference_rows(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """All statistics of differences between methods, in full."""
    rows = []
    for one in comparisons:
        row = {"agent": one.first, "other": one.second, "partner": one.partner}
        rows.append({**row, **asdict(one.difference), "corrected_p": one.corrected_p})
    return rows


def differences(comparisons: Sequence[Comparison], title: str) -> ResultTable:
    """How far a method is ahead of others, with interval and tests over training seeds."""
    header = ("method", "than", "partner", "ahead by", "95% interval", "p", "p, permuted", "seeds")
    body = []
    bold = set()
    for number, one in enumerate(comparisons):
        found = one.difference
        interval = "-"
        if found.low is not None and found.high is not None:
            interval = f"{found.low:+.1f} to {found.high:+.1f}"
        seeds = f"{found.seeds}" if found.paired else f"{found.seeds}, {found.other_seeds}"
        body.append(
            (
                *(one.first, one.second, one.partner),
                f"{found.mean:+.1f}",
                interval,
                p_text(one.corrected_p),
                p_text(found.permutation_p),
                seeds,
            )
        )
        if one.is_significant:
            bold.add((number, header.index("ahead by")))
    return ResultTable(title, header, tuple(body), frozenset(bold), differences_note(comparisons))


def differences_note(comparisons: Sequence[Comparison]) -> str:
    """How intervals and p-values of differences are computed."""
    if all(one.difference.low is None for one in comparisons):
        return "A single agent on a side, so there is neither interval nor test over training."
    paired = all(one.difference.paired for one in comparisons)
    test = "a paired t test" if paired else "Welch's t test"
    return (
        "Training seeds are the unit. "
        f"Interval: that of the test. p: {test}, by Holm's method over the partners; "
        "permuted: exact where seeds are few, uncorrected. Bold has p below 0.05."
    )


def p_text(p_value: float | None) -> str:
    """A p-value for a table."""
    if p_value is None:
        return "-"
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


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
