"""Files of rewards: what ships, what users write, and what is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.kitchen.events import Event
from cochef.learning.reward_config import MAX_FILE_BYTES, as_vector, parse, read, shipped

GOOD = """description = "mine"

[hidden]
pickup_onion_from_dispenser = [-10, 0, 10]
order = [0, 1]

[shaping]
soup_pickup = 5

[adaptive_shaping]
soup_pickup = 2.5
"""
PIECES = st.sampled_from(
    ["[", "]", "=", '"', "\n", "[hidden]", "inf", "nan", "true", "-", "9" * 30, "{}", "\x00", "é"]
)


@pytest.mark.parametrize("name", layouts.names())
def test_every_layout_has_rewards(name):
    rewards = shipped(layouts.get(name))
    assert rewards.hidden
    assert rewards.shaping


def test_the_papers_sets_ship():
    many_orders, distant = (
        shipped(layouts.get(name)) for name in ("many_orders", "distant_tomato")
    )
    assert many_orders.hidden["pickup_tomato_from_dispenser"] == (0, 10, 20)
    assert many_orders.hidden["potting_onion"] == (-3, 0, 3)
    assert distant.hidden["potting_onion"] == (-10, 0, 10)
    assert distant.adaptive_shaping[Event.TOMATO_IN_EMPTY_POT] == -15
    assert Event.TOMATO_IN_EMPTY_POT not in distant.shaping


def test_dishes_are_shaped_only_when_they_are_useful():
    for name in layouts.PAPER_LAYOUTS:
        shaping = shipped(layouts.get(name)).shaping
        assert Event.USEFUL_DISH_PICKUP in shaping
        assert Event.PICKUP_DISH_FROM_DISPENSER not in shaping


def test_users_write_their_own_sets_and_weights(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    rewards = read(path)
    assert rewards.hidden == {"pickup_onion_from_dispenser": (-10, 0, 10), "order": (0, 1)}
    assert rewards.shaping == {Event.SOUP_PICKUP: 5}
    assert rewards.adaptive_shaping == {Event.SOUP_PICKUP: 2.5}


def test_the_second_stage_is_shaped_as_the_first_unless_the_file_says_otherwise():
    rewards = parse("[shaping]\nsoup_pickup = 5", "mine")
    assert rewards.adaptive_shaping == rewards.shaping
    assert parse("[shaping]\nsoup_pickup = 5\n[adaptive_shaping]", "mine").adaptive_shaping == {}


def test_a_vector_has_each_weight_at_its_event():
    vector = as_vector({Event.SOUP_PICKUP: 5.0})
    assert vector.shape == (len(Event),)
    assert vector[Event.SOUP_PICKUP] == vector.sum() == 5


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[hidden", "not TOML"),
        (
            "[rewards]",
            "unknown key 'rewards'; "
            "allowed: hidden, shaping, adaptive_shaping, adaptive_shaping_end, description$",
        ),
        ("about = 'mine'", "unknown key 'about'; allowed: .*description$"),
        ("hidden = 3", "hidden is 3; it takes a table of events"),
        ("[hidden]\nsoup = [1]", "hidden: unknown event 'soup'; known: .*soup_pickup"),
        ("[hidden]\nsoup_pickup = 1", "soup_pickup is 1; it takes a list of weights"),
        ("[hidden]\nsoup_pickup = []", r"soup_pickup is \[\]; it takes a list of weights"),
        ("[hidden]\nsoup_pickup = [true]", "soup_pickup is True; it takes a number"),
        ("[shaping]\nsoup_pickup = nan", "shaping: soup_pickup is nan; it takes a number"),
        (
            "[shaping]\nsoup_pickup = 1e9",
            "soup_pickup is 1000000000.0; it takes a number from -1000 to 1000",
        ),
        ("[shaping]\norder = 1", "shaping: unknown event 'order'"),
    ],
)
def test_a_bad_file_is_refused_with_what_is_wrong_and_what_is_allowed(text, complaint):
    with pytest.raises(InputError, match=f"^mine: .*{complaint}"):
        parse(text, "mine")


def test_files_that_are_no_text_or_too_large_or_missing_are_refused(tmp_path):
    binary, large = tmp_path / "binary.toml", tmp_path / "large.toml"
    binary.write_bytes(b"\xff\xfe")
    large.write_text("#" * (MAX_FILE_BYTES + 1))
    for path in (binary, large, tmp_path / "missing.toml", tmp_path):
        with pytest.raises(InputError, match=path.name):
            read(path)


@settings(max_examples=300, deadline=None)
@given(
    start=st.integers(0, len(GOOD)), length=st.integers(0, 12), piece=PIECES | st.text(max_size=8)
)
def test_a_damaged_file_is_read_or_refused_but_nothing_else(start, length, piece):
    try:
        parse(GOOD[:start] + piece + GOOD[start + length :], "mine")
    except InputError as error:
        assert str(error).startswith("mine: ")


@settings(max_examples=20, deadline=None)
@given(depth=st.integers(1, 5_000))
def test_a_deeply_nested_file_is_refused(depth):
    with pytest.raises(InputError):
        parse(f"[hidden]\nsoup_pickup = {'[' * depth}{']' * depth}", "mine")


def test_the_share_of_shaping_that_is_left_at_the_end_of_the_second_stage_is_read():
    assert parse("adaptive_shaping_end = 0.25\n", "mine").adaptive_shaping_end == 0.25
    assert parse("", "mine").adaptive_shaping_end == 0.0
    assert shipped(layouts.get("distant_tomato")).adaptive_shaping_end == 0.5
    assert shipped(layouts.get("many_orders")).adaptive_shaping_end == 0.0


@pytest.mark.parametrize(
    "value", ["2", "-0.1", "true", "'x'", "nan", "{}", "{ end = 0.1 }", "[0.1]"]
)
def test_a_share_that_is_none_is_refused(value):
    complaint = r"^mine: adaptive_shaping_end is .*; it takes a number from 0 to 1$"
    with pytest.raises(InputError, match=complaint):
        parse(f"adaptive_shaping_end = {value}\n", "mine")
