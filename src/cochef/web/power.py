"""How many participants a study needs, by simulating studies from the games of a rehearsal.

A simulated study draws people of the rehearsal with all their games, so that people and games
vary as they did there. What agents differ by is taken away and replaced by a supposed difference.
Rankings are not those of the rehearsal: they are drawn from the Plackett-Luce model.
Scores are tested as the report does: where everybody plays each agent in each seat equally often,
the mixed model's test of a difference needs the variance of games within people only.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from cochef.errors import InputError
from cochef.evaluation.statistics import holm
from cochef.kitchen.constants import SEATS
from cochef.validation import number, whole_number
from cochef.web import preference_model
from cochef.web.analysis import Columns

_LEVEL = 0.05
_MOST_SIMULATIONS = 100_000
_MOST_PEOPLE = 10_000


@dataclass(frozen=True)
class Suppositions:
    """What is supposed about the first agent, and how often it is simulated."""

    difference: float  # how much higher it scores, as a share of the mean score
    above: float  # the probability that a person ranks it above another agent
    simulations: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be simulated."""
        number(self.difference, "difference", 0.0, 100.0)
        number(self.above, "above", 0.5, 0.999)
        whole_number(self.simulations, "simulations", 10, _MOST_SIMULATIONS)
        whole_number(self.seed, "seed", 0)


@dataclass(frozen=True)
class StudyPower:
    """The share of simulated studies that find a difference, if there is one and if not."""

    people: int  # on each layout
    scores: float
    rankings: float
    false_scores: float  # any pair of agents found different, though all are alike
    false_rankings: float


def study_power(
    agents: Sequence[str], games: Columns, people: Sequence[int], supposed: Suppositions
) -> list[StudyPower]:
    """The power with each number of people on each layout; `games` are those that are kept."""
    for size in people:
        whole_number(size, "people", 2, _MOST_PEOPLE)
    rehearsed = deviations(agents, games)
    points = supposed.difference * float(games["score"].astype(float).mean())
    worth = float(special.logit(supposed.above))
    generator = np.random.default_rng(supposed.seed)
    found = []
    for size in people:
        shares = {}
        for name, gain, lead in (("found", points, worth), ("false", 0.0, 0.0)):
            scores = [
                score_tests(_draw(rehearsed, size, gain, generator))
                for _ in range(supposed.simulations)
            ]
            ranked = [
                _ranking_tests(len(agents), size * len(rehearsed), lead, generator)
                for _ in range(supposed.simulations)
            ]
            shares[name] = (np.array(scores) < _LEVEL, np.array(ranked) < _LEVEL)
        first = [0 in pair for pair in _pairs(len(agents))]
        found.append(
            StudyPower(
                people=size,
                scores=float(shares["found"][0][:, first].mean()),
                rankings=float(shares["found"][1][:, first].mean()),
                false_scores=float(shares["false"][0].any(axis=1).mean()),
                false_rankings=float(shares["false"][1].any(axis=1).mean()),
            )
        )
    return found


def _pairs(agents: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(agents), 2))


def deviations(agents: Sequence[str], games: Columns) -> list[np.ndarray]:
    """Scores of all who played every game, without what agents and seats differ by.

    For each layout an array [people, agents, games with an agent].
    """
    found = []
    for layout in sorted(set(games["layout"].tolist())) if games else []:
        here = games["layout"] == layout
        rows = [
            _scores_of(agents, games, here & (games["participant"] == person))
            for person in np.unique(games["participant"][here])
        ]
        size = max((row.shape[-1] for row in rows if row is not None), default=0)
        whole = [row for row in rows if row is not None and row.shape[-1] == size]
        if len(whole) > 1:
            scores = np.stack(whole)
            found.append(_without_seats(scores).reshape(len(whole), len(agents), -1))
    if not found:
        raise InputError(
            "no two people on a layout have played all games without one that the study's rules "
            "leave out; "
            "rehearse the study first with `cochef study rehearse`"
        )
    return found


def _without_seats(scores: np.ndarray) -> np.ndarray:
    """Scores [people, agents, seats, repeats] around the mean of each agent and seat."""
    return scores - scores.mean(axis=(0, 3), keepdims=True)


def _scores_of(agents: Sequence[str], games: Columns, own: np.ndarray) -> np.ndarray | None:
    """The scores of a person [agents, seats, repeats]; None where they are not balanced."""
    cells = []
    for agent in agents:
        for seat in range(SEATS):
            cell = own & (games["agent"] == agent) & (games["seat"] == seat)
            cells.append(games["score"][cell].astype(float))
    if len({len(cell) for cell in cells}) != 1 or not len(cells[0]):
        return None
    return np.stack(cells).reshape(len(agents), SEATS, -1)


def _draw(
    rehearsed: Sequence[np.ndarray], people: int, gain: float, generator: np.random.Generator
) -> np.ndarray:
    """The scores of a simulated study [people of all layouts, agents, games]."""
    drawn = [scores[generator.integers(len(scores), size=people)] for scores in rehearsed]
    scores = np.concatenate(drawn)
    scores[:, 0] += gain
    return scores


def score_tests(scores: np.ndarray) -> np.ndarray:
    """Corrected p-values of all pairs of agents, for scores [people, agents, games].

    They are those of the mixed model with a random constant for each person.
    """
    people, agents, games = scores.shape
    means = scores.mean(axis=(0, 2))
    rest = scores - scores.mean(axis=(1, 2), keepdims=True) - means[:, None] + means.mean()
    freedom = scores.size - people - agents + 1
    error = np.sqrt(2 * (rest**2).sum() / freedom / (people * games))
    if not error > 0:
        return np.ones(len(_pairs(agents)))
    differences = np.array([means[one] - means[two] for one, two in _pairs(agents)])
    return np.array(holm((2 * stats.norm.sf(np.abs(differences) / error)).tolist()))


def _ranking_tests(
    agents: int, people: int, lead: float, generator: np.random.Generator
) -> np.ndarray:
    """Corrected p-values of all pairs in rankings where the first agent leads."""
    worths = np.zeros(agents)
    worths[0] = lead
    ranks = preference_model.draw_ranks(worths, people, generator)
    names = [str(agent) for agent in range(agents)]
    contrasts = preference_model.contrasts("", names, preference_model.fit(ranks))
    return np.array([one.corrected for one in contrasts])
