"""Preferences by a Plackett-Luce model.

Every agent has a worth. People choose the agent that they rank first with a probability in
proportion to its worth, then the second among the others in the same way, and so on. Unlike
N_A/N - N_B/N, which looks at one pair at a time, one model explains whole rankings.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from cochef.evaluation.statistics import holm

# A normal prior of the logarithms of worths keeps them finite where all people agree. Its
# deviation of 3 allows one agent to be ranked above another in 99 of 100 cases.
PRIOR_DEVIATION = 3.0
_STEPS = 50  # of Newton's method; it needs about six
_CLOSE = 1e-10
_Z = float(stats.norm.ppf(0.975))


@dataclass(frozen=True)
class WorthFit:
    """Estimated logarithms of worths, which sum to 0, with their covariance."""

    worths: np.ndarray
    covariance: np.ndarray
    people: int


@dataclass(frozen=True)
class WorthContrast:
    """The probability that people rank one agent above another, by the model."""

    layout: str
    agent: str
    other: str
    probability: float
    low: float  # 95% interval
    high: float
    p_value: float  # two-sided, of equal worths
    corrected: float  # for all pairs of this fit, by Holm's method
    people: int


def fit(ranks: np.ndarray) -> WorthFit:
    """Fit worths to ranks [people, agents], 1 for the best, by Newton's method."""
    order = np.argsort(ranks, axis=1)
    agents = ranks.shape[1]
    prior = np.eye(agents) / PRIOR_DEVIATION**2
    worths = np.zeros(agents)
    information = prior
    for _ in range(_STEPS):
        gradient, information = _derivatives(order, worths)
        information = information + prior
        step = np.linalg.solve(information, gradient - prior @ worths)
        worths = worths + step
        if np.abs(step).max() < _CLOSE:
            break
    return WorthFit(worths - worths.mean(), np.linalg.inv(information), len(ranks))


def _derivatives(order: np.ndarray, worths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of the log-likelihood, and its negative second derivatives."""
    people, agents = order.shape
    gradient = np.zeros(agents)
    information = np.zeros((agents, agents))
    for place in range(agents - 1):
        left = order[:, place:]
        chosen = np.zeros((people, agents))
        np.put_along_axis(chosen, left, special.softmax(worths[left], axis=1), axis=1)
        gradient += np.bincount(order[:, place], minlength=agents) - chosen.sum(axis=0)
        information += np.diag(chosen.sum(axis=0)) - chosen.T @ chosen
    return gradient, information


def contrasts(layout: str, agents: Sequence[str], found: WorthFit) -> list[WorthContrast]:
    """Every agent against each of those after it."""
    pairs = list(itertools.combinations(range(len(agents)), 2))
    differences = np.array([found.worths[one] - found.worths[two] for one, two in pairs])
    errors = np.sqrt([_variance(found.covariance, one, two) for one, two in pairs])
    p_values = 2 * stats.norm.sf(np.abs(differences) / errors)
    corrected = holm(p_values.tolist())
    return [
        WorthContrast(
            layout=layout,
            agent=agents[one],
            other=agents[two],
            probability=float(special.expit(differences[number])),
            low=float(special.expit(differences[number] - _Z * errors[number])),
            high=float(special.expit(differences[number] + _Z * errors[number])),
            p_value=float(p_values[number]),
            corrected=float(corrected[number]),
            people=found.people,
        )
        for number, (one, two) in enumerate(pairs)
    ]


def _variance(covariance: np.ndarray, one: int, two: int) -> float:
    return float(covariance[one, one] + covariance[two, two] - 2 * covariance[one, two])


def draw_ranks(worths: np.ndarray, people: int, generator: np.random.Generator) -> np.ndarray:
    """Ranks [people, agents] drawn from the model."""
    # Adding Gumbel noise to the logarithms of worths and sorting gives just this distribution.
    drawn = worths + generator.gumbel(size=(people, len(worths)))
    return np.argsort(np.argsort(-drawn, axis=1), axis=1) + 1
