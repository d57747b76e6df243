"""A page's websocket, with limits on what the page may send."""

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
        self._code = NORMAL
        self._open = True

    def send(self, message: Mapping[str, Any]) -> None:
        """Queue a message for the page."""
        if self._open:
            try:
                self._outgoing.put_nowait(json.dumps(message, separators=(",", ":")))
            except asyncio.QueueFull:
                self.close(TRY_AGAIN_LATER)

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
            await self._socket.close(self._code)

    async def frames(self) -> AsyncIterator[str]:
        """The page's text frames, until it goes or breaks a limit."""
        # A token bucket: it fills at `rate`, holds twice as much, and a message takes one.
        allowance = most = 2 * self._rate
        before = time.monotonic()
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while self._open:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    break
                now = time.monotonic()
                allowance = min(most, allowance + (now - before) * self._rate) - 1
                before = now
                text = message.get("text")
                if allowance < 0 or text is None or len(text) > MAX_FRAME:
                    self.send({"type": "error", "message": _REFUSED})
                    self.close(POLICY_VIOLATION)
                    break
                yield text
