"""What one person, or one address, may do with several pages at once."""

import contextlib
import time

import pytest
from starlette.websockets import WebSocket
from websockets.exceptions import ConnectionClosed

from cochef.kitchen import layouts
from cochef.web import app as web_app
from cochef.web.app import converse
from cochef.web.connection import POLICY_VIOLATION, Allowance
from cochef.web.server import play_app
from tests.web.serving import serving
from tests.web.talking import Talker, talking

RING = layouts.get("coordination_ring")
RATE = 50.0


@pytest.fixture(scope="module")
def url():
    with serving(play_app([RING], [], capacity=80)) as address:
        yield address


def end_of(talker):
    """The code with which the server closes a page's connection."""
    with pytest.raises(ConnectionClosed) as end:
        talker.hear("nothing")
    return end.value.rcvd.code


def test_one_page_too_many_takes_the_place_of_the_oldest_that_nobody_uses(url):
    with contextlib.ExitStack() as opened:
        used, idle, newer = (opened.enter_context(talking(url, "with many tabs")) for _ in range(3))
        used.say("hello")
        used.hear("choose")
        idle.say("hello")
        idle.hear("elsewhere")
        newest = opened.enter_context(talking(url, "with many tabs"))
        assert "too many tabs" in idle.hear("full")["text"]
        for talker in (used, newer, newest):
            talker.say("hello", take_over=True)
            talker.hear("choose")


def greeted_in_time(url, cookie, opened):
    """A page that has said hello in time: on a busy machine perhaps not the first that tries."""
    while True:
        talker = opened.enter_context(talking(url, cookie))
        with contextlib.suppress(ConnectionClosed):
            talker.say("hello")
            talker.hear("choose")
            return talker


def test_a_page_that_does_not_say_hello_in_time_has_to_go(monkeypatch):
    monkeypatch.setattr(web_app, "HELLO_SECONDS", 1.0)
    with serving(play_app([RING], [])) as url, contextlib.ExitStack() as opened:
        polite = greeted_in_time(url, "polite", opened)
        silent, rude = (opened.enter_context(talking(url, name)) for name in ("silent", "rude"))
        with contextlib.suppress(ConnectionClosed):
            rude.say("seen", t=1)
        assert {end_of(silent), end_of(rude)} == {POLICY_VIOLATION}
        polite.say("hello")
        polite.hear("choose")


def test_the_pages_of_one_person_share_what_they_may_send():
    app = play_app([RING], [])
    allowance = Allowance(RATE, pages=3)
    heard = []

    async def count(page):
        heard.append([message async for message in page.messages()])

    @app.websocket("/counted")
    async def counted(websocket: WebSocket) -> None:
        await converse(websocket, [allowance], count)

    began = time.monotonic()
    with (
        serving(app) as url,
        talking(url, "one", path="/counted") as one,
        talking(url, "one", path="/counted") as other,
    ):
        for talker in (one, other):
            with contextlib.suppress(ConnectionClosed):
                for _ in range(10 * int(RATE)):
                    talker.say("seen", t=1)
            assert end_of(talker) == POLICY_VIOLATION
    passed = time.monotonic() - began
    first, second = heard
    assert len(first) >= 2 * RATE
    assert len(first) + len(second) <= 2 * RATE + RATE * passed


def test_an_address_has_no_more_pages_of_free_play_than_a_class_needs(url):
    def greeted(cookie, **options):
        talker = Talker(url, cookie, **options)
        opened.callback(talker.close)
        with contextlib.suppress(ConnectionClosed):  # it has been told already
            talker.say("hello")
        return talker.hear("choose", "full")["type"]

    with contextlib.ExitStack() as opened:
        answers = [greeted(f"made up {number}") for number in range(66)]
        assert answers == ["choose"] * 64 + ["full"] * 2
        assert greeted("elsewhere", source_address=("127.0.0.2", 0)) == "choose"
