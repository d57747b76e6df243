"""Effects that a study should not have: of letters and of order, on rankings and on scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from cochef.kitchen.constants import SEATS
from cochef.web.analysis import Columns
from cochef.web.records import Phase
from cochef.web.schema import GAMES
from cochef.web.store import StudyStore


@dataclass(frozen=True)
class RankEffect:
    """Mean ranks by something that should not matter, with Friedman's test."""

    of: str
    means: Mapping[str, float]
    people: int
    p_value: float  # not a number with too few people


@dataclass(frozen=True)
class ScoreTrend:
    """How scores change from game to game, by agent, after person, agent and seat."""

    slopes: Mapping[str, float]  # points a game
    errors: Mapping[str, float]
    p_any: float  # of no trend at all
    p_different: float  # of one trend for all agents, which comparisons of agents assume
    games: int


def rank_effects(store: StudyStore, people: Sequence[int], ranks: np.ndarray) -> list[RankEffect]:
    """The effects of letters, and of the order in which partners were met first, on ranks.

    `ranks` are [people, agents] in the study's order.
    """
    agents = store.study.agents
    wanted = dict(zip(people, ranks.tolist(), strict=True))
    plans = {one.number: one.plan for one in store.participants() if one.number in wanted}
    by_letter = []
    by_meeting = []
    first_met = _first_meetings(store)
    for number, plan in plans.items():
        own = dict(zip(agents, wanted[number], strict=True))
        by_letter.append([own[partner.agent] for partner in plan.partners])
        met = first_met.get(number, [])
        if len(met) == len(agents):
            by_meeting.append([own[agent] for agent in met])
    letters = [partner.label for plan in list(plans.values())[:1] for partner in plan.partners]
    places = [f"met {n + 1}." for n in range(len(agents))]
    return [
        _rank_effect("letter", letters, by_letter),
        _rank_effect("order of first meeting", places, by_meeting),
    ]


def _first_meetings(store: StudyStore) -> dict[int, list[str]]:
    """The agents in the order in which each participant met them in the warm-up."""
    met: dict[int, dict[str, None]] = {}
    for game in store.games(GAMES.c.phase == Phase.WARMUP):
        met.setdefault(game.start.participant, {}).setdefault(game.start.agent)
    return {number: list(agents) for number, agents in met.items()}


def _rank_effect(of: str, names: Sequence[str], ranks: Sequence[Sequence[int]]) -> RankEffect:
    table = np.array(ranks, float).reshape(-1, len(names))
    p_value = float("nan")
    if len(table) > 1 and len(names) > 2:
        p_value = float(stats.friedmanchisquare(*table.T).pvalue)
    means = table.mean(axis=0) if len(table) else np.full(len(names), np.nan)
    named = {name: float(mean) for name, mean in zip(names, means, strict=True)}
    return RankEffect(of, named, len(table), p_value)


def score_trend(agents: Sequence[str], games: Columns) -> ScoreTrend | None:
    """How scores change with the position of a game; None where the games cannot tell."""
    cells = []
    for layout in sorted(set(games["layout"].tolist())):
        for agent in agents:
            for seat in range(SEATS):
                here = (games["layout"] == layout) & (games["agent"] == agent)
                cells.append(here & (games["seat"] == seat))
    people = [games["participant"] == person for person in np.unique(games["participant"])]
    positions = games["number"] - games["number"].mean()
    slopes = [positions * (games["agent"] == agent) for agent in agents]
    design = np.stack([*slopes, *cells, *people], axis=1).astype(float)
    rank = np.linalg.matrix_rank(design)
    without = np.linalg.matrix_rank(design[:, len(agents) :])
    if rank < without + len(agents) or len(design) <= rank:
        return None
    scores = games["score"].astype(float)
    # Constants of people and of cells overlap; the slopes are unique all the same.
    inverse = np.linalg.pinv(design.T @ design)
    params = inverse @ (design.T @ scores)
    freedom = int(len(design) - rank)
    variance = ((scores - design @ params) ** 2).sum() / freedom
    return _trend(agents, params, inverse * variance, freedom, len(design))


def _trend(
    agents: Sequence[str], params: np.ndarray, covariance: np.ndarray, freedom: int, games: int
) -> ScoreTrend:
    size = len(agents)
    slopes = params[:size]
    spread = covariance[:size, :size]
    differences = np.eye(size)[1:] - np.eye(size)[0]
    errors = np.sqrt(np.diag(spread))
    return ScoreTrend(
        slopes={agent: float(slope) for agent, slope in zip(agents, slopes, strict=True)},
        errors={agent: float(error) for agent, error in zip(agents, errors, strict=True)},
        p_any=_wald(np.eye(size), slopes, spread, freedom),
        p_different=_wald(differences, slopes, spread, freedom),
        games=games,
    )


def _wald(rows: np.ndarray, values: np.ndarray, covariance: np.ndarray, freedom: int) -> float:
    """The p-value of all these combinations being 0, by an F-test."""
    found = rows @ values
    spread = rows @ covariance @ rows.T
    if np.linalg.matrix_rank(spread) != len(rows):
        return float("nan")
    statistic = found @ np.linalg.solve(spread, found) / len(rows)
    return float(stats.f.sf(statistic, len(rows), freedom))
