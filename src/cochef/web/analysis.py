"""What a study found: people's preferences, scores by a mixed model, and behaviours."""

import itertools
import math
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
import sqlalchemy as sql
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.regression.mixed_linear_model import MixedLM

from cochef.evaluation import behaviours
from cochef.evaluation.behaviours import EpisodeBehaviour, own_share
from cochef.evaluation.statistics import holm
from cochef.kitchen.constants import SEATS
from cochef.kitchen.events import Event
from cochef.kitchen.layout import Layout
from cochef.web import exclusions, preference_model
from cochef.web.preference_model import WorthContrast
from cochef.web.records import GameEnd, Phase, StoredGame
from cochef.web.replays import measure, stored_layouts
from cochef.web.schema import GAMES, PARTICIPANTS, RANKINGS
from cochef.web.store import StudyStore

ALL = "all"
_RESAMPLES = 10_000
_LEVEL = 0.95
_NOTHING = 1e-6  # a share of variance that counts as none
_Z = float(stats.norm.ppf((1 + _LEVEL) / 2))

Columns = dict[str, np.ndarray]  # a table of games by the names of its columns


@dataclass(frozen=True)
class RankingPreference:
    """How much more often people ranked one agent above another than below: N_A/N - N_B/N."""

    layout: str
    agent: str
    other: str
    value: float
    low: float  # 95% interval, by resampling people within layouts
    high: float
    people: int


@dataclass(frozen=True)
class ScoreEstimate:
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
    corrected: float  # for all pairs on this layout, by Holm's method


@dataclass(frozen=True)
class ScoreFit:
    """A mixed model of the scores on one layout, or on all.

    It has a mean for each agent and seat, and a random constant for each person.
    """

    layout: str
    estimates: tuple[ScoreEstimate, ...]
    contrasts: tuple[Contrast, ...]
    deviation_of_people: float
    deviation_of_games: float
    games: int
    people: int
    notes: tuple[str, ...]  # what the fit complained about


class _Means(NamedTuple):
    """Estimated means of the columns of a design matrix."""

    means: np.ndarray
    covariance: np.ndarray
    deviation_of_people: float
    deviation_of_games: float
    notes: tuple[str, ...]


class _Interval(NamedTuple):
    """A weighted mean, its 95% interval, and its standard error."""

    value: float
    low: float
    high: float
    error: float


@dataclass(frozen=True, eq=False)
class Rankings:
    """Who ranked the agents, where, and how."""

    people: np.ndarray  # numbers
    layouts: np.ndarray
    ranks: np.ndarray  # [people, agents], in the study's order

    def without(self, people: Collection[int]) -> "Rankings":
        """The rankings of all others."""
        kept = ~np.isin(self.people, list(people))
        return Rankings(self.people[kept], self.layouts[kept], self.ranks[kept])


def rankings(store: StudyStore) -> Rankings:
    """The rankings of everybody who gave one."""
    chosen = sql.select(
        PARTICIPANTS.c.number, PARTICIPANTS.c.layout, RANKINGS.c.agent, RANKINGS.c.rank
    )
    chosen = chosen.join(RANKINGS).order_by(PARTICIPANTS.c.number)
    layouts: dict[int, str] = {}
    ranks: dict[int, dict[str, int]] = {}
    with store.reading() as connection:
        for number, layout, agent, rank in connection.execute(chosen):
            layouts[number] = layout
            ranks.setdefault(number, {})[agent] = rank
    agents = store.study.agents
    table = np.array([own[agent] for own in ranks.values() for agent in agents], int)
    return Rankings(
        people=np.array(list(layouts), int),
        layouts=np.array(list(layouts.values()), str),
        ranks=table.reshape(-1, len(agents)),
    )


def worths(agents: Sequence[str], found: Rankings) -> list[WorthContrast]:
    """Every pair of agents by a Plackett-Luce model, on each layout and over all."""
    names = sorted(set(found.layouts.tolist()))
    contrasts = []
    for layout in (*names, ALL):
        here = (found.layouts == layout) | (layout == ALL)
        model = preference_model.fit(found.ranks[here])
        contrasts += preference_model.contrasts(layout, agents, model)
    return contrasts


def preferences(agents: Sequence[str], found: Rankings, seed: int = 0) -> list[RankingPreference]:
    """Every agent against every other, on each layout and over all."""
    layouts = found.layouts
    ranks = found.ranks
    generator = np.random.default_rng(seed)
    above = np.sign(ranks[:, None, :] - ranks[:, :, None]).astype(float)  # [people, agent, other]
    preferred = []
    names = sorted(set(layouts.tolist()))
    for layout in (*names, ALL):
        strata = [np.flatnonzero(layouts == name) for name in names if layout in (name, ALL)]
        chosen = np.concatenate(strata)
        resampled = [generator.choice(people, (_RESAMPLES, len(people))) for people in strata]
        drawn = np.concatenate(resampled, axis=1)
        for one, two in itertools.permutations(range(len(agents)), 2):
            pair = above[:, one, two]
            tails = [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2]
            low, high = np.quantile(pair[drawn].mean(axis=1), tails)
            preferred.append(
                RankingPreference(
                    layout=layout,
                    agent=agents[one],
                    other=agents[two],
                    value=float(pair[chosen].mean()),
                    low=float(low),
                    high=float(high),
                    people=len(chosen),
                )
            )
    return preferred


def game_columns(store: StudyStore) -> Columns:
    """A row for every complete game that counts: who, where, the score, and what both did.

    `excluded` names the rule of the study that leaves the game out of the analysis, if any. What a
    layout does not have, such as a middle pot, is not a number there.
    """
    complete = (GAMES.c.phase == Phase.GAME) & (GAMES.c.ended == GameEnd.COMPLETE)
    known = stored_layouts(store)
    rows = [
        _game_row(known[game.configuration, game.start.layout], game, behaviour)
        for game, behaviour in measure(store, list(store.games(complete)))
    ]
    rows.sort(key=lambda row: row["game"])
    exclusions.leave_out(store.study.exclusions, rows)
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        columns[name] = np.array([row.get(name, math.nan) for row in rows])
    return columns


def kept(games: Columns) -> Columns:
    """The games that no rule leaves out."""
    here = games["excluded"] == "" if games else np.zeros(0, bool)
    return {name: column[here] for name, column in games.items()} if here.any() else {}


def people_left_out(store: StudyStore, games: Columns, people: Iterable[int]) -> set[int]:
    """The people among these whom the rules leave out with their rankings."""
    left = Counter(kept(games).get("participant", np.zeros(0, int)).tolist())
    least = store.study.exclusions.games_least or 0
    return {person for person in people if left[person] < least}


def _game_row(layout: Layout, game: StoredGame, behaviour: EpisodeBehaviour) -> dict[str, Any]:
    start = game.start
    counted = behaviours.counts(layout, jax.tree.map(lambda leaf: leaf[None], behaviour))
    counted |= {event.label: behaviour.totals.events[None, :, event] for event in Event}
    row = {
        "game": game.number,
        "score": game.score,
        "replayed_score": float(behaviour.totals.reward.sum()),
        "participant": start.participant,
        "layout": start.layout,
        "agent": start.agent,
        "seat": start.seat,
        "number": start.number,
        "ticks": len(game.actions),
        **asdict(exclusions.quality(game)),
    }
    for who, seat in (("human", start.seat), ("agent", SEATS - 1 - start.seat)):
        row |= {f"{who}_{name}": int(column[0, seat]) for name, column in counted.items()}
    return row


def fits(agents: Sequence[str], games: Columns) -> list[ScoreFit]:
    """The model on each layout and on all, of agents that were met in both seats."""
    found = []
    names = sorted(set(games["layout"].tolist()))
    for layout in (*names, ALL) if len(names) > 1 else names:
        here = (games["layout"] == layout) | (layout == ALL)
        met = []
        for agent in agents:
            seats = games["seat"][here & (games["agent"] == agent)]
            if len(set(seats)) == SEATS:
                met.append(agent)
        here &= np.isin(games["agent"], met)
        if met:
            found.append(_fit(layout, met, {name: column[here] for name, column in games.items()}))
    return found


def _fit(layout: str, agents: Sequence[str], games: Columns) -> ScoreFit:
    columns = [
        (games["agent"] == agent) & (games["seat"] == seat)
        for agent in agents
        for seat in range(SEATS)
    ]
    size = len(columns)
    names = sorted(set(games["layout"].tolist()))
    # Layouts deviate from their common mean by constants that sum to 0.
    last = games["layout"] == names[-1]
    columns += [(games["layout"] == name).astype(float) - last for name in names[:-1]]
    design = np.stack(columns, axis=1).astype(float)
    scores = games["score"].astype(float)
    found = _estimate(design, scores, games["participant"])
    means = found.means[:size]
    covariance = found.covariance[:size, :size]
    estimates = []
    for number, agent in enumerate(agents):
        for seat in (0, 1, None):
            seats = [0, 1] if seat is None else [seat]
            weights = np.zeros(size)
            weights[[SEATS * number + one for one in seats]] = 1 / len(seats)
            interval = _interval(weights, means, covariance)
            estimates.append(
                ScoreEstimate(layout, agent, seat, interval.value, interval.low, interval.high)
            )
    return ScoreFit(
        layout=layout,
        estimates=tuple(estimates),
        contrasts=tuple(_contrasts(layout, agents, means, covariance)),
        deviation_of_people=found.deviation_of_people,
        deviation_of_games=found.deviation_of_games,
        games=len(scores),
        people=len(set(games["participant"].tolist())),
        notes=found.notes,
    )


def _estimate(design: np.ndarray, scores: np.ndarray, people: np.ndarray) -> _Means:
    """Fit the mixed model by restricted maximum likelihood."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say about the fit is noted below
        try:
            # A search without gradients gets along with people who do not differ at all, where
            # others end in an error.
            fit = MixedLM(scores, design, people).fit(reml=True, method="powell")
        except (np.linalg.LinAlgError, ValueError, ZeroDivisionError) as error:
            return _without_people(design, scores, str(error))
    variance = float(np.asarray(fit.cov_re)[0, 0])
    noise = float(fit.scale)
    if not noise > 0:
        return _without_people(design, scores, "the scores leave no variance to explain")
    notes = () if fit.converged else ("the fit did not converge",)
    if variance < _NOTHING * noise:
        notes += ("people do not differ beyond what chance explains",)
    return _Means(
        means=np.asarray(fit.fe_params),
        covariance=_covariance(design, people, variance / noise) * noise,
        deviation_of_people=math.sqrt(variance),
        deviation_of_games=math.sqrt(noise),
        notes=notes,
    )


def _covariance(design: np.ndarray, people: np.ndarray, ratio: float) -> np.ndarray:
    """The means' covariance by generalised least squares, in units of the variance of games.

    The variance of people is `ratio` of it.
    """
    information = design.T @ design
    for person in np.unique(people):
        own = design[people == person]
        total = own.sum(axis=0)
        information -= np.outer(total, total) * ratio / (1 + len(own) * ratio)
    return np.linalg.inv(information)


def _without_people(design: np.ndarray, scores: np.ndarray, problem: str) -> _Means:
    """The means by least squares, where no mixed model can be had."""
    reason = f"no mixed model could be fitted ({problem}); people are taken as alike"
    columns = design.shape[1]
    if len(scores) <= columns:
        return _Means(
            means=np.linalg.lstsq(design, scores, rcond=None)[0],
            covariance=np.full((columns, columns), np.nan),
            deviation_of_people=0.0,
            deviation_of_games=0.0,
            notes=(reason, "too few games for errors"),
        )
    fit = OLS(scores, design).fit()
    return _Means(
        means=np.asarray(fit.params),
        covariance=np.asarray(fit.cov_params()),
        deviation_of_people=0.0,
        deviation_of_games=float(np.sqrt(fit.scale)),
        notes=(reason,),
    )


def _interval(weights: np.ndarray, means: np.ndarray, covariance: np.ndarray) -> _Interval:
    value = float(weights @ means)
    # Rounding can leave a variance of nothing slightly below 0.
    error = float(np.sqrt(np.maximum(weights @ covariance @ weights, 0.0)))
    return _Interval(value, value - _Z * error, value + _Z * error, error)


def _contrasts(
    layout: str, agents: Sequence[str], means: np.ndarray, covariance: np.ndarray
) -> Iterator[Contrast]:
    """Every agent against each of those after it."""
    pairs = list(itertools.combinations(range(len(agents)), 2))
    intervals = []
    for one, two in pairs:
        weights = np.zeros(len(means))
        weights[SEATS * one : SEATS * one + SEATS] = 0.5
        weights[SEATS * two : SEATS * two + SEATS] = -0.5
        intervals.append(_interval(weights, means, covariance))
    p_values = [_p_value(interval) for interval in intervals]
    corrected = holm(p_values)
    for number, (one, two) in enumerate(pairs):
        yield Contrast(
            layout=layout,
            agent=agents[one],
            other=agents[two],
            difference=intervals[number].value,
            low=intervals[number].low,
            high=intervals[number].high,
            p_value=p_values[number],
            corrected=float(corrected[number]),
        )


def _p_value(interval: _Interval) -> float:
    """Two-sided, by the normal approximation; 1 where there is no error to compare with."""
    if not interval.error > 0:
        return 1.0
    return float(2 * stats.norm.sf(abs(interval.value) / interval.error))


def shares(games: Columns, event: Event) -> np.ndarray:
    """The participant's share of an event in each game; not a number where nobody did it."""
    both = [games[f"human_{event.label}"], games[f"agent_{event.label}"]]
    return own_share(np.stack(both, axis=1).astype(float))[:, 0]
