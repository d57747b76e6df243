"""Helpers of browser tests: hear a page's messages, and walk through a kitchen by keys."""

import json
import os
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.web.serving import LAPTOP, PATIENCE, chromium, watched_page

KEYS = {"N": "ArrowUp", "S": "ArrowDown", "E": "ArrowRight", "W": "ArrowLeft", "use": "Space"}
BUTTONS = {"N": "north", "S": "south", "E": "east", "W": "west", "use": "interact"}
STEPS = {"N": (0, -1), "S": (0, 1), "E": (1, 0), "W": (-1, 0)}

PICTURES = os.environ.get("COCHEF_PICTURES")  # a folder for pictures of every stage, to look at

expect.set_options(timeout=1000 * PATIENCE)


def take_picture(page, name):
    """Save what a page shows, where pictures are wanted."""
    if PICTURES:
        size = "x".join(str(side) for side in page.viewport_size.values())
        page.screenshot(path=Path(PICTURES) / f"{name}-{size}.png")


def wait_until(page, condition, what):
    """Let a page go on until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} is not there after {PATIENCE:g} seconds"
        page.wait_for_timeout(20)


class Ear:
    """Hears every message that a page gets."""

    def __init__(self, page):
        self.page = page
        self.heard = []
        page.on(
            "websocket",
            lambda socket: socket.on(
                "framereceived", lambda text: self.heard.append(json.loads(text))
            ),
        )

    def last(self, *kinds):
        return next((message for message in reversed(self.heard) if message["type"] in kinds), None)

    def wait(self, condition):
        """Wait until the last moment of the game is as wanted; the moment."""
        deadline = time.monotonic() + PATIENCE
        while True:
            moment = self.last("tick", "game")
            if moment is not None and condition(moment):
                return moment
            assert time.monotonic() < deadline, f"still {moment}"
            self.page.wait_for_timeout(20)


class Walker:
    """Walks one chef by keys, each step checked against what the server says."""

    def __init__(self, page, ear, seat):
        self.page = page
        self.ear = ear
        self.seat = seat

    @property
    def chef(self):
        return self.ear.last("tick", "game")["state"]["chefs"][self.seat]

    def turn(self, way):
        """Look this way, and step there if the cell is free."""
        x, y, _, _ = self.chef
        dx, dy = STEPS[way]
        free = self.ear.last("game")["kitchen"]["rows"][y + dy][x + dx] == " "
        self.press(way)
        wanted = [x + dx, y + dy, way] if free else [x, y, way]
        self.ear.wait(lambda moment: moment["state"]["chefs"][self.seat][:3] == wanted)

    def walk(self, ways):
        for way in ways:
            self.turn(way)

    def use(self, holds):
        """Press space; afterwards the chef holds this."""
        self.press("use")
        self.ear.wait(lambda moment: moment["state"]["chefs"][self.seat][3] == holds)

    def press(self, what):
        self.page.keyboard.press(KEYS[what])


class TouchWalker(Walker):
    """Walks by the buttons of a touch screen."""

    def press(self, what):
        self.page.tap(f"button.{BUTTONS[what]}")


def cook_a_soup(walker, onions=3):
    """Cook a soup in cramped_room with so many more onions, and serve it."""
    walker.walk("N")
    for _ in range(onions):
        walker.walk("W")
        walker.use("onion")
        walker.walk("EN")
        walker.use(None)
        walker.walk("W")
    walker.walk("SS")
    walker.use("dish")
    walker.walk("NEN")
    walker.ear.wait(lambda moment: moment["state"]["pots"][0][3] == 20)
    walker.use("soup:ooo")
    walker.walk("SES")
    walker.use(None)


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@contextmanager
def listened(browser, window=LAPTOP, **options):
    """A page and an ear at it."""
    with watched_page(browser, window, **options) as page:
        yield page, Ear(page)
