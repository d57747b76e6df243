"""A participant without a browser: the same requests and messages as the page's."""

import contextlib
import json
import time

import httpx
from websockets.sync.client import connect


class Talker:
    """One page's websocket."""

    def __init__(self, url, cookie, origin=None):
        headers = {"Cookie": f"cochef={cookie}"} if cookie else {}
        address = url.replace("http", "ws", 1) + "/ws"
        self._open = contextlib.ExitStack()
        self.socket = self._open.enter_context(
            connect(
                address,
                origin=origin or url,
                additional_headers=headers,
                max_size=None,
                open_timeout=30,
            )
        )

    def say(self, kind, **rest):
        self.socket.send(json.dumps({"type": kind, **rest}))

    def hear(self, *kinds, seconds=300.0):
        """The next message of one of these kinds; others are passed over."""
        deadline = time.monotonic() + seconds
        while True:
            message = json.loads(self.socket.recv(timeout=max(0.01, deadline - time.monotonic())))
            if message["type"] in kinds:
                return message

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
    with httpx.Client(base_url=url) as client:
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


def to_the_warmup(talker):
    """A participant who needs no tutorial."""
    to_the_tutorial(talker)
    talker.say("submit", event="tutorial-done")
    return talker.hear("stage")
