"""How people and their proxies divide the work: the paper's comparison of human models.

A trajectory gives a point for each chef: its share of the placements into pots, and its share of
the deliveries.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from cochef.agents.names import load
from cochef.evaluation.behaviours import self_cooking, self_delivery
from cochef.evaluation.tables import ResultTable
from cochef.human.games import games, replay
from cochef.kitchen.layout import Layout
from cochef.rollout import Matchup, play_episodes

LAYOUTS = ("asymmetric_advantages", "coordination_ring", "counter_circuit")
UNLIKE = 0.1  # from this distance on, a trajectory is unlike another


@dataclass(frozen=True)
class Shares:
    """Each chef's share of cooking and of deliveries, [trajectory, chef]."""

    cooking: np.ndarray
    delivery: np.ndarray
    without: int  # trajectories left out, as nobody cooked or nobody delivered


@dataclass(frozen=True)
class Likeness:
    """The shares of people and of their proxies in one layout."""

    layout: str
    people: Shares
    proxies: Shares


def shares(events: np.ndarray) -> Shares:
    """The shares by event counts, [trajectory, chef, event]."""
    cooking = self_cooking(events)
    delivery = self_delivery(events)
    defined = ~np.isnan(cooking + delivery).any(axis=1)
    return Shares(cooking[defined], delivery[defined], int((~defined).sum()))


def compare(layout: Layout, *, episodes: int = 100, steps: int = 400, seed: int = 0) -> Likeness:
    """Compare all human games of a layout with episodes of its proxy with itself."""
    people = np.stack([game.outcomes.events.sum(axis=0) for game in replay(games(layout.name))])
    proxy = load(f"human-proxy:{layout.name}", layout)
    shortened = dataclasses.replace(layout, horizon=steps)
    matchups = (Matchup(0, 0, episodes),)
    played = jax.device_get(play_episodes(shortened, (proxy,), matchups, jax.random.key(seed)))
    return Likeness(layout.name, shares(people), shares(played.events))


def table(found: Sequence[Likeness]) -> ResultTable:
    """Mean and standard deviation of the first player's shares; the second has the rest."""
    header = (
        "layout",
        "cooking: people",
        "proxies",
        "delivery: people",
        "proxies",
        "people unlike any proxy",
    )
    body = []
    for likeness in found:
        people = likeness.people
        proxies = likeness.proxies
        columns = (people.cooking, proxies.cooking, people.delivery, proxies.delivery)
        spreads = [f"{column[:, 0].mean():.2f} ± {column[:, 0].std():.2f}" for column in columns]
        unlike = nearest(likeness) > UNLIKE
        body.append((likeness.layout, *spreads, f"{unlike.sum()} of {len(unlike)}"))
    return ResultTable("Share of the work that the first player did", header, tuple(body))


def nearest(likeness: Likeness) -> np.ndarray:
    """Distance of each human trajectory to the most similar one of the proxies, by both shares."""
    people = _points(likeness.people)
    proxies = _points(likeness.proxies)
    distances = np.linalg.norm(people[:, None] - proxies[None], axis=-1)
    return distances.min(axis=1, initial=np.inf)


def _points(shares: Shares) -> np.ndarray:
    """The first player's shares, [trajectory, 2]."""
    return np.stack([shares.cooking[:, 0], shares.delivery[:, 0]], axis=1)
