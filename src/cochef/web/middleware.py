"""What every request passes before anything is done with it: limits, its origin, safe headers."""

import logging
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cochef.web.throttle import Throttle, network_of

_LOG = logging.getLogger(__name__)

MAX_BODY = 64 * 1024  # bytes

_HARMLESS = ("GET", "HEAD", "OPTIONS")
_REQUESTS = 60.0  # a second of one address, pages' files included
_REQUESTS_BURST = 1_000.0
_CONTENT_POLICY = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class SafeHeaders:
    """Middleware that puts the same safe headers on every answer."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the application does, with the headers added."""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._app(scope, receive, send_safely)


class RequestLimits:
    """Middleware that refuses a request before its body is read.

    It refuses what another site's page asks for, bodies that are too long or do not say how long
    they are, and too many requests of one address.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self._app = app
        self._requests = Throttle(_REQUESTS, _REQUESTS_BURST)
        self._knows_proxies = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the application does, if the request is allowed."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._note_proxy(scope)
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
            return
        status, reason = refusal
        # The body may still be on its way: the connection is of no more use.
        answer = JSONResponse({"detail": reason}, status, headers={"Connection": "close"})
        await answer(scope, receive, send)

    def _note_proxy(self, scope: Scope) -> None:
        """Warn once where a proxy seems to be in front of the server that it was not told of."""
        if self._knows_proxies or "x-forwarded-for" not in Headers(scope=scope):
            return
        self._knows_proxies = True
        if not scope["app"].state.proxies:
            _LOG.warning(
                "requests come through a proxy at %s; while it is not given with --trusted-proxy, "
                "everybody behind it counts as one client",
                client_of(scope),
            )

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        if not self._requests.take(network_of(client_of(scope))):
            return 429, "too many requests; please wait a moment"
        if scope["method"] not in _HARMLESS and not from_own_page(headers):
            return 403, "only this server's own pages may do that"
        if "transfer-encoding" in headers:
            return 411, "a body has to say how long it is"
        # The parser of HTTP lets nothing but digits through, and no more than was announced.
        if int(headers.get("content-length", "0")) > MAX_BODY:
            return 413, f"a body may have {MAX_BODY} bytes"
        return None


def from_own_page(headers: Mapping[str, str]) -> bool:
    """Whether a request comes from a page of this server."""
    origin = headers.get("origin", "")
    try:
        netloc = urlsplit(origin).netloc
    except ValueError:
        return False
    return bool(netloc) and netloc == headers.get("host", "")


def client_of(scope: Scope) -> str | None:
    """The address of whoever sent a request; behind a trusted proxy, the one that it names."""
    client = scope.get("client")
    return client[0] if client else None
