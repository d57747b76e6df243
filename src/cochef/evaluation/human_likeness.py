"""How people and human models divide the work: the paper's comparison (figure 8), for both kinds.

A trajectory gives a point for each chef: its share of the placements into pots, and its share of
the deliveries.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from cochef.agents import shipped
from cochef.agents.modified import Mixture
from cochef.agents.names import load
from cochef.evaluation.behaviours import self_cooking, self_delivery
from cochef.evaluation.tables import ResultTable
from cochef.human.games import games, replay
from cochef.kitchen.layout import Layout
from cochef.rollout import Matchup, play_episodes

MODELS = shipped.EVALUATION_CLONES
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
    """The shares of people and of a model of them in one layout."""

    layout: str
    model: str  # the kind of clone, such as human-proxy
    people: Shares
    models: Shares


def shares(events: np.ndarray) -> Shares:
    """The shares by event counts, [trajectory, chef, event]."""
    cooking = self_cooking(events)
    delivery = self_delivery(events)
    defined = ~np.isnan(cooking + delivery).any(axis=1)
    return Shares(cooking[defined], delivery[defined], int((~defined).sum()))


def compare(
    layout: Layout, model: str, *, episodes: int = 100, steps: int = 400, seed: int = 0
) -> Likeness:
    """Compare all human games of a layout with episodes of a kind of clone with itself.

    Where the clone is one of several, each of them plays with itself in its share of the episodes.
    """
    people = np.stack([game.outcomes.events.sum(axis=0) for game in replay(games(layout.name))])
    clone = load(f"{model}:{layout.name}", layout)
    agents = clone.agents if isinstance(clone, Mixture) else (clone,)
    shortened = dataclasses.replace(layout, horizon=steps)
    each, left = divmod(episodes, len(agents))
    numbers = [each + (number < left) for number in range(len(agents))]
    matchups = [Matchup(agent, agent, number) for agent, number in enumerate(numbers) if number]
    played = play_episodes(shortened, agents, tuple(matchups), jax.random.key(seed))
    events = np.asarray(jax.device_get(played).events)
    return Likeness(layout.name, model, shares(people), shares(events))


def table(found: Sequence[Likeness]) -> ResultTable:
    """Mean and standard deviation of the first player's shares; the second has the rest."""
    header = ("layout", "who", "games", "cooking", "delivery", "people unlike all")
    body: list[tuple[str, ...]] = []
    for likeness in found:
        people = likeness.people
        row = (likeness.layout, "people", *_spreads(people), "-")
        if row not in body:
            body.append(row)
        unlike = nearest(people, likeness.models) > UNLIKE
        count = f"{unlike.sum()} of {len(unlike)}"
        body.append((likeness.layout, likeness.model, *_spreads(likeness.models), count))
    return ResultTable("Share of the work that the first player did", header, tuple(body))


def _spreads(shares: Shares) -> list[str]:
    """How many trajectories there are, and the first player's shares in them."""
    columns = (shares.cooking[:, 0], shares.delivery[:, 0])
    spreads = [f"{own.mean():.2f} ± {own.std():.2f}" if len(own) else "-" for own in columns]
    return [str(len(shares.cooking)), *spreads]


def nearest(trajectories: Shares, others: Shares) -> np.ndarray:
    """Distance of each trajectory to the most similar of the others, by both shares."""
    distances = np.linalg.norm(_points(trajectories)[:, None] - _points(others)[None], axis=-1)
    return distances.min(axis=1, initial=np.inf)


def _points(shares: Shares) -> np.ndarray:
    """The first player's shares, [trajectory, 2]."""
    return np.stack([shares.cooking[:, 0], shares.delivery[:, 0]], axis=1)
