"""Whether biased policies follow their hidden rewards: event counts against the events' weights."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
BIASED, PARTNER = (f"-{learner}" for learner in runs.LEARNERS)  # suffixes of the agents' names
NAMES = (*(event.label for event in Event), ORDER)  # of all that a hidden reward weighs

_AGENTS_OF_A_RUN = "give the directory of a finished `cochef train hsp`"


class BiasedPairs(NamedTuple):
    """The pairs of a population: biased policies, their partners and their hidden rewards."""

    layout: Layout
    agents: list[tuple[Agent, Agent]]  # a biased policy and its partner
    weights: Float[np.ndarray, "pairs names"]  # of the hidden rewards, by `NAMES`


@dataclass(frozen=True)
class PairCounts:
    """What each pair does in an episode: means over both seats."""

    events: Float[np.ndarray, "pairs events"]  # of the first of the pair
    partner_events: Float[np.ndarray, "pairs events"]
    task_return: Float[np.ndarray, " pairs"]  # of both together

    @property
    def by_name(self) -> Float[np.ndarray, "pairs names"]:
        """What the weights of `NAMES` reward: the first's events, and the task return."""
        return np.column_stack([self.events, self.task_return])


@dataclass(frozen=True)
class EventPreference:
    """How an event's count grows with its weight over a population; for orders, the task return."""

    event: str
    weights: tuple[float, ...]  # those that were drawn
    means: tuple[float, ...]  # the mean count of the policies with each of them
    correlation: float  # Spearman's
    partial: float  # the same, controlled for all other weights
    p_value: float  # of the correlation, one-sided: the count grows with the weight
    partial_p_value: float
    corrected: float  # p-values for all events of the population, by Holm's method
    partial_corrected: float


def read_pairs(directory: Path, layout: Layout | None = None) -> BiasedPairs:
    """Read the biased policies of a finished run; a layout that does not ship must be given."""
    found = (directory / runs.AGENTS).glob(f"[0-9]*{BIASED}{storage.SUFFIX}")
    paths = sorted(found, key=lambda path: int(path.name.partition("-")[0]))
    if not paths:
        problem = "no biased policies in it" if directory.exists() else "not there"
        raise InputError(f"{directory}: {problem}; {_AGENTS_OF_A_RUN}")
    layout = layout or layouts.get(storage.read(paths[0])[0].layout)
    agents = []
    weights = np.zeros((len(paths), len(NAMES)), np.float32)
    for number, path in enumerate(paths):
        partner = path.with_name(path.name.replace(BIASED, PARTNER))
        agents.append((load(str(path), layout), load(str(partner), layout)))
        hidden = storage.read(path)[0].metadata.get("hidden_reward")
        if not isinstance(hidden, dict):
            raise InputError(f"{path}: does not say its hidden reward; {_AGENTS_OF_A_RUN}")
        weights[number] = [float(hidden.get(name, 0.0)) for name in NAMES]
    return BiasedPairs(layout, agents, weights)


def event_counts(
    layout: Layout, pairs: Sequence[tuple[Agent, Agent]], seed: int, episodes: int = EPISODES
) -> PairCounts:
    """Count what each pair does, over some episodes in either seat.

    A pair's counts depend on its agents and its number alone.
    """
    matchups = (Matchup(0, 1, episodes), Matchup(1, 0, episodes))
    keys = jax.random.split(jax.random.key(seed), len(pairs))
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *pairs)

    def play(pair: tuple[Agent, Agent], key: Array) -> EpisodeTotals:
        return play_episodes(layout, pair, matchups, key)

    def by_role(leaf: Array) -> np.ndarray:
        """Means over both orders of seats: [pairs, 2, ...] with the first of the pair first."""
        shape = (len(pairs), SEATS, episodes, *leaf.shape[2:])
        by_order = np.asarray(leaf).reshape(shape).mean(axis=2)
        # In the second matchup the first of the pair sits in seat 1.
        return (by_order[:, 0] + by_order[:, 1, ::-1]) / SEATS

    totals = jax.tree.map(by_role, jax.vmap(play)(stacked, keys))
    return PairCounts(
        events=np.asarray(totals.events[:, 0], float),
        partner_events=np.asarray(totals.events[:, 1], float),
        task_return=np.asarray(totals.score, float),
    )


def preferences(
    weights: Float[np.ndarray, "policies names"], counts: Float[np.ndarray, "policies names"]
) -> list[EventPreference]:
    """How counts follow weights, for every event whose weight differs among the policies."""
    if weights.shape != counts.shape or len(weights) < 3:
        raise InputError(
            f"weights {list(weights.shape)} and counts {list(counts.shape)}; "
            "both take the same [policies, names], of at least 3 policies"
        )
    columns = [number for number in range(len(NAMES)) if np.ptp(weights[:, number])]
    plain = [_spearman(weights[:, column], counts[:, column]) for column in columns]
    partial = [
        _partial_spearman(weights[:, columns], counts[:, column], number)
        for number, column in enumerate(columns)
    ]
    corrected = holm([one.p_value for one in plain])
    partial_corrected = holm([one.p_value for one in partial])
    found = []
    for number, column in enumerate(columns):
        own = weights[:, column]
        drawn = np.unique(own)
        found.append(
            EventPreference(
                event=NAMES[column],
                weights=tuple(map(float, drawn)),
                means=tuple(float(counts[own == weight, column].mean()) for weight in drawn),
                correlation=plain[number].value,
                partial=partial[number].value,
                p_value=plain[number].p_value,
                partial_p_value=partial[number].p_value,
                corrected=float(corrected[number]),
                partial_corrected=float(partial_corrected[number]),
            )
        )
    return found


def report(pairs: BiasedPairs, episodes: int, seed: int) -> dict[str, Any]:
    """What each pair does in some episodes in either seat, and how that follows the weights."""
    counts = event_counts(pairs.layout, pairs.agents, seed, episodes).by_name
    found = preferences(pairs.weights, counts)
    return {
        "layout": pairs.layout.name,
        "episodes": SEATS * episodes,
        "names": NAMES,
        "weights": pairs.weights.tolist(),
        "counts": counts.tolist(),
        "scores": counts[:, -1].tolist(),
        "preferences": [asdict(row) for row in found],
    }


@dataclass(frozen=True)
class _Correlation:
    value: float
    p_value: float  # one-sided


_NO_CORRELATION = _Correlation(0.0, 1.0)


def _spearman(weights: np.ndarray, counts: np.ndarray) -> _Correlation:
    """Spearman's correlation; counts that are all the same follow nothing."""
    if np.ptp(counts) == 0:
        return _NO_CORRELATION
    result: Any = stats.spearmanr(weights, counts, alternative="greater")
    return _Correlation(float(result.statistic), float(result.pvalue))


def _partial_spearman(weights: np.ndarray, counts: np.ndarray, number: int) -> _Correlation:
    """Spearman's partial correlation of the counts and one column of weights, given the others."""
    freedom = len(counts) - weights.shape[1] - 1
    if np.ptp(counts) == 0 or freedom < 1:
        return _NO_CORRELATION
    ranks = stats.rankdata(weights, axis=0)
    others = np.column_stack([np.ones(len(counts)), np.delete(ranks, number, axis=1)])
    both = np.column_stack([ranks[:, number], stats.rankdata(counts)])
    left = both - others @ np.linalg.lstsq(others, both, rcond=None)[0]
    ratio = (left[:, 0] @ left[:, 1]) / np.sqrt((left**2).sum(axis=0).prod())
    # A perfect correlation would divide by zero below.
    correlation = float(np.clip(ratio, -1 + 1e-12, 1 - 1e-12))
    statistic = correlation * np.sqrt(freedom / (1 - correlation**2))
    return _Correlation(correlation, float(stats.t.sf(statistic, freedom)))
