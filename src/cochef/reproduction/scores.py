"""Scores of stored evaluations: agents of a population are averaged, populations are the unit."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from cochef.reproduction.stored import Results, StoredResult

Published = tuple[float, float | None]  # mean and standard deviation, if the paper gives one
_TEXT = ("agent", "partner")


@dataclass(frozen=True)
class Score:
    """A mean over populations, with the mean of each."""

    by_population: Mapping[int, float]
    """By seed."""
    agents: int
    """Agents of each population."""
    episodes: int
    """Episodes in all."""
    is_current: bool = True
    """Whether this program would run it so now."""

    @property
    def mean(self) -> float:
        """The mean over populations."""
        return float(np.mean(list(self.by_population.values())))

    @property
    def deviation(self) -> float | None:
        """The standard deviation over populations; None with a single one."""
        values = list(self.by_population.values())
        return float(np.std(values, ddof=1)) if len(values) > 1 else None

    @property
    def populations(self) -> int:
        """How many populations there are."""
        return len(self.by_population)

    def text(self, digits: int = 1) -> str:
        """The mean, its deviation, and the number of populations; a dagger if not current."""
        mark = "" if self.is_current else " †"
        return f"{number_text((self.mean, self.deviation), digits)} ({self.populations}){mark}"


def number_text(number: Published, digits: int = 1) -> str:
    """A mean, with its deviation if there is one."""
    mean, deviation = number
    spread = "" if deviation is None else f" ± {deviation:.{digits}f}"
    return f"{mean:.{digits}f}{spread}"


@dataclass(frozen=True)
class Entry:
    """What a table says in one place: ours, and the paper's."""

    layout: str
    partner: str
    seat: int | None
    """The agent's; None for both."""
    condition: str
    score: Score | None
    published: Published | None = None

    @property
    def difference(self) -> float | None:
        """Our mean minus the paper's."""
        if self.score is None or self.published is None:
            return None
        return self.score.mean - self.published[0]

    def text(self) -> str:
        """Ours, the paper's and the difference."""
        parts = ["not run" if self.score is None else self.score.text()]
        if self.published is not None:
            parts.append(f"paper {number_text(self.published)}")
        if self.difference is not None:
            parts.append(f"{self.difference:+.1f}")
        return ", ".join(parts)


@dataclass(frozen=True)
class ScoreReader:
    """Reads scores from stored evaluations."""

    results: Results

    def partners(self, condition: str, layout: str) -> list[str]:
        """Whom the agents of a condition were evaluated with."""
        found = self.results.select("evaluation", condition, layout)
        return list(dict.fromkeys(_columns(found[0])["partner"].tolist())) if found else []

    def score(
        self,
        condition: str,
        layout: str,
        partner: str,
        seat: int | None = None,
        column: str = "score",
    ) -> Score | None:
        """The mean of a column with a partner; None if there is no such evaluation."""
        found = self.results.select("evaluation", condition, layout)
        means = {}
        episodes = 0
        for result in found:
            columns = _columns(result)
            own = columns["partner"] == partner
            if seat is not None:
                own &= columns["seat"] == seat
            if own.any() and column in columns:
                means[result.seed] = float(columns[column][own].mean())
                episodes += int(own.sum())
        if not means:
            return None
        current = all(self.results.is_current(result) for result in found)
        return Score(means, found[0].agents, episodes, current)


@cache
def _columns(result: StoredResult) -> dict[str, np.ndarray]:
    header, *rows = csv.reader(io.StringIO(result.read("episodes.csv").decode(), newline=""))
    columns = zip(*rows, strict=True)
    return {
        name: np.array(column) if name in _TEXT else np.array(column, float)
        for name, column in zip(header, columns, strict=True)
    }


def tidy(entries: Sequence[Entry]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Header and rows for a file: every number in a column of its own, unrounded."""
    header = (
        *("layout", "partner", "seat", "condition", "mean", "deviation", "populations"),
        *("agents", "episodes", "by_population", "is_current"),
        *("paper_mean", "paper_deviation", "difference"),
    )
    rows = []
    for entry in entries:
        score = entry.score
        numbers: tuple[object, ...] = ("",) * 7
        if score is not None:
            by_population = ";".join(f"{seed}:{mean}" for seed, mean in score.by_population.items())
            numbers = (
                *(score.mean, "" if score.deviation is None else score.deviation),
                *(score.populations, score.agents, score.episodes, by_population),
                score.is_current,
            )
        published = entry.published or ("", "")
        difference = "" if entry.difference is None else entry.difference
        seat = "" if entry.seat is None else entry.seat
        place = (entry.layout, entry.partner, seat, entry.condition)
        rows.append((*place, *numbers, *published, difference))
    return header, rows
