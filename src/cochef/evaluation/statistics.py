"""Statistics of scores and event counts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from cochef.kitchen.events import event_distances

_RESAMPLES = 2_000
_LEVEL = 0.95
_BLOCK = 1_000_000  # scores that are resampled at once, to bound the memory


@dataclass(frozen=True)
class Summary:
    """Statistics of the scores of many episodes."""

    mean: float
    seed_deviation: float  # standard deviation of the training seeds' means; 0 with one seed
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
        seed_deviation=float(means.std(ddof=1)) if len(means) > 1 else 0.0,
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
