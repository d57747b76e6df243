"""People and their models by who cooks and who delivers."""

import numpy as np
import pytest

from cochef.cli.human_likeness import CompareHumanLikeness
from cochef.errors import InputError
from cochef.evaluation import plots
from cochef.evaluation.human_likeness import (
    MODELS,
    Likeness,
    Shares,
    compare,
    nearest,
    shares,
    table,
)
from cochef.human.games import games, replay
from cochef.kitchen import layouts
from cochef.kitchen.events import Event

NAME = "coordination_ring"


def points(*pairs):
    first = np.array(pairs, float).reshape(-1, 2)
    both = np.stack([first, 1 - first], axis=1)  # [trajectory, chef, share]
    return Shares(both[..., 0], both[..., 1], without=0)


def test_shares_are_those_of_trajectories_in_which_somebody_cooked_and_somebody_delivered():
    events = np.zeros((3, 2, len(Event)), int)
    events[:2, :, Event.PLACEMENT_IN_POT] = ((2, 4), (3, 3))
    events[0, :, Event.DELIVERY] = (2, 0)
    found = shares(events)
    assert found.cooking == pytest.approx(np.array([[1 / 3, 2 / 3]]))
    assert found.delivery.tolist() == [[1.0, 0.0]]
    assert found.without == 2


def test_a_persons_distance_is_that_to_the_most_similar_model():
    people = points((0.5, 0.5), (1.0, 0.0))
    models = points((0.5, 0.54), (0.2, 0.2), (0.7, 0.4))
    likeness = Likeness("here", "human-2019", people, models)
    assert nearest(people, models) == pytest.approx([0.04, 0.5])
    assert table([likeness]).rows == (
        ("here", "people", "2", "0.75 ± 0.25", "0.25 ± 0.25", "-"),
        ("here", "human-2019", "3", "0.47 ± 0.21", "0.38 ± 0.14", "1 of 2"),
    )


def test_where_no_model_ever_delivered_all_people_are_unlike_it():
    assert (nearest(points((0.5, 0.5)), points()) == np.inf).all()


def test_the_figure_has_a_panel_a_layout_and_model_with_a_mark_for_each_player_and_trajectory():
    found = [
        Likeness(name, model, points((0.5, 0.5), (1.0, 0.0)), points((0.2, 0.2)))
        for name in ("here", "there")
        for model in ("one", "other")
    ]
    figure = plots.human_likeness(found)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["here\none", "there\none", "here\nother", "there\nother"]
    marks = sorted(
        tuple(mark) for group in figure.axes[0].collections for mark in group.get_offsets().tolist()
    )
    expected = [(0.0, 1.0), (0.2, 0.2), (0.5, 0.5), (0.5, 0.5), (0.8, 0.8), (1.0, 0.0)]
    assert np.array(marks) == pytest.approx(np.array(expected))
    plots.plt.close(figure)


def test_people_are_all_their_games_and_models_play_as_many_episodes_as_asked_for(tmp_path, capsys):
    path = tmp_path / "new" / "figure.png"
    assert CompareHumanLikeness(out=path, layouts=(NAME,), episodes=4, steps=200).run() == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "of 16" in printed
    assert all(kind in printed for kind in MODELS)
    likeness = compare(layouts.get(NAME), "human-2019", episodes=7, steps=200)
    assert len(likeness.models.cooking) + likeness.models.without == 7
    assert likeness.models.without < 7  # they cook and deliver
    first = replay(games(NAME))[0].outcomes.events.sum(axis=0)
    assert (
        likeness.people.cooking[0, 0]
        == first[0, Event.PLACEMENT_IN_POT] / first[:, Event.PLACEMENT_IN_POT].sum()
    )
    assert (
        likeness.people.delivery[0, 1] == first[1, Event.DELIVERY] / first[:, Event.DELIVERY].sum()
    )
    assert likeness.people.cooking.sum(axis=1) == pytest.approx(np.ones(16))


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"layouts": ()}, "no layouts; give at least one that people played"),
        ({"layouts": ("many_orders",)}, "nobody played 'many_orders'; people played: "),
        ({"episodes": 0}, "episodes is 0; it takes a number from 1 to 10000"),
        ({"steps": 0}, "steps is 0; it takes a number from 1 to 10000"),
        ({"seed": -1}, "seed is -1; it takes a whole number from 0 to "),
        ({"ending": ".jpg"}, r"unknown ending of .*figure\.jpg'; known: \.png, \.svg, \.pdf"),
    ],
)
def test_what_cannot_be_compared_is_an_error_that_says_why(tmp_path, wrong, complaint):
    path = tmp_path / f"figure{wrong.pop('ending', '.png')}"
    with pytest.raises(InputError, match=complaint):
        CompareHumanLikeness(**{"out": path, "layouts": (NAME,), **wrong}).run()
    assert not path.exists()
