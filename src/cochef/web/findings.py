"""What came out of a study, in one sentence with its statistic."""

from collections.abc import Sequence

from cochef.evaluation.comparisons import SIGNIFICANT
from cochef.evaluation.tables import p_text
from cochef.web.analysis import ALL, ScoreFit
from cochef.web.preference_model import WorthContrast


def main_finding(worths: Sequence[WorthContrast], fits: Sequence[ScoreFit]) -> str:
    """Whom people rank first and how sure that is; without rankings, who scores most."""
    everywhere = [one for one in worths if one.layout == ALL]
    if everywhere:
        return _preferred(everywhere)
    # The last fit is that of all layouts.
    if fits and fits[-1].contrasts:
        return _scored(fits[-1])
    return "Nobody has ranked two agents or played with two in both seats, so nothing is compared."


def _preferred(pairs: Sequence[WorthContrast]) -> str:
    agents = list(dict.fromkeys(name for one in pairs for name in (one.agent, one.other)))
    above = {(one.agent, one.other): one.probability for one in pairs}
    above |= {(one.other, one.agent): 1 - one.probability for one in pairs}

    def chances(agent: str) -> float:
        return sum(above[agent, other] for other in agents if other != agent)

    first, second, *_ = sorted(agents, key=chances, reverse=True)
    (pair,) = (one for one in pairs if {one.agent, one.other} == {first, second})
    low, high = pair.low, pair.high
    if pair.agent != first:
        low, high = 1 - high, 1 - low
    return (
        f"People rank {first} first and prefer it to {second}, the next, with probability "
        f"{above[first, second]:.2f} (95% interval {low:.2f} to {high:.2f}, "
        f"{_p(pair.corrected)}, {pair.people} people){_doubt(pair.corrected)}."
    )


def _scored(fit: ScoreFit) -> str:
    means = {one.agent: one.mean for one in fit.estimates if one.seat is None}
    first, second, *_ = sorted(means, key=means.__getitem__, reverse=True)
    (pair,) = (one for one in fit.contrasts if {one.agent, one.other} == {first, second})
    sign = 1 if pair.agent == first else -1
    low, high = sorted((sign * pair.low, sign * pair.high))
    return (
        f"With people {first} scores most, {sign * pair.difference:.1f} more than {second}, the "
        f"next (95% interval {low:+.1f} to {high:+.1f}, {_p(pair.corrected)}, "
        f"{fit.people} people){_doubt(pair.corrected)}."
    )


def _p(corrected: float) -> str:
    return f"p = {p_text(corrected)} by Holm's method".replace("= <", "< ")


def _doubt(corrected: float) -> str:
    return "" if corrected < SIGNIFICANT else ", which chance alone may explain"
