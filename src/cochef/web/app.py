"""What both servers have: safe headers, static files, pictures, the clock and the websocket."""

import asyncio
import contextlib
import html
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from importlib import resources
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from sqlalchemy.exc import DBAPIError
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.websockets import WebSocket

from cochef.kitchen.layout import Layout
from cochef.web import art
from cochef.web.connection import HELLO_SECONDS, Allowance, Connection
from cochef.web.loop import GameLoop
from cochef.web.middleware import RequestLimits, SafeHeaders, from_own_page

COOKIE = "cochef"

_LOG = logging.getLogger(__name__)

_NO_DATABASE = (
    "Nothing can be stored at the moment. What you have done so far is safe. "
    "Please try again in a few minutes."
)
_MOST_FAULTS = 10
_LAST_WORDS = 2.0  # seconds that a page has to take what is queued when a conversation ends

Work = Callable[[], Coroutine[Any, Any, None]]


def new_app(
    title: str,
    loop: GameLoop,
    layouts: Sequence[Layout],
    *,
    work: Sequence[Work] = (),
    end: Work | None = None,
    hosts: Sequence[str] = ("*",),
) -> FastAPI:
    """An application with static files and pictures.

    While it runs, the loop and the other work do; when it stops, `end` is awaited.
    """

    @contextlib.asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(_watched(job)) for job in (loop.run, *work)]
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if end is not None:
            await end()

    app = FastAPI(title=title, lifespan=running, docs_url=None, redoc_url=None, openapi_url=None)
    # The one that is added last is the first to see a request.
    app.add_middleware(RequestLimits)
    app.add_middleware(SafeHeaders)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    app.add_exception_handler(RequestValidationError, _explain)
    app.add_exception_handler(DBAPIError, _apologise)
    app.mount("/static", StaticFiles(directory=str(static_files())), name="static")
    _add_pictures(app, {layout.name: layout for layout in layouts})
    return app


async def _watched(job: Work) -> None:
    """Do some work; if it fails, log it at once."""
    try:
        await job()
    except Exception:
        _LOG.exception("%s failed", job.__qualname__)
        raise


async def _explain(_: Request, error: Exception) -> Response:
    """What is wrong with a request's values, without repeating them."""
    found = error.errors() if isinstance(error, RequestValidationError) else ()
    faults = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found]
    return JSONResponse({"detail": faults[:_MOST_FAULTS]}, 422)


async def _apologise(_: Request, error: Exception) -> Response:
    """The database does not answer."""
    _LOG.error("the database does not answer: %s", error)
    return notice("Please try again", _NO_DATABASE, 503)


def static_files() -> Any:  # noqa: ANN401  (importlib's Traversable)
    """The directory of the pages' files."""
    return resources.files("cochef.web") / "static"


def page(name: str) -> FileResponse:
    """One of the pages."""
    return FileResponse(str(static_files() / name), media_type="text/html")


def notice(title: str, text: str, status: int = 200) -> HTMLResponse:
    """A page that only says something; an empty line begins a new paragraph."""
    template = (static_files() / "notice.html").read_text("utf-8")
    paragraphs = "".join(f"<p>{html.escape(part)}</p>" for part in text.split("\n\n"))
    filled = template.replace("{title}", html.escape(title)).replace("{text}", paragraphs)
    return HTMLResponse(filled, status)


def set_cookie(
    response: Response, request: Request, name: str, value: str, *, days: float, path: str = "/"
) -> None:
    """Set a cookie that scripts cannot read and other sites cannot use."""
    response.set_cookie(
        name,
        value,
        round(days * 24 * 3600),
        path=path,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )


async def converse(
    socket: WebSocket,
    allowances: Sequence[Allowance],
    visit: Callable[[Connection], Coroutine[Any, Any, None]] | None,
    contact: str = "",
) -> None:
    """Talk with a page over its websocket until it goes.

    Pages of other sites, and browsers that nobody knows (no `visit`), are refused, and so is one
    page too many. A page that does not say hello has to go. Who is turned away may ask the contact.
    """
    if visit is None or not from_own_page(socket.headers):
        await socket.close()
        return
    await socket.accept()
    connection = Connection(socket, allowances, contact)
    pump = asyncio.create_task(connection.pump())
    event_loop = asyncio.get_running_loop()
    timer = event_loop.call_later(HELLO_SECONDS, connection.close_unless_greeted)
    try:
        if all(allowance.enter(connection) for allowance in allowances):
            await visit(connection)
        else:
            connection.turn_away()
    finally:
        timer.cancel()
        for allowance in allowances:
            allowance.leave(connection)
        connection.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(pump, _LAST_WORDS)


def _add_pictures(app: FastAPI, layouts: Mapping[str, Layout]) -> None:
    @app.get("/art/sprites.png", response_class=Response)
    def sprites_picture() -> Response:
        return Response(art.sheet()[0], media_type="image/png")

    @app.get("/art/sprites.json")
    def sprites_places() -> JSONResponse:
        return JSONResponse(art.sheet()[1])

    @app.get("/art/layouts/{name}", response_class=Response, responses={404: {}})
    def layout_picture(name: Annotated[str, Path(max_length=100)]) -> Response:
        if name not in layouts:
            raise HTTPException(404, "there is no such layout")
        return Response(art.picture(layouts[name]), media_type="image/png")

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "well"}
