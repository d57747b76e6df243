"""Beyond the paper: how near agents come to the best response to every evaluation partner."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from cochef import methods
from cochef.evaluation import crossplay
from cochef.evaluation.tables import ResultTable
from cochef.experiments import best_responses
from cochef.experiments.best_responses import ReturnBound, TrainBestResponse
from cochef.experiments.jobs import Job
from cochef.experiments.presets import PRESETS
from cochef.kitchen.layout import Layout
from cochef.learning import reward_config
from cochef.methods.parts.method import SELF_PLAY_PPO
from cochef.reproduction import comparison
from cochef.reproduction.declared import Condition, Experiment, Goal, RunPhase, Setting, Stored
from cochef.reproduction.origin import ResultOrigin, together
from cochef.reproduction.page import Page
from cochef.reproduction.scores import Score, cell

KIND = "bound"
PARENTS = next(
    Condition(method.name)
    for method in methods.every()
    if method.pool is None and method.population.algorithm == SELF_PLAY_PPO
)
"""Best responses begin as the agents of plain self-play, which have the task reward."""
SEEDS = 2
SHARE = 0.25  # of the second stage's steps: a single partner is learned sooner than a pool
_LEVEL = 0.05  # of all checks in a layout together


def partners(layout: Layout, preset: str) -> list[str]:
    """The partners of a layout with a bound; presets for tests have a script and a human model."""
    every = crossplay.unseen_partners(layout)
    if PRESETS[preset].scale != "tiny":
        return every
    return list(dict.fromkeys([every[0], every[-1]]))


def bounds(setting: Setting) -> Iterator[Goal]:
    """Best responses to all partners, and the evaluations of all methods with them."""
    preset = PRESETS[setting.preset]
    second_stage = preset.second_stage.training
    parents = setting.jobs(PARENTS)["agents"]
    for partner in partners(setting.layout, setting.preset):
        train = TrainBestResponse(
            layout=setting.layout,
            partner=partner,
            rewards=reward_config.shipped(setting.layout),
            training=second_stage.lasting(round(SHARE * second_stage.total_steps)),
            seeds=SEEDS,
            episodes=max(2, preset.episodes),
            seed=setting.seed,
        )
        label = f"{partner.replace(':', '-')}-{setting.layout.name}"
        yield Goal(partner, Job(train, label, {"parents": parents}), (PARENTS.method,))
    yield from comparison.EVALUATIONS(setting)


@dataclass(frozen=True)
class StoredBound:
    """The bound of a partner, and where it is from."""

    bound: ReturnBound
    origin: ResultOrigin


@dataclass(frozen=True)
class BoundCheck:
    """Whether an agent is better with a partner than the best response to it."""

    method: str
    partner: str
    population: int
    agent: int
    lead: float
    error: float
    """The standard error of the lead, over episodes."""

    def is_beyond(self, checks: int) -> bool:
        """Whether it is better by more than noise, with so many checks together."""
        limit = float(stats.norm.ppf(1 - _LEVEL / checks))
        return self.lead > limit * self.error


def show(stored: Stored) -> Page:
    """A table of proximities for each layout, and who beats a bound."""
    page = Page()
    page.say(
        "Best-response proximity: the mean task return of an episode with a partner, divided by "
        "that of a best response, which was trained with this partner alone. Best responses are "
        "never agents of a comparison: they begin as self-play policies, have the network of "
        f"adaptive agents and {SHARE:.0%} of their steps, and the better of {SEEDS} training seeds "
        "in training is measured in new episodes. A best response that training missed makes a "
        "proximity above 1 possible; who beats a bound by more than noise is named below a table."
    )
    shares: dict[str, list[float]] = {}
    for layout in stored.layouts:
        found = _bounds(stored, layout)
        if not found:
            page.say_not_run(layout)
            continue
        page.table(f"proximity-{layout}", _table(stored, layout, found))
        for one in found:
            by_method = _shares(stored, layout, one.bound)
            if len(by_method) == len(methods.names()):
                for method, share in by_method.items():
                    shares.setdefault(method, []).append(share)
        checks = list(_checks(stored, layout, [one.bound for one in found]))
        page.say(f"{_verdict(checks)}{_origin(stored, layout, found).marks}")
    means = {method: float(np.mean(every)) for method, every in shares.items()}
    best = sorted(means, key=means.__getitem__, reverse=True)
    if best:
        page.finding = "Mean proximity to best responses: " + ", ".join(
            f"{method} {means[method]:.2f}" for method in best
        )
    return page


def _shares(stored: Stored, layout: str, bound: ReturnBound) -> dict[str, float]:
    """The share of a bound that each method reaches, if there is one above 0."""
    scores = {
        method: score.mean
        for method in methods.names()
        if (score := stored.scores.score(method, layout, bound.partner))
    }
    return {method: mean / bound.mean for method, mean in scores.items() if bound.mean > 0}


def _bounds(stored: Stored, layout: str) -> list[StoredBound]:
    """The bounds of all partners in a layout, each of one training."""
    kept = [one for one in stored.results.wanted if one.kind == KIND and one.layout == layout]
    found = []
    for partner in dict.fromkeys(one.condition for one in kept):
        first, *_ = stored.results.select(KIND, partner, layout)
        bound = best_responses.parse(first.json(best_responses.RESULT))
        found.append(StoredBound(bound, stored.results.origin([first])))
    return found


def _origin(stored: Stored, layout: str, found: Sequence[StoredBound]) -> ResultOrigin:
    """Where bounds are from, and all evaluations that are compared with them."""
    evaluations = [
        result
        for method in methods.names()
        for result in stored.results.select("evaluation", method, layout)
    ]
    return together([*(one.origin for one in found), stored.results.origin(evaluations)])


def _table(stored: Stored, layout: str, found: Sequence[StoredBound]) -> ResultTable:
    rows = []
    for one in found:
        bound = one.bound
        cells = []
        for method in methods.names():
            score = stored.scores.score(method, layout, bound.partner)
            cells.append(_proximity(score, one))
        best = f"{bound.mean:.1f} ({bound.episodes}){one.origin.marks}"
        rows.append((bound.partner, best, *cells))
    header = ("partner", "best response (episodes)", *methods.names())
    return ResultTable(f"{layout}: return as a share of the best response's", header, tuple(rows))


def _proximity(score: Score | None, found: StoredBound) -> str:
    if score is None:
        return cell(score)
    best = found.bound.mean
    if best <= 0:
        return "-"
    means = {seed: mean / best for seed, mean in score.by_population.items()}
    origin = together([score.origin, found.origin])
    return cell(replace(score, by_population=means, origin=origin), 2)


def _checks(stored: Stored, layout: str, found: Sequence[ReturnBound]) -> Iterator[BoundCheck]:
    """Every agent of every method with every bound."""
    for bound in found:
        for method in methods.names():
            for population, agent, scores in stored.scores.agents(method, layout, bound.partner):
                own = float(scores.var(ddof=1)) / len(scores) if len(scores) > 1 else 0.0
                yield BoundCheck(
                    method,
                    bound.partner,
                    population,
                    agent,
                    float(scores.mean()) - bound.mean,
                    float(np.sqrt(own + bound.error**2)),
                )


def _verdict(checks: Sequence[BoundCheck]) -> str:
    if not checks:
        return "No agents are evaluated with these partners yet."
    beyond = [check for check in checks if check.is_beyond(len(checks))]
    with_whom = f"Of {len(checks)} pairs of an agent and a partner,"
    if not beyond:
        return f"{with_whom} none is above its bound by more than noise (p < {_LEVEL} in all)."
    named = [
        f"{one.method} {one.population}/{one.agent} with {one.partner} "
        f"({one.lead:+.1f} ± {one.error:.1f})"
        for one in beyond
    ]
    return (
        f"{with_whom} {len(beyond)} are above the bound by more than noise (p < {_LEVEL} in all); "
        f"their best responses were not found: {'; '.join(named)}."
    )


PROXIMITY = Experiment(
    name="best-response-proximity",
    title="How near agents come to best responses",
    paper=(),
    goals=bounds,
    show=show,
    populations=False,
    phase=RunPhase.TRAINING,
)
