"""What a study found: preferences of people, scores with a mixed model, and what both did in the kitchen."""

import itertools
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import jax
import numpy as np
import sqlalchemy as sql
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.regression.mixed_linear_model import MixedLM

from cochef.evaluation import behaviours
from cochef.evaluation.behaviours import own_share
from cochef.evaluation.statistics import holm
from cochef.kitchen.constants import SEATS, Event
from cochef.web.records import Ended, Phase
from cochef.web.replays import kitchens, replay
from cochef.web.schema import GAMES, PARTICIPANTS, RANKINGS
from cochef.web.store import Store

ALL = "all"
_RESAMPLES = 10_000
_LEVEL = 0.95
_NOTHING = 1e-6  # a share of variance that is none
_Z = float(stats.norm.ppf((1 + _LEVEL) / 2))

Column = np.ndarray
Estimated = tuple[np.ndarray, np.ndarray, tuple[float, float], tuple[str, ...]]


@dataclass(frozen=True)
class Preference:
    """How much more often people ranked one agent above another than below: N_A/N - N_B/N."""

    layout: str
    agent: str
    other: str
    value: float
    low: float  # 95% interval, by resampling people within kitchens
    high: float
    people: int


@dataclass(frozen=True)
class Estimate:
    """An agent's mean score with people in one seat, or both (seat None), by the mixed model."""

    layout: str
    agent: str
    seat: int | None  # the participant's
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Contrast:
    """How much higher one agent scored than another."""

    layout: str
    agent: str
    other: str
    difference: float
    low: float
    high: float
    p_value: float  # two-sided
    corrected: float  # for all pairs of this kitchen, by Holm's method


@dataclass(frozen=True)
class Fit:
    """A model of the scores in one kitchen, or in all: a mean for each agent and seat, a constant for each person."""

    layout: str
    estimates: tuple[Estimate, ...]
    contrasts: tuple[Contrast, ...]
    deviation_of_people: float
    deviation_of_games: float
    games: int
    people: int
    notes: tuple[str, ...]  # what the fit complained about


def rankings(store: Store) -> tuple[np.ndarray, np.ndarray]:
    """Of everybody who ranked the agents: the kitchen [people], and the ranks [people, agents] in the study's order."""
    chosen = sql.select(PARTICIPANTS.c.number, PARTICIPANTS.c.layout, RANKINGS.c.agent, RANKINGS.c.rank)
    layouts: dict[int, str] = {}
    ranks: dict[int, dict[str, int]] = {}
    with store.reading() as connection:
        for number, layout, agent, rank in connection.execute(chosen.join(RANKINGS).order_by(PARTICIPANTS.c.number)):
            layouts[number] = layout
            ranks.setdefault(number, {})[agent] = rank
    table = [[own[agent] for agent in store.study.agents] for own in ranks.values()]
    return np.array(list(layouts.values())), np.array(table, int).reshape(-1, len(store.study.agents))


def preferences(agents: Sequence[str], layouts: np.ndarray, ranks: np.ndarray, seed: int = 0) -> list[Preference]:
    """Every agent against every other, in each kitchen and over all."""
    generator = np.random.default_rng(seed)
    above = np.sign(ranks[:, None, :] - ranks[:, :, None]).astype(float)  # [people, agent, other]
    found = []
    names = sorted(set(layouts.tolist()))
    for layout in (*names, ALL):
        strata = [np.flatnonzero(layouts == one) for one in names if layout in (one, ALL)]
        chosen = np.concatenate(strata)
        drawn = np.concatenate([generator.choice(some, (_RESAMPLES, len(some))) for some in strata], axis=1)
        for one, two in itertools.permutations(range(len(agents)), 2):
            pair = above[:, one, two]
            low, high = np.quantile(pair[drawn].mean(axis=1), [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
            value = float(pair[chosen].mean())
            found.append(Preference(layout, agents[one], agents[two], value, float(low), float(high), len(chosen)))
    return found


def game_columns(store: Store) -> dict[str, Column]:
    """A row for every complete game that counts: who, where, the score, and what both did (seen by replaying it)."""
    complete = (GAMES.c.phase == Phase.GAME) & (GAMES.c.ended == Ended.COMPLETE)
    known, rows = kitchens(store), []
    for game, seen in replay(store, list(store.games(complete))):
        layout = known[game.configuration, game.start.layout]
        row = {"game": game.number, "score": game.score, "replayed_score": float(seen.tally.reward.sum())}
        row |= {name: getattr(game.start, name) for name in ("participant", "layout", "agent", "seat", "number")}
        row["ticks"] = len(game.actions)
        counted = behaviours.counts(layout, jax.tree.map(lambda leaf: leaf[None], seen))
        counted |= {event.label: seen.tally.events[None, :, event] for event in Event}
        for who, seat in (("human", game.start.seat), ("agent", SEATS - 1 - game.start.seat)):
            row |= {f"{who}_{name}": int(column[0, seat]) for name, column in counted.items()}
        rows.append(row)
    rows.sort(key=lambda row: row["game"])
    return {name: np.array([row[name] for row in rows]) for name in (rows[0] if rows else ())}


def fits(agents: Sequence[str], games: dict[str, Column]) -> list[Fit]:
    """The model in each kitchen, and in all with a constant for each; of agents that were met in both seats."""
    found = []
    names = sorted(set(games["layout"].tolist()))
    for layout in (*names, ALL) if len(names) > 1 else names:
        here = (games["layout"] == layout) | (layout == ALL)
        met = [agent for agent in agents if len(set(games["seat"][here & (games["agent"] == agent)])) == SEATS]
        here &= np.isin(games["agent"], met)
        if met:
            found.append(_fit(layout, met, {name: column[here] for name, column in games.items()}))
    return found


def _fit(layout: str, agents: Sequence[str], games: dict[str, Column]) -> Fit:
    cells = [(agent, seat) for agent in agents for seat in range(SEATS)]
    columns = [(games["agent"] == agent) & (games["seat"] == seat) for agent, seat in cells]
    names = sorted(set(games["layout"].tolist()))
    last = games["layout"] == names[-1]  # kitchens deviate from their common mean by constants that sum to 0
    columns += [(games["layout"] == name).astype(float) - last for name in names[:-1]]
    design, scores = np.stack(columns, axis=1).astype(float), games["score"].astype(float)
    means, spread, deviations, notes = _estimate(design, scores, games["participant"])
    size = len(cells)
    means, spread = means[:size], spread[:size, :size]
    estimates = []
    for number, agent in enumerate(agents):
        for seat in (0, 1, None):
            seats = [0, 1] if seat is None else [seat]
            weights = np.zeros(size)
            weights[[SEATS * number + one for one in seats]] = 1 / len(seats)
            estimates.append(Estimate(layout, agent, seat, *_interval(weights, means, spread)[:3]))
    contrasts = tuple(_contrasts(layout, agents, means, spread))
    people = len(set(games["participant"].tolist()))
    return Fit(layout, tuple(estimates), contrasts, *deviations, len(scores), people, notes)


def _estimate(design: np.ndarray, scores: np.ndarray, people: np.ndarray) -> Estimated:
    """Means, their covariance, the deviations of people and games, and complaints."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say about the fit is noted below
        try:
            # A search without gradients gets along with people who do not differ at all, where others end in an error.
            found = MixedLM(scores, design, people).fit(reml=True, method="powell")
        except (np.linalg.LinAlgError, ValueError, ZeroDivisionError) as error:
            return _without_people(design, scores, str(error))
    variance, noise = float(np.asarray(found.cov_re)[0, 0]), float(found.scale)
    if not noise > 0:
        return _without_people(design, scores, "the scores leave no variance to explain")
    notes = () if found.converged else ("the fit did not converge",)
    if variance < _NOTHING * noise:
        notes += ("people do not differ beyond what chance explains",)
    spread = _covariance(design, people, variance / noise) * noise
    return np.asarray(found.fe_params), spread, (math.sqrt(variance), math.sqrt(noise)), notes


def _covariance(design: np.ndarray, people: np.ndarray, ratio: float) -> np.ndarray:
    """Of the means, by generalised least squares, in units of the variance of games; people's is `ratio` of it."""
    information = design.T @ design
    for one in np.unique(people):
        total, games = design[people == one].sum(axis=0), (people == one).sum()
        information -= np.outer(total, total) * ratio / (1 + games * ratio)
    return np.linalg.inv(information)


def _without_people(design: np.ndarray, scores: np.ndarray, problem: str) -> Estimated:
    """The same by least squares, where no mixed model can be had."""
    reason = f"no mixed model could be fitted ({problem}); people are taken as alike"
    if len(scores) <= design.shape[1]:
        spread = np.full((design.shape[1],) * 2, np.nan)
        return np.linalg.lstsq(design, scores, rcond=None)[0], spread, (0.0, 0.0), (reason, "too few games for errors")
    plain = OLS(scores, design).fit()
    return np.asarray(plain.params), np.asarray(plain.cov_params()), (0.0, float(np.sqrt(plain.scale))), (reason,)


def _interval(weights: np.ndarray, means: np.ndarray, spread: np.ndarray) -> tuple[float, float, float, float]:
    """A weighted mean, its 95% interval, and its standard error."""
    value, error = float(weights @ means), float(np.sqrt(np.maximum(weights @ spread @ weights, 0.0)))
    return value, value - _Z * error, value + _Z * error, error


def _contrasts(layout: str, agents: Sequence[str], means: np.ndarray, spread: np.ndarray) -> Iterator[Contrast]:
    pairs = [(one, two) for one in range(len(agents)) for two in range(one + 1, len(agents))]
    found = []
    for one, two in pairs:
        weights = np.zeros(len(means))
        weights[SEATS * one : SEATS * one + SEATS], weights[SEATS * two : SEATS * two + SEATS] = 0.5, -0.5
        value, low, high, error = _interval(weights, means, spread)
        found.append((value, low, high, float(2 * stats.norm.sf(abs(value) / error)) if error > 0 else 1.0))
    corrected = holm([p_value for *_, p_value in found])
    for (one, two), (value, low, high, p_value), last in zip(pairs, found, corrected, strict=True):
        yield Contrast(layout, agents[one], agents[two], value, low, high, p_value, float(last))


def shares(games: dict[str, Column], event: Event) -> Column:
    """The participant's share of what both did in each game; not a number where nobody did it."""
    both = np.stack([games[f"human_{event.label}"], games[f"agent_{event.label}"]], axis=1).astype(float)
    return own_share(both)[:, 0]
