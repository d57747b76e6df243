"""Do biased policies do what they like? How often they cause each event, against the weight it has for them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from cochef.rollout import Tally, watch

EPISODES = 100
BIASED, PARTNER = "-biased", "-partner"  # endings of the agents' names


@dataclass(frozen=True)
class Preference:
    """How an event's count moves with its weight over a population."""

    event: Event
    weights: tuple[float, ...]  # those that were drawn
    means: tuple[float, ...]  # the mean count among the policies with each of them
    correlation: float  # Spearman's
    p_value: float  # one-sided: the count grows with the weight
    corrected: float  # for all events of the population, by Holm's method


def read_pairs(directory: Path) -> tuple[Layout, list[tuple[Agent, Agent]], Float[np.ndarray, "pairs events"]]:
    """The kitchen of a finished HSP run, its biased policies with their partners, and how events weigh for them."""
    paths = sorted((directory / "agents").glob(f"*{BIASED}{storage.SUFFIX}"))
    if not paths:
        raise InputError(f"{directory}: no biased policies in it; give the directory of a finished `cochef train hsp`")
    layout = layouts.get(storage.read(paths[0])[0].layout)
    pairs, weights = [], np.zeros((len(paths), len(Event)), np.float32)
    for number, path in enumerate(paths):
        partner = path.with_name(path.name.replace(BIASED, PARTNER))
        pairs.append(tuple(load(str(one), layout) for one in (path, partner)))
        hidden = storage.read(path)[0].about.get("hidden")
        if not isinstance(hidden, dict):
            raise InputError(f"{path}: does not say what it likes; give the directory of a finished `cochef train hsp`")
        weights[number] = [float(hidden.get(event.label, 0.0)) for event in Event]
    return layout, pairs, weights


def event_counts(layout: Layout, pairs: Sequence[tuple[Agent, Agent]], seed: int, episodes: int = EPISODES) -> Tally:
    """What the first of each pair does with the second, summed over both seatings: means over sampled episodes.

    Rewards and events are [pairs, 2 roles]; a row depends on its pair and number alone.
    """
    matches = ((0, 1, episodes), (1, 0, episodes))
    keys = jax.random.split(jax.random.key(seed), len(pairs))
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *pairs)
    tally: Tally = jax.vmap(lambda pair, key: watch(layout, pair, matches, key))(stacked, keys)

    def by_role(leaf: Array) -> np.ndarray:
        seatings = np.asarray(leaf).reshape(len(pairs), SEATS, episodes, *leaf.shape[2:]).mean(axis=2)
        return seatings[:, 0] + seatings[:, 1, ::-1]

    return jax.tree.map(by_role, tally)


def preferences(weights: np.ndarray, counts: np.ndarray) -> list[Preference]:
    """For every event that weighs differently among the policies ([policies, events] both), how its count follows."""
    if weights.shape != counts.shape or len(weights) < 3:
        raise InputError(
            f"weights {list(weights.shape)} and counts {list(counts.shape)}; both take the same [policies, events], "
            "of at least 3 policies"
        )
    found = []
    for event in Event:
        drawn, count = weights[:, event], counts[:, event]
        values = np.unique(drawn)
        if len(values) < 2:
            continue
        means = tuple(float(count[drawn == value].mean()) for value in values)
        found.append(Preference(event, tuple(map(float, values)), means, *_follows(drawn, count), corrected=1.0))
    corrected = holm([preference.p_value for preference in found])
    return [replace(preference, corrected=float(value)) for preference, value in zip(found, corrected, strict=True)]


def _follows(weights: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    """Spearman's correlation and its one-sided p-value; counts that are all the same follow nothing."""
    if np.ptp(counts) == 0:
        return 0.0, 1.0
    result: Any = stats.spearmanr(weights, counts, alternative="greater")
    return float(result.statistic), float(result.pvalue)
