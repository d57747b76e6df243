"""Pool rules: which policies of trained populations an adaptive agent is trained with.

They choose by numbers alone; files are read and written elsewhere.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from cochef.errors import InputError
from cochef.kitchen.events import event_distances

LEVELS = ("init", "mid", "final")

Counts = Float[np.ndarray, "policies events"]
DrawSeed = tuple[int, ...]  # for NumPy: see `method.draw_seed`


@dataclass(frozen=True)
class TrainedPopulation:
    """What a pool rule may look at."""

    returns: Float[np.ndarray, "snapshots members"]
    """Mean task return in training, at every snapshot."""
    count_events: Callable[[], Counts]
    """EC: mean counts of the events that policies are compared by, in an episode.

    The policies are pi_w, their partners the pi_a they were trained with. It is a function because
    the episodes have to be played, and most pool rules do not need them.
    """

    @property
    def size(self) -> int:
        """How many members it has."""
        return self.returns.shape[1]


@dataclass(frozen=True)
class PoolChoice:
    """A policy that goes into a pool."""

    population: str
    member: int
    level: str
    snapshot: int  # its number, from 0


def skill_levels(
    name: str, population: TrainedPopulation, first: int | None = None
) -> list[PoolChoice]:
    """Three skill levels of the first members, or of all (FCP, Strouse et al. 2021).

    `init` is after the first update, `final` the last snapshot, `mid` the one whose training return
    is nearest to half of the final one, the earliest if there are several. The HSP paper only says
    init, middle and final (appendix E.1).
    """
    if first is not None and not 1 <= first <= population.size:
        raise InputError(f"{first} members of the population {name}; it has {population.size}")
    final = len(population.returns) - 1
    chosen = []
    for member in range(population.size if first is None else first):
        returns = population.returns[:, member]
        mid = int(np.abs(returns - returns[final] / 2).argmin())
        snapshots = dict(zip(LEVELS, (0, mid, final), strict=True))
        chosen += [PoolChoice(name, member, level, snapshots[level]) for level in LEVELS]
    return chosen


def all_levels(
    populations: Mapping[str, TrainedPopulation], sizes: Mapping[str, int | None], seed: DrawSeed
) -> list[PoolChoice]:
    """The pool rule of FCP, MEP and TrajDiv: all members of the one population at all levels."""
    ((name, population),) = populations.items()
    return skill_levels(name, population)


def most_diverse(
    name: str, population: TrainedPopulation, keep: int | None, seed: DrawSeed
) -> list[PoolChoice]:
    """The final policies that behave differently, in the order of choice; all if `keep` is None."""
    # Counted even if all are kept: what is counted here is written down next to the pool.
    counts = population.count_events()
    members = range(population.size) if keep is None else select(counts, keep, seed).tolist()
    final = len(population.returns) - 1
    return [PoolChoice(name, member, LEVELS[-1], final) for member in members]


def event_diversity(counts: Counts, chosen: Int[np.ndarray, " chosen"]) -> float:
    """ED(S): the event distances of all ordered pairs in a set (section 5.2 of the HSP paper).

    `counts` are EC of all N policies, not of the set alone: c_k is 1 / their largest EC_k.
    """
    return float(event_distances(counts)[np.ix_(chosen, chosen)].sum())


def select(counts: Counts, keep: int, seed: DrawSeed) -> Int[np.ndarray, " keep"]:
    """Greedily choose the policies that raise event diversity most (algorithm 1 of the HSP paper).

    The first one, i_0, is drawn; the result is in the order of choice. It may have near-duplicates:
    what is maximised is a sum of distances, not the smallest one. That is the paper's algorithm.
    """
    if not 1 <= keep <= len(counts):
        raise InputError(
            f"keep is {keep}; of {len(counts)} policies it takes a number from 1 to {len(counts)}"
        )
    distances = event_distances(counts)
    chosen = [int(np.random.default_rng(seed).integers(len(counts)))]
    # ED(S with k) - ED(S) is twice the sum of k's distances to S, which `gain` holds for all k.
    gain = distances[chosen[0]].copy()
    while len(chosen) < keep:
        gain[chosen] = -np.inf
        chosen.append(int(gain.argmax()))
        gain = gain + distances[chosen[-1]]
    return np.array(chosen)
