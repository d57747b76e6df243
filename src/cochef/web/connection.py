"""A page's websocket, with limits on what the pages of one person may send.

`door.py` limits bytes and frames before; here a page is told why it is cut off.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from cochef.errors import InputError
from cochef.web import wire
from cochef.web.door import POLICY_VIOLATION
from cochef.web.throttle import TokenBucket

TRY_AGAIN_LATER = 1013
NORMAL = 1000

HELLO_SECONDS = 10.0  # in which a page has to say who it is

_MOST_WAITING = 512  # messages for a page that does not take them
_MOST_CHARACTERS = 4 * 1024**2  # of these messages
# What makes the server ask its store, open a room or tell a whole game again; keys do not.
_DEMANDING = (wire.Hello, wire.StartNext, wire.StartChosen, wire.Stop, wire.Submit)
_DEMANDING_SHARE = 6  # of a page's messages one in so many may be of these
_DEMANDING_BURST = 20.0
_REFUSED = "too many messages, or one that is too long or no text"
_TOO_MANY_PAGES = {
    "heading": "Open too many times",
    "text": "This page is open in too many tabs or windows. Please close this one.",
}


class Allowance:
    """What the pages of one person, or of one address, may do together."""

    def __init__(self, rate: float, pages: int) -> None:
        """Some pages may be open; they may send `rate` messages a second, twice as many at once."""
        self.messages = TokenBucket(rate, 2 * rate)
        self.demanding = TokenBucket(rate / _DEMANDING_SHARE, _DEMANDING_BURST)
        self.patience = _DEMANDING_SHARE / rate  # seconds in which one more may be demanding
        self._most = pages
        self._open: list[Connection] = []

    def enter(self, page: "Connection") -> bool:
        """Let a page in; one too many takes the place of the oldest that nobody uses.

        A page whose network has gone may look open for a while, so the newer ones count. False
        where all are in use.
        """
        if len(self._open) >= self._most:
            unused = [one for one in self._open if not one.in_use]
            if not unused:
                return False
            unused[0].turn_away()
            self._open.remove(unused[0])
        self._open.append(page)
        return True

    def leave(self, page: "Connection") -> None:
        """A page has gone."""
        if page in self._open:
            self._open.remove(page)


class Connection:
    """One open websocket. Sending never waits; a page that does not listen is cut off."""

    def __init__(
        self, socket: WebSocket, allowances: Sequence[Allowance], contact: str = ""
    ) -> None:
        """Use an accepted socket, whose page shares these allowances with others.

        The contact is whom people may ask; in free play there is nobody.
        """
        self._socket = socket
        self._contact = contact
        self._allowances = allowances
        self._greeted = False
        self.in_use = False  # whether it is the page by which a person takes part
        self._outgoing: asyncio.Queue[str | None] = asyncio.Queue(_MOST_WAITING)
        self._waiting = 0  # characters of the messages that were not sent yet
        self._code = NORMAL
        self._open = True
        self.longest = wire.SMALL_FRAME  # characters of a frame; more where a stage needs them

    def send(self, message: Mapping[str, Any]) -> None:
        """Queue a message for the page."""
        if self._open:
            text = json.dumps(message, separators=(",", ":"))
            self._waiting += len(text)
            if self._outgoing.full() or self._waiting > _MOST_CHARACTERS:
                self.close(TRY_AGAIN_LATER)
            else:
                self._outgoing.put_nowait(text)

    def refuse(self, kind: str, **rest: str) -> None:
        """Tell the page that its person cannot go on here, and whom they may ask."""
        self.send({"type": kind, **rest, "contact": self._contact})

    def close(self, code: int = NORMAL) -> None:
        """Close the websocket once everything queued has been sent."""
        if self._open:
            self._open = False
            self._code = code
            # In a full queue the oldest message makes room for the end.
            while self._outgoing.full():
                self._outgoing.get_nowait()
            self._outgoing.put_nowait(None)

    def turn_away(self) -> None:
        """Tell the page that there are too many like it."""
        self.refuse("full", **_TOO_MANY_PAGES)
        self.close(TRY_AGAIN_LATER)

    def close_unless_greeted(self) -> None:
        """Close the websocket of a page that has not said hello."""
        if not self._greeted:
            self.close(POLICY_VIOLATION)

    async def pump(self) -> None:
        """Send queued messages until the connection closes."""
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while (text := await self._outgoing.get()) is not None:
                await self._socket.send_text(text)
                self._waiting -= len(text)
            await self._socket.close(self._code)

    async def messages(self) -> AsyncIterator[wire.PageMessage | InputError]:
        """What the page says, or what is wrong with it, until it goes or breaks a limit.

        What is demanding and comes too often is not refused, but has to wait.
        """
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while self._open:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    break
                text = message.get("text")
                if text is None or len(text) > self.longest or not self._may_send():
                    self.send({"type": "error", "message": _REFUSED})
                    self.close(POLICY_VIOLATION)
                    break
                said = await _read(text)
                self._greeted = self._greeted or isinstance(said, wire.Hello)
                if isinstance(said, _DEMANDING):
                    await self._wait_for_turn()
                yield said

    def _may_send(self) -> bool:
        return all(allowance.messages.take() for allowance in self._allowances)

    async def _wait_for_turn(self) -> None:
        """Wait until one more message may be demanding."""
        for allowance in self._allowances:
            while not allowance.demanding.take():
                await asyncio.sleep(allowance.patience)


async def _read(text: str) -> wire.PageMessage | InputError:
    """The message in a frame; a large one is read in another thread than the clock's.

    A small one takes less time than handing it over would.
    """
    try:
        if len(text) > wire.SMALL_FRAME:
            return await asyncio.to_thread(wire.read, text)
        return wire.read(text)
    except InputError as error:
        return error
