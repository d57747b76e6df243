"""The server's door: which connections are let in, and how much work each may cause.

Everything here runs in the thread of the clock, for every stranger, before anything is known about
them. So a connection is refused before it is served, is read in small pieces, must finish a request
in time, and is cut off when its frames are too many, whether they hold messages or not.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from cochef.web.throttle import Clock, Throttle, TokenBucket, network_of

POLICY_VIOLATION = 1008

# Bytes that are read at a time: the smallest frames and chunks take 5 bytes and some
# microseconds each, so larger pieces could hold up the clock.
_PIECE = 2048
_CONTROL_RATE = 2.0  # pings and pongs a second that a page may send; a browser sends one in 20 s
_CONTROL_BURST = 20.0
_CLOSE_SECONDS = 2.0  # in which a page has to answer that its websocket is closed

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class DoorLimits:
    """What a server takes from its clients."""

    connections: int = 1_000  # open at a time
    connections_of_address: int = 256  # open at a time; a whole class may share an address
    new_connections: float = 30.0  # a second of one address
    new_connections_burst: float = 300.0
    request_seconds: float = 10.0  # from a request's first byte, or the connection, to its last
    frames: float = 240.0  # a second of one websocket
    frame_bytes: float = 32 * 1024.0  # a second of one websocket
    frame_bytes_burst: float = 192 * 1024.0


class Door:
    """Counts open connections by address. Trusted proxies limit their own clients."""

    def __init__(
        self, limits: DoorLimits, proxies: Collection[str] = (), clock: Clock = time.monotonic
    ) -> None:
        """Nobody is connected."""
        self.limits = limits
        self._proxies = {network_of(proxy) for proxy in proxies}
        self._open: Counter[str] = Counter()
        self._new = Throttle(limits.new_connections, limits.new_connections_burst, clock)

    @property
    def open(self) -> int:
        """How many connections are open."""
        return self._open.total()

    def enter(self, address: str) -> bool:
        """Count a new connection of an address; False where it is one too many."""
        limits = self.limits
        if self.open >= limits.connections:
            _LOG.warning("more than %d connections; new ones are refused", limits.connections)
            return False
        if address not in self._proxies and not self._has_room(address):
            _LOG.warning("too many connections from %s; new ones are refused", address)
            return False
        self._open[address] += 1
        return True

    def _has_room(self, address: str) -> bool:
        is_full = self._open[address] >= self.limits.connections_of_address
        return not is_full and self._new.take(address)

    def leave(self, address: str) -> None:
        """A connection has closed."""
        self._open[address] -= 1
        if self._open[address] <= 0:
            del self._open[address]


class DoorConfig(uvicorn.Config):
    """uvicorn's settings with a door."""

    def __init__(self, app: Any, door: Door, **settings: Any) -> None:  # noqa: ANN401
        """Serve the application behind the door."""
        super().__init__(app, http=LimitedHttp, ws=LimitedWebSocket, **settings)
        self.door = door


class _Pieces(asyncio.BufferedProtocol):
    """Reads a connection in small pieces, with the other connections' turns in between."""

    _piece: bytearray | None = None

    def get_buffer(self, sizehint: int) -> bytearray:
        """Where the transport puts what it reads."""
        if self._piece is None:
            self._piece = bytearray(_PIECE)
        return self._piece

    def buffer_updated(self, nbytes: int) -> None:
        """Handle a piece that was read."""
        if self._piece is not None:
            self.data_received(bytes(self._piece[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Handle some bytes."""
        raise NotImplementedError


class LimitedHttp(H11Protocol, _Pieces):
    """HTTP with limits: on connections, and on the time that a request may take to come in."""

    _address: str | None = None  # under which the door has counted the connection
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Serve a connection if the door lets it in."""
        peer = transport.get_extra_info("peername")
        address = network_of(peer[0] if peer else None)
        door = self.config.door  # type: ignore[attr-defined]
        if not door.enter(address):
            transport.abort()
            return
        self._address = address
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection, unless it has become a websocket's or was never let in."""
        self._stop_timer()
        if self._address is not None:
            self.config.door.leave(self._address)  # type: ignore[attr-defined]
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request; the whole has to come in time."""
        if self._address is None or self.transport.is_closing():
            return
        if self._timer is None:
            self._start_timer()
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_timer()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the connection over to a websocket, which may stay."""
        self._stop_timer()
        super().handle_websocket_upgrade(event)

    def _start_timer(self) -> None:
        seconds = self.config.door.limits.request_seconds  # type: ignore[attr-defined]
        self._timer = self.loop.call_later(seconds, self._give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        """The request has not come in time."""
        self._timer = None
        self.transport.abort()


class LimitedWebSocket(WebSocketsSansIOProtocol, _Pieces):
    """A websocket with limits on bytes and frames, those without a message included."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401  (uvicorn's)
        """Nothing has been sent yet."""
        super().__init__(*arguments, **named)
        self._door: Door = self.config.door  # type: ignore[attr-defined]
        limits = self._door.limits
        self._bytes = TokenBucket(limits.frame_bytes, limits.frame_bytes_burst)
        self._frames = TokenBucket(limits.frames, 2 * limits.frames)
        self._control = TokenBucket(_CONTROL_RATE, _CONTROL_BURST)
        self.close_timeout = _CLOSE_SECONDS

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, which the door has counted before it became a websocket."""
        self._door.leave(network_of(self.client[0] if self.client else None))
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a piece, unless there were too many of late."""
        if self.transport.is_closing():
            return
        if not self._bytes.take(len(data)):
            self._cut_off()
            return
        super().data_received(data)

    def handle_text(self, event: Frame) -> None:
        """Handle a message, or its beginning."""
        if self._may_go_on(self._frames):
            super().handle_text(event)

    def handle_bytes(self, event: Frame) -> None:
        """Handle a message of bytes, or its beginning."""
        if self._may_go_on(self._frames):
            super().handle_bytes(event)

    def handle_cont(self, event: Frame) -> None:
        """Handle a further part of a message."""
        if self._may_go_on(self._frames):
            super().handle_cont(event)

    def handle_ping(self) -> None:
        """Answer a ping."""
        if self._may_go_on(self._control):
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        """Take an answer to a ping."""
        if self._may_go_on(self._control):
            super().handle_pong(event)

    def _may_go_on(self, bucket: TokenBucket) -> bool:
        if self.transport.is_closing():
            return False
        if not bucket.take():
            self._cut_off()
            return False
        return True

    def _cut_off(self) -> None:
        """Say why, and close without listening any more."""
        self.conn.fail(POLICY_VIOLATION, "too many frames or bytes")
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.transport.close()
