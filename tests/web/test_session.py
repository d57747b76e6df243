import pytest

from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.web.session import GameSetup, Keys, PlayedGame

RING = layouts.get("coordination_ring")


def setup(**changes):
    return GameSetup(
        **{
            "layout": RING,
            "partner": "stay",
            "seat": 0,
            "seed": 1,
            "ticks": 20,
            "rate": 8.0,
            "slowness": 8,
        }
        | changes
    )


def taken(keys, ticks):
    actions = []
    for _ in range(ticks):
        action, keys = keys.take()
        actions.append(action)
    return actions


def test_a_tapped_key_counts_for_one_tick():
    keys = Keys().press(Action.EAST).release(Action.EAST)
    assert taken(keys, 3) == [Action.EAST, Action.STAY, Action.STAY]


def test_a_held_direction_goes_on_until_it_is_let_go():
    keys = Keys().press(Action.EAST)
    assert taken(keys, 3) == [Action.EAST] * 3
    assert taken(keys.release(Action.EAST), 2) == [Action.EAST, Action.STAY]


def test_letting_go_of_an_earlier_key_does_not_stop_the_later_one():
    keys = Keys().press(Action.EAST).press(Action.NORTH).release(Action.EAST)
    assert taken(keys, 4) == [Action.EAST, Action.NORTH, Action.NORTH, Action.NORTH]


def test_interact_is_never_repeated():
    assert taken(Keys().press(Action.INTERACT), 3) == [Action.INTERACT, Action.STAY, Action.STAY]


def test_two_quick_taps_both_count_and_more_forget_the_oldest():
    keys = Keys()
    for action in (Action.NORTH, Action.EAST, Action.INTERACT):
        keys = keys.press(action).release(action)
    assert taken(keys, 3) == [Action.EAST, Action.INTERACT, Action.STAY]


@pytest.mark.parametrize(
    ("slowness", "acting"), [(1, list(range(20))), (8, [7, 15]), (3, [2, 5, 8, 11, 14, 17])]
)
def test_the_agent_acts_once_in_as_many_ticks_as_it_is_slow_after_being_idle(slowness, acting):
    game = PlayedGame(setup(slowness=slowness))
    found = []
    while not game.is_over:
        if game.agent_acts:
            found.append(game.tick)
        game = game.advance(0.0)
    assert found == acting


def test_a_game_that_is_over_does_not_go_on():
    game = PlayedGame(setup(ticks=1)).advance(20.0)
    assert game.is_over and game.score == 20
    with pytest.raises(ValueError, match="over"):
        game.advance(0.0)


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("seat", 2),
        ("seed", -1),
        ("ticks", 0),
        ("slowness", 0),
        ("rate", 0.0),
        ("rate", float("nan")),
    ],
)
def test_an_impossible_setup_is_named(what, value):
    with pytest.raises(InputError, match=what):
        setup(**{what: value})
