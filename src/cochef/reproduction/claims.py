"""Claims of the paper, each with a statistic over populations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from cochef.reproduction.scores import Score

LEVEL = 0.95
_MARGIN = 5.0  # of the paper's tables: means this close count as comparable


@dataclass(frozen=True)
class Claim:
    """What the paper claims, whether it is so here, and by which statistic."""

    text: str
    verdict: str
    statistic: str


AGREES = "holds"
DISAGREES = "does not hold"
OPEN = "open"


@dataclass(frozen=True)
class PopulationLead:
    """How far one is ahead of another: the mean over populations, and what is known of it."""

    mean: float
    populations: int
    low: float | None = None
    high: float | None = None
    p_value: float | None = None

    @property
    def text(self) -> str:
        """The lead with its interval and test."""
        if self.low is None or self.high is None or self.p_value is None:
            several = "s that do not differ" if self.populations > 1 else ""
            return f"{self.mean:+.2f}, {self.populations} population{several}: no test"
        return (
            f"{self.mean:+.2f}, 95% interval {self.low:+.2f} to {self.high:+.2f}, "
            f"p = {self.p_value:.3f}, {self.populations} populations"
        )


def lead(ahead: Mapping[int, float], other: Mapping[int, float]) -> PopulationLead | None:
    """The lead over populations that both have, paired by their seed; None if there are none."""
    seeds = sorted(set(ahead) & set(other))
    if not seeds:
        return None
    differences = np.array([ahead[seed] - other[seed] for seed in seeds])
    mean = float(differences.mean())
    if len(seeds) < 2 or np.ptp(differences) == 0:
        return PopulationLead(mean, len(seeds))
    freedom = len(seeds) - 1
    error = float(differences.std(ddof=1)) / len(seeds) ** 0.5
    width = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * error
    p_value = 2 * float(stats.t.sf(abs(mean) / error, freedom))
    return PopulationLead(mean, len(seeds), mean - width, mean + width, p_value)


def averaged(scores: Sequence[Score | None]) -> dict[int, float]:
    """The mean over some scores of every population that all of them have."""
    found = [score.by_population for score in scores if score is not None]
    if not found or len(found) < len(scores):
        return {}
    seeds = set.intersection(*(set(one) for one in found))
    return {seed: float(np.mean([one[seed] for one in found])) for seed in sorted(seeds)}


def ahead(text: str, found: PopulationLead | None) -> Claim:
    """The claim that something is ahead: it holds if the interval is above 0."""
    if found is None:
        return Claim(text, OPEN, "not run")
    if found.low is None or found.high is None:
        return Claim(text, OPEN, found.text)
    verdict = AGREES if found.low > 0 else DISAGREES if found.high < 0 else OPEN
    return Claim(text, verdict, found.text)


def not_below(text: str, found: PopulationLead | None, margin: float = _MARGIN) -> Claim:
    """The claim that something is not below another by more than a margin."""
    if found is None:
        return Claim(text, OPEN, "not run")
    if found.low is None or found.high is None:
        return Claim(text, OPEN, found.text)
    verdict = AGREES if found.low > -margin else DISAGREES if found.high < -margin else OPEN
    return Claim(text, verdict, f"{found.text} (margin {margin:g})")
