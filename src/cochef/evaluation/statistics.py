"""Statistics of scores and event counts.

Scores of episodes say how one agent plays. Whether a method is better is a question about its
training: there, the unit is a training seed (an agent, or a whole population with its agents).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from cochef.kitchen.events import event_distances

_RESAMPLES = 2_000
_PERMUTATIONS = 10_000  # all of them if there are no more
_LEVEL = 0.95
_BLOCK = 1_000_000  # scores that are resampled at once, to bound the memory


@dataclass(frozen=True)
class Summary:
    """Statistics of the scores of many episodes."""

    mean: float
    seed_deviation: float | None  # standard deviation of the training seeds' means; None with one
    standard_error: float  # of the mean, over episodes
    iqm: float  # interquartile mean
    low: float  # its 95% interval, by stratified bootstrap
    high: float
    seeds: int
    episodes: int


def interquartile_mean(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """The mean of the middle half along an axis."""
    return np.asarray(stats.trim_mean(values, 0.25, axis=axis))


def summarise(scores: np.ndarray, seeds: np.ndarray, strata: np.ndarray, seed: int = 0) -> Summary:
    """Summarise scores of episodes, given the training seed and the stratum of each."""
    means = np.array([scores[seeds == one].mean() for one in np.unique(seeds)])
    low, high = _interval(scores, strata, seed)
    standard_error = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else 0.0
    return Summary(
        mean=float(scores.mean()),
        seed_deviation=float(means.std(ddof=1)) if len(means) > 1 else None,
        standard_error=float(standard_error),
        iqm=float(interquartile_mean(scores)),
        low=low,
        high=high,
        seeds=len(means),
        episodes=len(scores),
    )


def _interval(scores: np.ndarray, strata: np.ndarray, seed: int) -> tuple[float, float]:
    """Resample within strata, so that every seed and seat keeps its weight."""
    generator = np.random.default_rng(seed)
    groups = [scores[strata == one] for one in np.unique(strata)]
    estimates: list[float] = []
    while len(estimates) < _RESAMPLES:
        block = min(_RESAMPLES - len(estimates), max(1, _BLOCK // len(scores)))
        resampled = [
            group[generator.integers(len(group), size=(block, len(group)))] for group in groups
        ]
        means = interquartile_mean(np.concatenate(resampled, axis=1), axis=1)
        estimates.extend(means.tolist())
    low, high = np.quantile(estimates, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(low), float(high)


@dataclass(frozen=True)
class Difference:
    """How far one method's mean is above another's, with training seeds as the unit."""

    mean: float
    low: float | None  # its 95% interval, that of the t test; None with one seed
    high: float | None
    t_p: float | None  # of the t test, paired or Welch's; None without spread
    permutation_p: float | None  # by exchanging the methods' seeds
    paired: bool
    seeds: int
    other_seeds: int


def difference(
    first: Mapping[int, float], second: Mapping[int, float], *, paired: bool = True
) -> Difference:
    """Compare the means of two methods, each given by training seed.

    Paired means seed by seed, if both have the same seeds: what follows from a seed, such as a
    population that both share, is then the same for both. The interval belongs to the t test: a
    bootstrap of three seeds would only know the smallest and the largest of them.
    """
    paired = paired and set(first) == set(second)
    own = np.array([first[seed] for seed in sorted(first)], float)
    other = np.array([second[seed] for seed in sorted(second)], float)
    mean = float(own.mean() - other.mean())
    if min(len(own), len(other)) < 2:
        return Difference(mean, None, None, None, None, paired, len(own), len(other))
    groups = [own - other] if paired else [own, -other]
    test = _t_test(groups)
    return Difference(
        mean=mean,
        low=test.low,
        high=test.high,
        t_p=test.p_value,
        permutation_p=_permutation_test(own, other, paired=paired),
        paired=paired,
        seeds=len(own),
        other_seeds=len(other),
    )


class _TTest(NamedTuple):
    """A two-sided t test, and the interval that belongs to it."""

    low: float
    high: float
    p_value: float | None  # None without any spread


def _t_test(groups: Sequence[np.ndarray]) -> _TTest:
    """Whether the sum of the groups' means is 0."""
    if not any(np.ptp(group) > 0 for group in groups):
        mean = float(sum(group.mean() for group in groups))
        return _TTest(mean, mean, 1.0 if mean == 0 else None)
    if len(groups) == 1:
        found: Any = stats.ttest_1samp(groups[0], 0.0)
    else:
        own, negated = groups
        found = stats.ttest_ind(own, -negated, equal_var=False)
    interval = found.confidence_interval(_LEVEL)
    return _TTest(float(interval.low), float(interval.high), float(found.pvalue))


def _permutation_test(own: np.ndarray, other: np.ndarray, *, paired: bool) -> float:
    """The two-sided p-value if the methods' names were exchangeable, exact with few seeds."""
    found = stats.permutation_test(
        (own, other),
        _difference_of_means,
        permutation_type="samples" if paired else "independent",
        n_resamples=_PERMUTATIONS,
        rng=np.random.default_rng(0),
    )
    return float(found.pvalue)


def _difference_of_means(first: np.ndarray, second: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.asarray(np.mean(first, axis=axis) - np.mean(second, axis=axis))


def event_difference(counts: np.ndarray) -> np.ndarray:
    """Each policy's event distance to the most similar one, by event counts [policies, events]."""
    distances = event_distances(counts)
    np.fill_diagonal(distances, np.inf)
    return distances.min(axis=1)


def holm(p_values: Sequence[float]) -> np.ndarray:
    """P-values corrected for multiple tests by Holm's method."""
    values = np.asarray(p_values, float)
    order = np.argsort(values, kind="stable")
    factors = len(values) - np.arange(len(values))
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return corrected
