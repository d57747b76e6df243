"""Scores of stored evaluations: agents of a population are averaged, populations are the unit."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from cochef.reproduction.origin import CURRENT, ResultOrigin
from cochef.reproduction.stored import Results, StoredResult

Published = tuple[float, float | None]  # mean and standard deviation, if the paper gives one
CLOSE = 5.0  # a mean this close to the best of its row is bold, as in the paper

EpisodeChoice = Callable[[Mapping[str, np.ndarray]], np.ndarray]
"""Which episodes are chosen, by the columns of an evaluation."""

NOT_RUN = "not run"

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
    origin: ResultOrigin = CURRENT

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

    @property
    def population_text(self) -> str:
        """The mean of every population by its seed, unrounded."""
        return ";".join(f"{seed}:{mean}" for seed, mean in self.by_population.items())

    def text(self, digits: int = 1) -> str:
        """The mean, its deviation, the number of populations, and marks of where it is from."""
        number = number_text((self.mean, self.deviation), digits)
        return f"{number} ({self.populations}){self.origin.marks}"


def cell(score: Score | None, digits: int = 1) -> str:
    """A score as a table shows it, also one that is not there."""
    return NOT_RUN if score is None else score.text(digits)


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
    is_papers_alone: bool = False
    """Whether nothing of ours is to be compared, such as earlier results that the paper cites."""

    @property
    def difference(self) -> float | None:
        """Our mean minus the paper's."""
        if self.score is None or self.published is None:
            return None
        return self.score.mean - self.published[0]

    def ours(self) -> str:
        """Our mean, its deviation, and the number of populations."""
        if self.is_papers_alone:
            return "-"
        return cell(self.score)

    def papers(self) -> str:
        """The paper's mean and deviation."""
        return "-" if self.published is None else number_text(self.published)

    def apart(self) -> str:
        """Our mean minus the paper's."""
        return "-" if self.difference is None else f"{self.difference:+.1f}"


def near_best(row: Iterable[Entry]) -> frozenset[str]:
    """The conditions of a row whose means are as good as the best.

    Only what this program would run now is compared; there are none where that is fewer than two.
    """
    means = {
        entry.condition: entry.score.mean
        for entry in row
        if entry.score is not None and entry.score.origin.is_current
    }
    if len(means) < 2:
        return frozenset()
    return frozenset(name for name, mean in means.items() if mean >= max(means.values()) - CLOSE)


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
        among: EpisodeChoice | None = None,
    ) -> Score | None:
        """The mean of a column with a partner, perhaps among chosen episodes.

        None if there is no such evaluation, or no such episode.
        """
        found = self.results.select("evaluation", condition, layout)
        means = {}
        episodes = 0
        for result in found:
            columns = _columns(result)
            own = columns["partner"] == partner
            if seat is not None:
                own &= columns["seat"] == seat
            if among is not None:
                own &= among(columns)
            if own.any() and column in columns:
                means[result.seed] = float(columns[column][own].mean())
                episodes += int(own.sum())
        return self.of(found, means, episodes)

    def of(
        self,
        results: Sequence[StoredResult],
        means: Mapping[int, float],
        episodes: int = 0,
        agents: int | None = None,
    ) -> Score | None:
        """A score from the means of some results by population; None if there are none.

        `agents` are those of each population that were measured, all of them if None.
        """
        if not means:
            return None
        return Score(
            by_population=means,
            agents=results[0].agents if agents is None else agents,
            episodes=episodes,
            origin=self.results.origin(results),
        )

    def agents(
        self, condition: str, layout: str, partner: str
    ) -> Iterator[tuple[int, int, np.ndarray]]:
        """Population, number and scores of every agent with a partner."""
        for result in self.results.select("evaluation", condition, layout):
            columns = _columns(result)
            own = columns["partner"] == partner
            for number in np.unique(columns["agent_seed"][own]):
                scores = columns["score"][own & (columns["agent_seed"] == number)]
                yield result.seed, int(number), scores


@cache
def _columns(result: StoredResult) -> dict[str, np.ndarray]:
    header, *rows = csv.reader(io.StringIO(result.read("episodes.csv").decode(), newline=""))
    columns = zip(*rows, strict=True)
    return {
        name: np.array(column) if name in _TEXT else np.array(column, float)
        for name, column in zip(header, columns, strict=True)
    }


def tidy(entries: Sequence[Entry]) -> list[dict[str, object]]:
    """Rows for a file: every number in a column of its own, unrounded; empty if not there."""
    rows = []
    for entry in entries:
        score = entry.score
        published = entry.published or (None, None)
        by_population = "" if score is None else score.population_text
        rows.append(
            {
                "layout": entry.layout,
                "partner": entry.partner,
                "seat": entry.seat,
                "condition": entry.condition,
                "mean": None if score is None else score.mean,
                "deviation": None if score is None else score.deviation,
                "populations": None if score is None else score.populations,
                "agents": None if score is None else score.agents,
                "episodes": None if score is None else score.episodes,
                "by_population": by_population,
                "is_current": None if score is None else score.origin.is_current,
                "is_of_one_commit": None if score is None else score.origin.is_of_one_commit,
                "paper_mean": published[0],
                "paper_deviation": published[1],
                "difference": entry.difference,
            }
        )
    return rows
