"""Free play: who is let in, and which rooms stay open."""

import asyncio
import time

import pytest
from starlette.websockets import WebSocket
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from cochef.kitchen import layouts
from cochef.web.app import converse
from cochef.web.connection import TRY_AGAIN_LATER
from cochef.web.loop import GameLoop, Rooms
from cochef.web.server import play_app
from cochef.web.session import GameSetup
from tests.web.serving import get, serving
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


def test_a_game_of_a_page_that_has_gone_before_its_room_is_open_takes_no_place():
    with serving(play_app([RING], [], capacity=1)) as url:
        with talking(url, "one") as first:
            first.say("hello")
            first.hear("choose")
            first.say("start", **CHOICE)  # its room takes a while to open
            first.hear("wait")
            with talking(url, "one") as second:
                second.say("hello", take_over=True)
                second.hear("choose")
        with talking(url, "another") as talker:
            talker.say("hello")
            assert talker.hear("choose", "full")["type"] == "choose"
            talker.say("start", **CHOICE)
            assert talker.hear("game", "full")["type"] == "game"


def test_a_token_that_is_too_long_is_neither_taken_nor_remembered(url):
    made_up = "x" * 101
    with pytest.raises(InvalidStatus), talking(url, made_up):
        pass
    assert len(cookie_set(url, made_up)) < 100
    assert cookie_set(url, "short") is None


def cookie_set(url, token):
    """The cookie that the page gives a browser which comes with this one."""
    return get(f"{url}/", cookies={"cochef": token}).cookies.get("cochef")


def test_whoever_asks_for_everything_again_and_again_has_to_wait(url):
    with talking(url, "asking") as talker:
        talker.say("hello")
        talker.hear("choose")
        began = time.monotonic()
        for _ in range(40):
            talker.say("hello")
        for _ in range(40):
            talker.hear("choose")
        # Of 120 messages a second a sixth may be of this kind, and 20 at once.
        assert time.monotonic() - began > 0.8


def test_a_page_that_takes_nothing_is_cut_off_before_it_fills_the_memory():
    app = play_app([RING], [])

    async def tell_much(page):
        for _ in range(10):
            page.send({"type": "game", "earlier": ["x" * 1000] * 1000})

    @app.websocket("/much")
    async def much(websocket: WebSocket) -> None:
        await converse(websocket, [], tell_much)

    heard = []
    with serving(app) as url, pytest.raises(ConnectionClosed) as end:
        address = f"{url.replace('http', 'ws', 1)}/much"
        with connect(address, origin=url, max_size=None) as socket:
            while True:
                heard.append(socket.recv(timeout=60))
    assert len(heard) == 4  # of about a million characters each
    assert end.value.rcvd.code == TRY_AGAIN_LATER


def test_free_play_has_games_of_limited_length(url):
    with talking(url, "lasting") as talker:
        talker.say("hello")
        talker.say("start", **{**CHOICE, "ticks": 2_001})
        assert "it takes a whole number from 1 to 2000" in talker.hear("error")["message"]


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
