"""Which people have a policy near them."""

import numpy as np
import pytest

from cochef.evaluation import plots
from cochef.evaluation.coverage import PeopleEvents, coverage, distances, people_events, table
from cochef.human.games import games, replay
from cochef.kitchen import layouts
from cochef.kitchen.events import Event, counted_events

# Two games of two people each; whoever is faster does not differ by that.
PEOPLE = PeopleEvents(
    np.array([[10.0, 0.0, 0.0], [5.0, 5.0, 0.0], [19.0, 1.0, 0.0], [8.0, 12.0, 0.0]]),
    np.array([0, 0, 1, 1]),
)
COOK = np.array([[40.0, 0.0, 0.0]])


def test_people_are_as_near_as_the_median_of_their_nearest_in_other_games():
    # Nearest in another game: 0.05, 0.1, 0.05 and 0.1.
    assert PEOPLE.usual_distance == pytest.approx(0.075)


def test_a_person_is_covered_by_a_policy_that_is_no_farther_than_other_people():
    more = np.concatenate([COOK, [[1.0, 1.0, 0.0], [0.0, 0.0, 9.0]]])
    cook, both = coverage(PEOPLE, {"cook": COOK, "both": more})
    assert cook.nearest == pytest.approx([0.0, 0.5, 0.05, 0.6])
    assert (cook.covered, cook.of_use, cook.policies) == (0.5, 1, 1)
    assert (both.covered, both.of_use, both.policies) == (0.75, 2, 3)


def test_who_does_nothing_or_other_things_only_is_as_far_as_can_be():
    lazy, odd = np.zeros((1, 3)), np.array([[0.0, 0.0, 9.0]])
    for found in coverage(PEOPLE, {"lazy": lazy, "odd": odd}):
        assert found.nearest == pytest.approx(np.ones(4))
        assert (found.covered, found.of_use) == (0.0, 0)
    assert distances(lazy, lazy).item() == 0


def test_a_person_is_all_that_they_did_in_a_game():
    layout = layouts.get("forced_coordination")
    people = people_events(layout)
    played = games("forced_coordination")
    assert people.counts.shape == (2 * len(played), len(counted_events(layout)))
    first = replay(played[:1])[0]
    delivery = counted_events(layout).index(Event.DELIVERY)
    own = first.outcomes.events[:, 1, Event.DELIVERY].sum()
    assert people.counts[1, delivery] == own
    assert people.games.tolist()[:4] == [0, 0, 1, 1]


def test_the_table_has_a_row_for_each_pool():
    rows = table(coverage(PEOPLE, {"cook": COOK}), "here").rows
    assert rows == (("cook", "1", "4", "50%", "0.29", "0.28", "0.60", "1"),)


def test_the_picture_has_everybody():
    figure = plots.human_space(PEOPLE, {"cook": COOK}, "here")
    (axes,) = figure.axes
    assert [len(group.get_offsets()) for group in axes.collections] == [4, 1]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["people (4)", "cook (1)"]
    plots.plt.close(figure)
