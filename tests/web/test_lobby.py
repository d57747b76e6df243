"""Free play: who is let in, and which rooms stay open."""

import asyncio

import pytest

from cochef.kitchen import layouts
from cochef.web.loop import GameLoop, Rooms
from cochef.web.server import play_app
from cochef.web.session import GameSetup
from tests.web.serving import serving
from tests.web.talking import talking

RING = layouts.get("coordination_ring")
CHOICE = {
    "layout": "coordination_ring",
    "partner": "stay",
    "seat": 0,
    "slowness": 1,
    "ticks": 1000,
}


@pytest.fixture(scope="module")
def url():
    with serving(play_app([RING], [], capacity=2)) as address:
        yield address


def test_visits_that_left_take_no_place(url):
    for number in range(6):
        with talking(url, f"visitor-{number}") as talker:
            talker.say("hello")
            assert talker.hear("choose", "full")["type"] == "choose"


def test_whoever_is_gone_for_longest_makes_room_and_whoever_is_here_stays(url):
    with talking(url, "gone") as talker:
        talker.say("hello")
        talker.say("start", **CHOICE)
        talker.hear("game")
    with talking(url, "first") as first, talking(url, "second") as second:
        for talker in (first, second):
            talker.say("hello")
            assert talker.hear("choose", "full")["type"] == "choose"
        with talking(url, "third") as third:
            third.say("hello")
            assert third.hear("choose", "full")["type"] == "full"


def test_rooms_without_a_game_are_closed_beyond_the_most():
    async def visit():
        rooms = Rooms(1, most=2)
        loop = GameLoop(rooms, 3)
        played = {}
        for partner in ("stay", "random", "script:delivery"):
            await rooms.open_beside(RING, [partner])
            setup = GameSetup(RING, partner, seat=0, seed=1, ticks=9, rate=8.0, slowness=1)
            played[partner] = loop.add(setup, lambda *_: None)
        assert rooms.open_rooms == 3  # somebody plays in each
        for live in played.values():
            loop.remove(live)
        await rooms.open_beside(RING, ["script:onion_placement"])
        assert rooms.open_rooms == 2
        assert rooms.find(RING, "script:onion_placement").games == 0

    asyncio.run(visit())
