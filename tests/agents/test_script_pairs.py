"""Pairs of scripts against figures of the reference's scripts, 50 episodes of each pair.

The reference's figures are in script_pairs.json. A figure is the same if it differs by at most 5%
or 3 standard errors, whichever is larger. Of many figures that are truly the same, chance puts 27
in 10,000 beyond 3 standard errors; so event counts may exceed the bound as often as such chance
makes plausible, and never by far. Scores may not.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
import pytest
from scipy import stats

from cochef.agents.scripted import script
from cochef.kitchen import layouts
from cochef.kitchen.constants import SEATS
from cochef.kitchen.events import Event
from cochef.rollout import play_episodes

FIGURES = json.loads((Path(__file__).parent / "script_pairs.json").read_text("utf-8"))
ONION_EVENTS = (  # what the reference counts in layouts that order only onion soups
    Event.PUT_ONION_ON_COUNTER,
    Event.PUT_DISH_ON_COUNTER,
    Event.PUT_SOUP_ON_COUNTER,
    Event.PICKUP_ONION_FROM_COUNTER,
    Event.PICKUP_DISH_FROM_COUNTER,
    Event.PICKUP_SOUP_FROM_COUNTER,
    Event.PICKUP_ONION_FROM_DISPENSER,
    Event.PICKUP_DISH_FROM_DISPENSER,
    Event.USEFUL_DISH_PICKUP,
    Event.SOUP_PICKUP,
    Event.PLACEMENT_IN_POT,
    Event.DELIVERY,
)
ALL_EVENTS = tuple(event for event in Event if event <= Event.DELIVERY)
BY_CHANCE = 2 * stats.norm.sf(3)
SURE = 5  # standard errors that chance does not explain


@dataclass(frozen=True)
class ScriptComparison:
    """A figure of ours and theirs, and the standard error of their difference."""

    what: str
    ours: float
    theirs: float
    error: float

    def within(self, errors):
        return (
            abs(self.ours - self.theirs) <= max(0.05 * abs(self.theirs), errors * self.error) + 1e-6
        )

    @property
    def by_chance_alone(self):
        """Whether only chance could put it out of bounds: 5% is less than 3 standard errors."""
        return 3 * self.error > 0.05 * abs(self.theirs)

    def __str__(self):
        figures = f"ours {self.ours:.3f}, theirs {self.theirs:.3f}"
        return f"{self.what}: {figures}, standard error {self.error:.3f}"


def play(name, figures, episodes):
    """The pairs of a layout: the reference's figures with our scores and events."""
    layout = layouts.get(name)
    names = sorted({script_name for figure in figures for script_name in figure["pair"]})
    agents = tuple(script(script_name, layout) for script_name in names)
    matchups = tuple((*map(names.index, figure["pair"]), episodes) for figure in figures)
    totals = jax.device_get(play_episodes(layout, agents, matchups, jax.random.key(0)))
    scores, events = np.asarray(totals.score), np.asarray(totals.events)
    return zip(figures, np.split(scores, len(figures)), np.split(events, len(figures)), strict=True)


def compare(what, ours, theirs, episodes, rare=False):
    variance = max(ours.var(ddof=1), theirs) if rare else ours.var(ddof=1)
    return ScriptComparison(
        what, ours.mean(), theirs, np.sqrt(variance / episodes + variance / len(ours))
    )


def compare_pair(name, figure, scores, events):
    """The comparison of the score, and those of all events."""
    tomatoes = any(order.contents[1] for order in layouts.get(name).orders)
    where = f"{name} {' + '.join(figure['pair'])}"
    score = compare(f"{where} score", scores, figure["score_mean"], figure["episodes"])
    counts = []
    for seat in range(SEATS):
        for event in ALL_EVENTS if tomatoes else ONION_EVENTS:
            key = f"{seat}:{event.label}"
            theirs = figure["events_mean"].get(key, 0.0)
            # A few lucky episodes say little about how much a rare event varies: at least as much
            # as a Poisson count.
            ours = events[:, seat, event]
            counts.append(
                compare(f"{where} {key}", ours, theirs, figure["episodes"], rare=theirs < 1)
            )
    return score, counts


def check(chosen, episodes):
    counts = []
    for name, figures in chosen.items():
        for figure, scores, events in play(name, figures, episodes):
            if figure["score_std"] == 0:
                assert (scores == figure["score_mean"]).all(), f"{name} {figure['pair']}"
            score, of_events = compare_pair(name, figure, scores, events)
            assert score.within(3), score
            counts += of_events
    beyond = [comparison for comparison in counts if not comparison.within(3)]
    uncertain = sum(comparison.by_chance_alone for comparison in counts)
    print(
        f"\n{len(counts)} event counts, {uncertain} of them uncertain by more than 5%; "
        "beyond 3 standard errors:"
    )
    print(*beyond, sep="\n")
    assert all(comparison.within(SURE) for comparison in counts)
    assert stats.binom.sf(len(beyond) - 1, uncertain, BY_CHANCE) > 0.01


def test_scripts_that_score_do_so_as_the_reference_does_in_two_layouts():
    names = ("asymmetric_advantages", "cramped_room")
    check(
        {name: [figure for figure in FIGURES[name] if figure["score_std"]] for name in names},
        episodes=200,
    )


@pytest.mark.long
def test_scripts_score_and_act_as_the_reference_does_in_all_layouts():
    check(FIGURES, episodes=1_000)
