"""A page's websocket, with limits: what it sends too fast or in vain costs nobody else anything."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from cochef.web.wire import MAX_FRAME

POLICY_VIOLATION = 1008
TRY_AGAIN_LATER = 1013
NORMAL = 1000

_MOST_WAITING = 512  # messages for a page that does not take them


class Connection:
    """One open websocket. Sending never waits; a page that does not listen is cut off."""

    def __init__(self, socket: WebSocket, rate: float) -> None:
        """The socket has been accepted; it may send so many messages a second, and twice as many at once."""
        self._socket = socket
        self._rate = rate
        self._outgoing: asyncio.Queue[str | None] = asyncio.Queue(_MOST_WAITING)
        self._code = NORMAL
        self._open = True

    def send(self, message: Mapping[str, Any]) -> None:
        """Give the page a message as soon as it takes it."""
        if self._open:
            try:
                self._outgoing.put_nowait(json.dumps(message, separators=(",", ":")))
            except asyncio.QueueFull:
                self.close(TRY_AGAIN_LATER)

    def close(self, code: int = NORMAL) -> None:
        """Say goodbye once everything before has been sent; a page that does not listen is cut off."""
        if self._open:
            self._open, self._code = False, code
            while self._outgoing.full():
                self._outgoing.get_nowait()
            self._outgoing.put_nowait(None)

    async def pump(self) -> None:
        """Send what there is to send until the connection closes."""
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while (text := await self._outgoing.get()) is not None:
                await self._socket.send_text(text)
            await self._socket.close(self._code)

    async def frames(self) -> AsyncIterator[str]:
        """The text frames of the page, until it goes, sends too fast, or sends something too large."""
        allowance, before = 2 * self._rate, time.monotonic()
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while self._open:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    break
                now = time.monotonic()
                allowance, before = min(2 * self._rate, allowance + (now - before) * self._rate) - 1, now
                text = message.get("text")
                if allowance < 0 or text is None or len(text) > MAX_FRAME:
                    self.send({"type": "error", "message": "too many messages, or one that is too long or no text"})
                    self.close(POLICY_VIOLATION)
                    break
                yield text


async def converse(connection: Connection, listen: Any) -> None:  # noqa: ANN401  (a coroutine)
    """Run a conversation and the sending beside it until the page has gone and all is sent."""
    pump = asyncio.create_task(connection.pump())
    try:
        await listen
    finally:
        connection.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(pump, 2.0)
