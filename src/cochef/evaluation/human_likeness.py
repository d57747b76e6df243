"""How people and their proxies share the work: who cooks and who delivers (the paper's appendix on proxies).

A trajectory gives a point for each chef: its share of all placements into pots, and its share of all deliveries.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from cochef.agents.names import load
from cochef.evaluation.behaviours import self_cooking, self_delivery
from cochef.evaluation.tables import Table
from cochef.human.games import games, replay
from cochef.kitchen.layout import Layout
from cochef.rollout import play_episodes

LAYOUTS = ("asymmetric_advantages", "coordination_ring", "counter_circuit")
UNLIKE = 0.1  # from this distance on, a trajectory is unlike another


@dataclass(frozen=True)
class Shares:
    """The share that each chef had in cooking and in delivering, [trajectory, chef]; only where there was some."""

    cooking: np.ndarray
    delivery: np.ndarray
    without: int  # trajectories left out, as nobody cooked or nobody delivered


@dataclass(frozen=True)
class Likeness:
    """People and their proxies in one kitchen."""

    layout: str
    people: Shares
    proxies: Shares


def shares(events: np.ndarray) -> Shares:
    """The shares in trajectories of which the events were counted, [trajectory, chef, event]."""
    cooking, delivery = self_cooking(events), self_delivery(events)
    there = ~np.isnan(cooking + delivery).any(axis=1)
    return Shares(cooking[there], delivery[there], int((~there).sum()))


def compare(layout: Layout, *, episodes: int = 100, steps: int = 400, seed: int = 0) -> Likeness:
    """All games that people played in a kitchen, and as many episodes of its proxy with itself as asked for."""
    people = np.stack([replay(game).outcomes.events.sum(axis=0) for game in games(layout.name)])
    proxy = load(f"human-proxy:{layout.name}", layout)
    kitchen = dataclasses.replace(layout, horizon=steps)
    played = jax.device_get(play_episodes(kitchen, (proxy,), ((0, 0, episodes),), jax.random.key(seed)))
    return Likeness(layout.name, shares(people), shares(played.events))


def table(found: Sequence[Likeness]) -> Table:
    """A row a kitchen: mean and standard deviation of the first player's shares; the second has the rest."""
    header = ("kitchen", "cooking: people", "proxies", "delivery: people", "proxies", "people unlike any proxy")
    body = []
    for likeness in found:
        people, proxies = likeness.people, likeness.proxies
        columns = (people.cooking, proxies.cooking, people.delivery, proxies.delivery)
        spreads = (f"{column[:, 0].mean():.2f} ± {column[:, 0].std():.2f}" for column in columns)
        unlike = nearest(likeness) > UNLIKE
        body.append((likeness.layout, *spreads, f"{unlike.sum()} of {len(unlike)}"))
    return Table("Share of the work that the first player did", header, tuple(body))


def nearest(likeness: Likeness) -> np.ndarray:
    """How far each of the people's trajectories is from the most similar one of the proxies, by both shares."""
    people, proxies = (
        np.stack([shares.cooking[:, 0], shares.delivery[:, 0]], axis=1)
        for shares in (likeness.people, likeness.proxies)
    )
    return np.linalg.norm(people[:, None] - proxies[None], axis=-1).min(axis=1, initial=np.inf)
