"""A participant without a browser: the same requests and messages as the page's."""

import contextlib
import json
import time

import httpx
from websockets.sync.client import connect

from cochef.kitchen.constants import Action
from tests.web.serving import PATIENCE

AGAIN = 60  # ticks without what a key should have done, until it is pressed again


class Talker:
    """One page's websocket."""

    def __init__(self, url, cookie, origin=None, path="/ws", **options):
        headers = {"Cookie": f"cochef={cookie}"} if cookie else {}
        address = url.replace("http", "ws", 1) + path
        self._open = contextlib.ExitStack()
        self.socket = self._open.enter_context(
            connect(
                address,
                origin=origin or url,
                additional_headers=headers,
                max_size=None,
                open_timeout=PATIENCE,
                **options,
            )
        )

    def say(self, kind, **rest):
        self.socket.send(json.dumps({"type": kind, **rest}))

    def hear(self, *kinds, seconds=PATIENCE):
        """The next message of one of these kinds; others are passed over."""
        deadline = time.monotonic() + seconds
        passed = []
        while True:
            try:
                text = self.socket.recv(timeout=max(0.01, deadline - time.monotonic()))
            except TimeoutError:
                waited = f"none of {kinds} in {seconds:g} seconds"
                raise TimeoutError(f"{waited}; heard were {passed[-5:]}") from None
            message = json.loads(text)
            if message["type"] in kinds:
                return message
            passed.append(message)

    def play(self):
        """Report every tick as drawn, and go on after pauses, until the game is over."""
        while True:
            message = self.hear("tick", "paused", "over")
            match message["type"]:
                case "tick":
                    self.say("seen", t=message["t"])
                case "paused":  # on a busy machine this page may be behind
                    self.say("ready", seconds=0)
                case _:
                    return message

    def press(self, action, condition):
        """Press a key, and wait until the kitchen is so.

        On a busy machine the game may pause because this page is behind: then it goes on, and if
        the press was lost with the pause, the key is pressed again.
        """
        self._key(action)
        ticks = 0
        while True:
            message = self.hear("tick", "over", "paused")
            if message["type"] == "over":
                return message
            if message["type"] == "paused":
                self.say("ready", seconds=0)
                continue
            self.say("seen", t=message["t"])
            if condition(message["state"]):
                return message
            ticks += 1
            if ticks % AGAIN == 0:
                self._key(action)

    def _key(self, action):
        for way in ("down", "up"):
            self.say(way, action=int(action))

    def close(self):
        self._open.close()


@contextlib.contextmanager
def talking(url, cookie, **options):
    """A websocket that is closed in the end."""
    talker = Talker(url, cookie, **options)
    try:
        yield talker
    finally:
        talker.close()


def cookie_of(url, path="/"):
    """What a newcomer's browser is given."""
    with httpx.Client(base_url=url, timeout=PATIENCE) as client:
        client.get(path)
        return client.cookies.get("cochef")


def to_the_tutorial(talker):
    """A participant who has answered what comes before the tutorial."""
    talker.say("hello")
    talker.hear("stage")
    talker.say("submit", event="consent", agrees=True)
    asked = talker.hear("stage")
    talker.say(
        "submit", event="answers", values={question["id"]: None for question in asked["questions"]}
    )
    talker.hear("stage")
    talker.say("submit", event="understood")
    return talker.hear("stage")


# A soup of three onions in cramped_room: steps, and what is in the hand after using something.
_ONION = ("W", "onion", "E", "N", None, "W")
SOUP = ("N", *_ONION * 3, "S", "S", "dish", "N", "E", "N", "wait", "soup:ooo", "S", "E", "S", None)
_STEPS = {
    "N": (Action.NORTH, 0, -1),
    "S": (Action.SOUTH, 0, 1),
    "E": (Action.EAST, 1, 0),
    "W": (Action.WEST, -1, 0),
}


def serve_a_soup(talker):
    """Cook and serve the soup of the tutorial; what the server says afterwards."""
    talker.say("start")
    game = talker.hear("game")
    rows = game["kitchen"]["rows"]
    x, y = game["state"]["chefs"][0][:2]
    talker.say("ready", seconds=0)
    for step in SOUP:
        if step in _STEPS:
            action, dx, dy = _STEPS[step]
            if rows[y + dy][x + dx] == " ":
                x, y = x + dx, y + dy
            wanted = [x, y, step]
            talker.press(action, lambda state, wanted=wanted: state["chefs"][0][:3] == wanted)
        elif step == "wait":
            talker.press(Action.STAY, lambda state: state["pots"][0][3] >= 20)
        else:
            over = talker.press(
                Action.INTERACT, lambda state, held=step: state["chefs"][0][3] == held
            )
    return over if over["type"] == "over" else talker.hear("over")


def to_the_warmup(talker):
    """A participant who has served the soup of the tutorial."""
    to_the_tutorial(talker)
    serve_a_soup(talker)
    return talker.hear("stage")
