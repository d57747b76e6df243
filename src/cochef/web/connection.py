"""A page's websocket, with limits on what the page may send.

`door.py` limits bytes and frames before; here a page is told why it is cut off.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from cochef.errors import InputError
from cochef.web import wire
from cochef.web.door import POLICY_VIOLATION
from cochef.web.throttle import TokenBucket

TRY_AGAIN_LATER = 1013
NORMAL = 1000

_MOST_WAITING = 512  # messages for a page that does not take them
_MOST_CHARACTERS = 4 * 1024**2  # of these messages
# What makes the server ask its store, open a room or tell a whole game again; keys do not.
_DEMANDING = (wire.Hello, wire.StartNext, wire.StartChosen, wire.Stop, wire.Submit)
_DEMANDING_SHARE = 6  # of a page's messages one in so many may be of these
_DEMANDING_BURST = 20.0
_REFUSED = "too many messages, or one that is too long or no text"


class Connection:
    """One open websocket. Sending never waits; a page that does not listen is cut off."""

    def __init__(self, socket: WebSocket, rate: float) -> None:
        """Use an accepted socket.

        The page may send `rate` messages a second, and twice as many at once.
        """
        self._socket = socket
        self._rate = rate
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

    def close(self, code: int = NORMAL) -> None:
        """Close the websocket once everything queued has been sent."""
        if self._open:
            self._open = False
            self._code = code
            # In a full queue the oldest message makes room for the end.
            while self._outgoing.full():
                self._outgoing.get_nowait()
            self._outgoing.put_nowait(None)

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
        bucket = TokenBucket(self._rate, 2 * self._rate)
        demanding = TokenBucket(self._rate / _DEMANDING_SHARE, _DEMANDING_BURST)
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while self._open:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    break
                text = message.get("text")
                if text is None or len(text) > self.longest or not bucket.take():
                    self.send({"type": "error", "message": _REFUSED})
                    self.close(POLICY_VIOLATION)
                    break
                said = await _read(text)
                while isinstance(said, _DEMANDING) and not demanding.take():
                    await asyncio.sleep(_DEMANDING_SHARE / self._rate)
                yield said


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
