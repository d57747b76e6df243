"""Do biased policies do what they are rewarded for? Event counts against hidden weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import stats

from cochef.agents import storage
from cochef.agents.agent import Agent
from cochef.agents.names import load
from cochef.errors import InputError
from cochef.evaluation.statistics import holm
from cochef.kitchen import layouts
from cochef.kitchen.constants import SEATS
from cochef.kitchen.events import Event
from cochef.kitchen.layout import Layout
from cochef.kitchen.metrics import EpisodeTotals
from cochef.learning import runs
from cochef.learning.reward_config import ORDER
from cochef.rollout import Matchup, play_episodes

EPISODES = 100
BIASED, PARTNER = (f"-{learner}" for learner in runs.LEARNERS)  # endings of the agents' names
NAMES = (*(event.label for event in Event), ORDER)  # of all that may have a weight


@dataclass(frozen=True)
class Preference:
    """How an event's count moves with its weight over a population; for orders, the task return."""

    event: str
    weights: tuple[float, ...]  # those that were drawn
    means: tuple[float, ...]  # the mean count among the policies with each of them
    correlation: float  # Spearman's
    partial: float  # the same with the influence of all other weights taken out
    p_value: float  # of the correlation, one-sided: the count grows with the weight
    partial_p_value: float
    corrected: float  # p-values for all events of the population, by Holm's method
    partial_corrected: float


class BiasedPairs(NamedTuple):
    """The biased policies of a finished run with their partners."""

    layout: Layout
    agents: list[tuple[Agent, Agent]]
    weights: Float[np.ndarray, "pairs names"]  # of the hidden rewards, by `NAMES`


@dataclass(frozen=True)
class PairCounts:
    """What the first of each pair does with the second in an episode, mean over both seats."""

    events: Float[np.ndarray, "pairs events"]
    task_return: Float[np.ndarray, " pairs"]

    @property
    def by_name(self) -> Float[np.ndarray, "pairs names"]:
        """By `NAMES`: events, and the task return for orders."""
        return np.column_stack([self.events, self.task_return])


def read_pairs(directory: Path, layout: Layout | None = None) -> BiasedPairs:
    """The biased policies of a finished run of HSP's first stage."""
    found = (directory / runs.AGENTS).glob(f"[0-9]*{BIASED}{storage.SUFFIX}")
    paths = sorted(found, key=lambda path: int(path.name.partition("-")[0]))
    if not paths:
        why = "no biased policies in it" if directory.exists() else "not there"
        raise InputError(f"{directory}: {why}; {_GIVE}")
    layout = layout or layouts.get(storage.read(paths[0])[0].layout)
    pairs = []
    weights = np.zeros((len(paths), len(NAMES)), np.float32)
    for number, path in enumerate(paths):
        partner = path.with_name(path.name.replace(BIASED, PARTNER))
        pairs.append((load(str(path), layout), load(str(partner), layout)))
        hidden_reward = storage.read(path)[0].metadata.get("hidden_reward")
        if not isinstance(hidden_reward, dict):
            raise InputError(f"{path}: does not say its hidden reward; {_GIVE}")
        weights[number] = [float(hidden_reward.get(name, 0.0)) for name in NAMES]
    return BiasedPairs(layout, pairs, weights)


_GIVE = "give the directory of a finished `cochef train hsp`"


def event_counts(
    layout: Layout, pairs: Sequence[tuple[Agent, Agent]], seed: int, episodes: int = EPISODES
) -> PairCounts:
    """Let each pair play sampled episodes in both seatings; a row depends on its pair alone."""
    matchups = (Matchup(0, 1, episodes), Matchup(1, 0, episodes))
    keys = jax.random.split(jax.random.key(seed), len(pairs))
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *pairs)
    play = jax.vmap(lambda pair, key: play_episodes(layout, pair, matchups, key))
    totals: EpisodeTotals = play(stacked, keys)

    def of_first(leaf: Array) -> np.ndarray:
        by_seating = np.asarray(leaf).reshape(len(pairs), SEATS, episodes, *leaf.shape[2:])
        means = by_seating.mean(axis=2)
        # In the second seating the first of the pair sits in seat 1.
        return (means[:, 0] + means[:, 1, ::-1]) / SEATS

    totals = jax.tree.map(of_first, totals)
    return PairCounts(np.asarray(totals.events[:, 0], float), np.asarray(totals.score, float))


def preferences(weights: np.ndarray, counts: np.ndarray) -> list[Preference]:
    """For all that weighs differently among the policies ([policies, names] both), how its count follows."""
    if weights.shape != counts.shape or len(weights) < 3:
        raise InputError(
            f"weights {list(weights.shape)} and counts {list(counts.shape)}; both take the same [policies, names], "
            "of at least 3 policies"
        )
    columns = [number for number in range(len(NAMES)) if np.ptp(weights[:, number])]
    plain = [_spearman(weights[:, column], counts[:, column]) for column in columns]
    partial = [
        _partial(weights[:, columns], counts[:, column], number)
        for number, column in enumerate(columns)
    ]
    corrected = [holm([p_value for _, p_value in some]) for some in (plain, partial)]
    found = []
    for number, column in enumerate(columns):
        values = np.unique(weights[:, column])
        means = tuple(float(counts[weights[:, column] == value, column].mean()) for value in values)
        (one, p_one), (two, p_two) = plain[number], partial[number]
        last = [float(some[number]) for some in corrected]
        found.append(
            Preference(
                NAMES[column],
                tuple(map(float, values)),
                means,
                one,
                two,
                p_one,
                p_two,
                last[0],
                last[1],
            )
        )
    return found


def _spearman(weights: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    """Spearman's correlation and its one-sided p-value; counts that are all the same follow nothing."""
    if np.ptp(counts) == 0:
        return 0.0, 1.0
    result: Any = stats.spearmanr(weights, counts, alternative="greater")
    return float(result.statistic), float(result.pvalue)


def _partial(weights: np.ndarray, counts: np.ndarray, number: int) -> tuple[float, float]:
    """Spearman's partial correlation of the counts and one column of weights, given the others."""
    freedom = len(counts) - weights.shape[1] - 1
    if np.ptp(counts) == 0 or freedom < 1:
        return 0.0, 1.0
    ranks = stats.rankdata(weights, axis=0)
    others = np.column_stack([np.ones(len(counts)), np.delete(ranks, number, axis=1)])
    both = np.column_stack([ranks[:, number], stats.rankdata(counts)])
    left = both - others @ np.linalg.lstsq(others, both, rcond=None)[0]
    correlation = float(
        np.clip(
            (left[:, 0] @ left[:, 1]) / np.sqrt((left**2).sum(axis=0).prod()), -1 + 1e-12, 1 - 1e-12
        )
    )
    statistic = correlation * np.sqrt(freedom / (1 - correlation**2))
    return correlation, float(stats.t.sf(statistic, freedom))
