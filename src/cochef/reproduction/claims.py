"""Claims of the paper, each with a statistic over populations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cochef.evaluation.statistics import Difference, difference
from cochef.reproduction.scores import Score

MARGIN = 5.0  # of the paper's tables: means this close count as comparable

AGREES = "holds"
DISAGREES = "does not hold"
OPEN = "open"

SCRIPTED = "HSP is ahead of every baseline with scripted partners"
HUMAN_MODELS = "HSP is not below the baselines with human models"
POOL = "MEP's policies and the filter help"
LARGE_BATCHES = "more parallel environments help"
UNLIKE = "scripted policies are unlike those of the pool"
SAMPLING = "prioritised sampling does not help MEP"
POOL_SIZE = "larger pools do not help the baselines"
TOPICS = (SCRIPTED, HUMAN_MODELS, POOL, LARGE_BATCHES, UNLIKE, SAMPLING, POOL_SIZE)
"""All claims of the paper that are tested."""


@dataclass(frozen=True)
class Claim:
    """One case of what the paper claims, whether it is so here, and by which statistic."""

    topic: str
    """The claim of the paper."""
    text: str
    """The case: where, and compared with whom."""
    verdict: str
    statistic: str


def lead(ahead: Mapping[int, float], other: Mapping[int, float]) -> Difference | None:
    """The lead over populations that both have, paired by their seed; None if there are none."""
    seeds = sorted(set(ahead) & set(other))
    if not seeds:
        return None
    return difference({seed: ahead[seed] for seed in seeds}, {seed: other[seed] for seed in seeds})


def averaged(scores: Sequence[Score | None]) -> dict[int, float]:
    """The mean over some scores of every population that all of them have."""
    found = [score.by_population for score in scores if score is not None]
    if not found or len(found) < len(scores):
        return {}
    seeds = set.intersection(*(set(one) for one in found))
    return {seed: float(np.mean([one[seed] for one in found])) for seed in sorted(seeds)}


def ahead(topic: str, text: str, found: Difference | None) -> Claim:
    """The claim that something is ahead: it holds if the interval is above 0."""
    return _judged(topic, text, found, 0.0)


def not_below(topic: str, text: str, found: Difference | None, margin: float = MARGIN) -> Claim:
    """The claim that something is not below another by more than a margin."""
    return _judged(topic, text, found, margin)


def _judged(topic: str, text: str, found: Difference | None, margin: float) -> Claim:
    if found is None:
        return Claim(topic, text, OPEN, "not run")
    if found.low is None or found.high is None or found.t_p is None:
        return Claim(topic, text, OPEN, _without_test(found))
    verdict = AGREES if found.low > -margin else DISAGREES if found.high < -margin else OPEN
    statistic = (
        f"{found.mean:+.2f}, 95% interval {found.low:+.2f} to {found.high:+.2f}, "
        f"p = {found.t_p:.3f}, {found.seeds} populations"
    )
    return Claim(topic, text, verdict, f"{statistic} (margin {margin:g})" if margin else statistic)


def _without_test(found: Difference) -> str:
    """What is seen where nothing can be tested; it decides nothing."""
    if found.seeds == 1:
        return f"one population: {found.mean:+.2f}, no test"
    return f"{found.seeds} populations that do not differ: {found.mean:+.2f}, no test"
