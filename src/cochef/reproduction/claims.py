"""Claims of the paper, each with a statistic over populations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from cochef.evaluation.comparisons import mean_by_seed
from cochef.evaluation.statistics import holm
from cochef.reproduction.origin import (
    CURRENT,
    OTHER_CONFIGURATION,
    SEVERAL_COMMITS,
    ResultOrigin,
    together,
)
from cochef.reproduction.scores import NOT_RUN, Score

MARGIN = 5.0  # of the paper's tables: means this close count as comparable
LEVEL = 0.05
LEAST_POPULATIONS = 3  # of a test: two differ in one way alone

AGREES = "holds"
DISAGREES = "does not hold"
OPEN = "open"

SCRIPTED = "HSP is ahead of every baseline with scripted partners"
MODELS_OF_2019 = "HSP is not below the baselines with human models of 2019"
OUR_MODELS = "HSP is not below the baselines with our own human models"
MEP_HELPS = "MEP's policies in the pool help in counter_circuit"
FILTER_HELPS = "the filter helps in coordination_ring and counter_circuit"
LARGE_BATCHES = "more parallel environments help"
UNLIKE = "scripted policies are unlike those of the pool"
SAMPLING = "prioritised sampling does not help MEP"
POOL_SIZE = "larger pools do not help the baselines"
TOPICS = (
    SCRIPTED,
    MODELS_OF_2019,
    OUR_MODELS,
    MEP_HELPS,
    FILTER_HELPS,
    LARGE_BATCHES,
    UNLIKE,
    SAMPLING,
    POOL_SIZE,
)
"""All claims of the paper that are tested; our own human models are beyond the paper."""

# Leads that differ by less are rounding of the same number: without spread there is no test.
_NO_SPREAD = 1e-9

NOT_COMPARABLE = f"{OTHER_CONFIGURATION} not of one current configuration"

NO_COMMON = "no population in common"
NOT_COMPARED = (NOT_RUN, NO_COMMON)
"""Statistics of cases in which nothing could be compared."""

Leads = Mapping[int, float]  # by population


@dataclass(frozen=True)
class PopulationMeans:
    """A number of every population, and where they are from."""

    by_population: Mapping[int, float]
    """By seed; nothing if it was not run."""
    origin: ResultOrigin = CURRENT
    missing: str = NOT_RUN
    """Why there is none, where there is none."""


@dataclass(frozen=True)
class Claim:
    """One case of what the paper claims, whether it is so here, and by which statistic."""

    topic: str
    """The claim of the paper."""
    text: str
    """The case: where, and compared with whom."""
    statistic: str
    tendency: str = OPEN
    """The verdict if the test is significant; open where nothing can be tested."""
    p: float | None = None
    """Of the test that decides; None where nothing can be tested."""
    corrected_p: float | None = None
    """The same by Holm's correction for all tested cases of the topic."""
    origin: ResultOrigin = CURRENT

    @property
    def verdict(self) -> str:
        """Whether it is so here, by the corrected p-value; open until it is known."""
        is_significant = self.corrected_p is not None and self.corrected_p < LEVEL
        return self.tendency if is_significant else OPEN

    @property
    def p_text(self) -> str:
        """The p-value, and the corrected one."""
        if self.p is None:
            return "-"
        corrected = "" if self.corrected_p is None else f" ({self.corrected_p:.3f})"
        return f"{self.p:.3f}{corrected}"

    @property
    def sentence(self) -> str:
        """The case with its statistic, in a line."""
        p = "" if self.p is None else f", p = {self.p_text}"
        mark = "" if self.origin.is_of_one_commit else f" {SEVERAL_COMMITS}"
        return f"{self.text}: {self.statistic}{p}{mark}"


@dataclass(frozen=True)
class LeadTest:
    """A mean lead, and a two-sided t test of it against a value."""

    mean: float
    populations: int
    """Of the layout with fewest."""
    layouts: int
    low: float | None = None
    """The 95% interval of the mean; None where nothing can be tested."""
    high: float | None = None
    p: float | None = None
    freedom: float | None = None
    """Degrees of freedom."""


def lead(ahead: PopulationMeans, other: PopulationMeans) -> PopulationMeans:
    """The lead of every population that both have."""
    ours, theirs = ahead.by_population, other.by_population
    leads = {seed: ours[seed] - theirs[seed] for seed in sorted(set(ours) & set(theirs))}
    missing = NO_COMMON if ours and theirs else NOT_RUN
    return PopulationMeans(leads, together([ahead.origin, other.origin]), missing)


def averaged(scores: Sequence[Score | None]) -> PopulationMeans:
    """The mean over some scores of every population that all of them have."""
    found = [score for score in scores if score is not None]
    if not found or len(found) < len(scores):
        return PopulationMeans({})
    means = mean_by_seed([score.by_population for score in found])
    return PopulationMeans(means, together(score.origin for score in found))


def lead_test(layouts: Sequence[Leads], against: float = 0.0) -> LeadTest | None:
    """Test the mean over layouts of the mean lead in each; None if a layout has no lead.

    Every layout is a stratum with its own variance, and weighs the same. The degrees of freedom
    are Welch and Satterthwaite's; with one layout it is the paired t test.
    """
    if not layouts or not all(layouts):
        return None
    samples = [np.array(list(leads.values()), float) for leads in layouts]
    mean = float(np.mean([sample.mean() for sample in samples]))
    sizes = np.array([len(sample) for sample in samples])
    found = LeadTest(mean, int(sizes.min()), len(samples))
    if found.populations < LEAST_POPULATIONS:
        return found
    variances = np.array([sample.var(ddof=1) for sample in samples]) / sizes / len(samples) ** 2
    error = float(np.sqrt(variances.sum()))
    if error < _NO_SPREAD:
        return found
    freedom = float(variances.sum() ** 2 / (variances**2 / (sizes - 1)).sum())
    reach = float(stats.t.ppf(1 - LEVEL / 2, freedom)) * error
    p = 2 * float(stats.t.sf(abs(mean - against) / error, freedom))
    return replace(found, low=mean - reach, high=mean + reach, p=p, freedom=freedom)


def ahead(topic: str, text: str, *layouts: PopulationMeans) -> Claim:
    """The claim that something is ahead, in one layout or over several: its lead is above 0."""
    return _judged(topic, text, layouts, 0.0)


def not_below(topic: str, text: str, *layouts: PopulationMeans) -> Claim:
    """The claim that something is not below another by the margin: its lead is above -5."""
    return _judged(topic, text, layouts, -MARGIN)


def _judged(topic: str, text: str, layouts: Sequence[PopulationMeans], least: float) -> Claim:
    found = lead_test([leads.by_population for leads in layouts], least)
    if found is None:
        missing = {leads.missing for leads in layouts if not leads.by_population}
        return Claim(topic, text, NOT_RUN if NOT_RUN in missing else NO_COMMON)
    origin = together(leads.origin for leads in layouts)
    if found.low is None or found.high is None or not origin.is_current:
        return Claim(topic, text, _without_test(found, origin), origin=origin)
    several = "" if found.layouts == 1 else f" in each of {found.layouts} layouts"
    statistic = (
        f"{found.mean:+.2f}, 95% interval {found.low:+.2f} to {found.high:+.2f}, against "
        f"{least:g}, {found.populations} populations{several}, {found.freedom:.1f} degrees of "
        "freedom"
    )
    tendency = AGREES if found.mean > least else DISAGREES
    return Claim(topic, text, statistic, tendency, found.p, origin=origin)


def _without_test(found: LeadTest, origin: ResultOrigin) -> str:
    """What is seen where nothing can be tested; it decides nothing."""
    several = f"{found.populations} populations"
    if not origin.is_current:
        return NOT_COMPARABLE
    if found.populations < LEAST_POPULATIONS:
        why = f" with fewer than {LEAST_POPULATIONS}"
    else:
        several += " that do not differ"
        why = ""
    who = "one population" if found.populations == 1 else several
    return f"{who}: {found.mean:+.2f}, no test{why}"


def corrected(claims: Iterable[Claim]) -> list[Claim]:
    """The claims with p-values corrected for all tested cases of their topic."""
    found = list(claims)
    for topic in dict.fromkeys(claim.topic for claim in found):
        places = [
            number
            for number, claim in enumerate(found)
            if claim.topic == topic and claim.p is not None
        ]
        p_values = [claim.p for claim in found if claim.topic == topic and claim.p is not None]
        for number, p in zip(places, holm(p_values), strict=True):
            found[number] = replace(found[number], corrected_p=float(p))
    return found
