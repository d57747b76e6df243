"""Which part of the space of human games a pool covers.

A person is a point: the share of each event in all that they cause in a game, of the events that
HSP's filter compares. So is a policy of a pool. Shares do not depend on how fast somebody plays, in
which people and policies differ most. The distance of two points is the total variation: 0 for the
same mix of events, 1 if they have none in common. A person is covered if some policy is at least as
near as other people usually are: the median person's distance to the nearest person of another
game.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from cochef.evaluation.tables import ResultTable
from cochef.human.games import games, replay
from cochef.kitchen.constants import SEATS
from cochef.kitchen.events import counted_events
from cochef.kitchen.layout import Layout

EventCounts = Float[np.ndarray, "points events"]


@dataclass(frozen=True)
class PeopleEvents:
    """Event counts of everybody who played a layout, each in one game."""

    counts: Float[np.ndarray, "people events"]
    games: Int[np.ndarray, " people"]  # the number of the game of each

    @property
    def usual_distance(self) -> float:
        """The median person's distance to the nearest person of another game."""
        between = distances(self.counts, self.counts)
        between[self.games[:, None] == self.games[None]] = np.inf
        return float(np.median(between.min(axis=1)))


@dataclass(frozen=True)
class PoolCoverage:
    """How near the policies of a pool come to each person."""

    pool: str
    policies: int
    nearest: Float[np.ndarray, " people"]  # distance of each person to the nearest policy
    within: float  # the distance up to which a person is covered
    of_use: int  # policies that are the nearest of some covered person

    @property
    def covered(self) -> float:
        """The share of people who are covered."""
        return float((self.nearest <= self.within).mean())


def people_events(layout: Layout) -> PeopleEvents:
    """The event counts of all people who played a layout."""
    events = list(counted_events(layout))
    played = replay(games(layout.name))
    counts = [trajectory.outcomes.events.sum(axis=0)[:, events] for trajectory in played]
    numbers = np.repeat(np.arange(len(played)), SEATS)
    return PeopleEvents(np.concatenate(counts).astype(float), numbers)


def coverage(people: PeopleEvents, pools: Mapping[str, EventCounts]) -> list[PoolCoverage]:
    """How far each pool, given by its policies' event counts, covers the people."""
    within = people.usual_distance
    found = []
    for name, counts in pools.items():
        to_policies = distances(people.counts, counts)
        nearest = to_policies.min(axis=1)
        used = to_policies.argmin(axis=1)[nearest <= within]
        found.append(PoolCoverage(name, len(counts), nearest, within, len(np.unique(used))))
    return found


def table(found: Sequence[PoolCoverage], layout: str) -> ResultTable:
    """A row for each pool."""
    header = (
        *("pool", "policies", "people", "covered", "distance to the nearest policy: mean"),
        *("median", "largest", "policies of use"),
    )
    body = tuple(
        (
            one.pool,
            str(one.policies),
            str(len(one.nearest)),
            f"{one.covered:.0%}",
            f"{one.nearest.mean():.2f}",
            f"{np.median(one.nearest):.2f}",
            f"{one.nearest.max():.2f}",
            str(one.of_use),
        )
        for one in found
    )
    within = found[0].within if found else float("nan")
    title = f"{layout}: people with a policy as near as other people are ({within:.2f})"
    return ResultTable(title, header, body)


def distances(
    counts: Float[np.ndarray, "points events"], others: Float[np.ndarray, "others events"]
) -> Float[np.ndarray, "points others"]:
    """The total variation between mixes of events, given by event counts."""
    return np.abs(_mixes(counts)[:, None] - _mixes(others)[None]).sum(axis=-1) / 2


def _mixes(counts: EventCounts) -> Float[np.ndarray, "points shares"]:
    """The share of each event; those who cause none have all of a last share, of nothing."""
    nothing = counts.sum(axis=1, keepdims=True) == 0
    known = np.concatenate([counts, nothing], axis=1)
    return known / known.sum(axis=1, keepdims=True)
