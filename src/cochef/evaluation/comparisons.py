"""Differences between methods: with every partner and over all, training seeds as the unit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cochef.evaluation.records import Records
from cochef.evaluation.statistics import Difference, difference, holm

ALL_PARTNERS = "all partners"
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Comparison:
    """A method's mean score minus another's with a partner, or with all of them."""

    first: str
    second: str
    partner: str
    difference: Difference
    corrected_p: float | None  # of the t test, by Holm over the partners; as it is for all partners

    @property
    def is_significant(self) -> bool:
        """Whether chance alone hardly explains the difference."""
        return self.corrected_p is not None and self.corrected_p < SIGNIFICANT


def compare(records: Records, first: str, second: str) -> list[Comparison]:
    """Compare two methods over all partners, then with each of those that both played with."""
    means = seed_means(records, first)
    others = seed_means(records, second)
    # The first agents of two methods have nothing in common but their number.
    paired = records.unit == "population_seed"
    shared = [partner for partner in means if partner in others]
    found = {
        partner: difference(means[partner], others[partner], paired=paired) for partner in shared
    }
    corrected = _corrected([found[partner].t_p for partner in shared])
    rows = [
        Comparison(first, second, partner, found[partner], p_value)
        for partner, p_value in zip(shared, corrected, strict=True)
    ]
    if len(shared) > 1:
        overall = difference(
            mean_by_seed([means[partner] for partner in shared]),
            mean_by_seed([others[partner] for partner in shared]),
            paired=paired,
        )
        rows.insert(0, Comparison(first, second, ALL_PARTNERS, overall, overall.t_p))
    return rows


def compare_first(records: Records) -> list[Comparison]:
    """Compare the first method with each of the others."""
    first, *others = records.labels("agent")
    rows = []
    for other in others:
        rows += compare(records, first, other)
    return rows


SeedMeans = dict[str, dict[int, float]]  # by partner and training seed


def seed_means(records: Records, agent: str) -> SeedMeans:
    """The mean score of every training seed of a method, by partner."""
    own = records.where(records["agent"] == agent)
    found: SeedMeans = {}
    for partner in own.labels("partner"):
        rows = own.where(own["partner"] == partner)
        seeds = rows[records.unit]
        found[partner] = {
            int(seed): float(rows["score"][seeds == seed].mean()) for seed in np.unique(seeds)
        }
    return found


def mean_by_seed(parts: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """The mean over some scores by seed, all with the same weight, of the seeds that all have."""
    found = {}
    for seed in sorted(set.intersection(*map(set, parts))):
        found[seed] = float(np.mean([part[seed] for part in parts]))
    return found


def _corrected(p_values: Sequence[float | None]) -> list[float | None]:
    """P-values by Holm's method; a difference without a test keeps none."""
    tested = [value for value in p_values if value is not None]
    corrected = iter(holm(tested).tolist())
    return [None if value is None else next(corrected) for value in p_values]
