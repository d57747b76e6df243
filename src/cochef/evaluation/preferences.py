"""Do biased policies do what they like? How often they cause each event, against the weight it has for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from cochef.kitchen.constants import SEATS, Event
from cochef.kitchen.layout import Layout
from cochef.learning import runs
from cochef.learning.reward_config import ORDER
from cochef.rollout import EpisodeTotals, play_episodes

EPISODES = 100
BIASED, PARTNER = (f"-{learner}" for learner in runs.LEARNERS)  # endings of the agents' names
NAMES = (*(event.label for event in Event), ORDER)  # of what may weigh


@dataclass(frozen=True)
class Preference:
    """How an event's count moves with its weight over a population; for orders, what they bring in."""

    event: str
    weights: tuple[float, ...]  # those that were drawn
    means: tuple[float, ...]  # the mean count among the policies with each of them
    correlation: float  # Spearman's
    partial: float  # the same with the influence of all other weights taken out
    p_value: float  # of the correlation, one-sided: the count grows with the weight
    partial_p_value: float
    corrected: float  # p-values for all events of the population, by Holm's method
    partial_corrected: float


def read_pairs(
    directory: Path, layout: Layout | None = None
) -> tuple[Layout, list[tuple[Agent, Agent]], Float[np.ndarray, "pairs names"]]:
    """The kitchen of a finished HSP run, its biased policies with their partners, and their weights by `NAMES`."""
    found = (directory / runs.AGENTS).glob(f"[0-9]*{BIASED}{storage.SUFFIX}")
    paths = sorted(found, key=lambda path: int(path.name.partition("-")[0]))
    if not paths:
        why = "no biased policies in it" if directory.exists() else "not there"
        raise InputError(f"{directory}: {why}; give the directory of a finished `cochef train hsp`")
    layout = layout or layouts.get(storage.read(paths[0])[0].layout)
    pairs, weights = [], np.zeros((len(paths), len(NAMES)), np.float32)
    for number, path in enumerate(paths):
        partner = path.with_name(path.name.replace(BIASED, PARTNER))
        pairs.append(tuple(load(str(one), layout) for one in (path, partner)))
        hidden = storage.read(path)[0].about.get("hidden")
        if not isinstance(hidden, dict):
            raise InputError(f"{path}: does not say what it likes; give the directory of a finished `cochef train hsp`")
        weights[number] = [float(hidden.get(name, 0.0)) for name in NAMES]
    return layout, pairs, weights


def event_counts(layout: Layout, pairs: Sequence[tuple[Agent, Agent]], seed: int, episodes: int = EPISODES) -> EpisodeTotals:
    """What the first of each pair does with the second, summed over both seatings: means over sampled episodes.

    RewardConfig and events are [pairs, 2 roles]; a row depends on its pair and number alone.
    """
    matches = ((0, 1, episodes), (1, 0, episodes))
    keys = jax.random.split(jax.random.key(seed), len(pairs))
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *pairs)
    tally: EpisodeTotals = jax.vmap(lambda pair, key: play_episodes(layout, pair, matches, key))(stacked, keys)

    def by_role(leaf: Array) -> np.ndarray:
        seatings = np.asarray(leaf).reshape(len(pairs), SEATS, episodes, *leaf.shape[2:]).mean(axis=2)
        return seatings[:, 0] + seatings[:, 1, ::-1]

    return jax.tree.map(by_role, tally)


def done(tally: EpisodeTotals) -> Float[np.ndarray, "pairs names"]:
    """What the first of each pair did in an episode, by `NAMES`: its events, and what both earned together."""
    return np.column_stack([np.asarray(tally.events[:, 0]), np.asarray(tally.score)]) / SEATS


def preferences(weights: np.ndarray, counts: np.ndarray) -> list[Preference]:
    """For all that weighs differently among the policies ([policies, names] both), how its count follows."""
    if weights.shape != counts.shape or len(weights) < 3:
        raise InputError(
            f"weights {list(weights.shape)} and counts {list(counts.shape)}; both take the same [policies, names], "
            "of at least 3 policies"
        )
    columns = [number for number in range(len(NAMES)) if np.ptp(weights[:, number])]
    plain = [_spearman(weights[:, column], counts[:, column]) for column in columns]
    partial = [_partial(weights[:, columns], counts[:, column], number) for number, column in enumerate(columns)]
    corrected = [holm([p_value for _, p_value in some]) for some in (plain, partial)]
    found = []
    for number, column in enumerate(columns):
        values = np.unique(weights[:, column])
        means = tuple(float(counts[weights[:, column] == value, column].mean()) for value in values)
        (one, p_one), (two, p_two) = plain[number], partial[number]
        last = [float(some[number]) for some in corrected]
        found.append(
            Preference(NAMES[column], tuple(map(float, values)), means, one, two, p_one, p_two, last[0], last[1])
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
        np.clip((left[:, 0] @ left[:, 1]) / np.sqrt((left**2).sum(axis=0).prod()), -1 + 1e-12, 1 - 1e-12)
    )
    statistic = correlation * np.sqrt(freedom / (1 - correlation**2))
    return correlation, float(stats.t.sf(statistic, freedom))
