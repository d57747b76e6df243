"""The servers: free play, and a study."""

import contextlib
import socket
from collections.abc import Sequence
from typing import Annotated

import jax
import uvicorn
from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.websockets import WebSocket

from cochef.errors import InputError
from cochef.kitchen.layout import Layout
from cochef.web import kitchens, tickets
from cochef.web.admin import add_admin
from cochef.web.app import COOKIE, new_app, notice, page, remember, welcome
from cochef.web.desk import Desk
from cochef.web.lobby import Lobby
from cochef.web.loop import Loop, Rooms
from cochef.web.partners import AgentFile
from cochef.web.records import Identity
from cochef.web.store import Store, StudyFullError
from cochef.web.study import Study
from cochef.web.wire import MAX_FRAME

CAPACITY = 64
LOCAL = ("localhost", "127.0.0.1")  # what a browser on this machine calls it; another name may be another site

_MESSAGES = 60.0  # a second that a page may send, and some more for each tick
_MONTH = 30.0  # days


def play_app(
    offered: Sequence[Layout],
    files: Sequence[AgentFile],
    *,
    capacity: int = CAPACITY,
    hosts: Sequence[str] = LOCAL,
) -> FastAPI:
    """Free play; only requests for one of the hosts are answered."""
    loop = Loop(Rooms(capacity), capacity)
    lobby = Lobby(loop, offered, files)

    async def end() -> None:
        pass

    app = new_app("CoChef", loop, offered, (), end, hosts)
    app.state.loop = loop

    @app.get("/")
    def front(request: Request) -> Response:
        response = page("play.html")
        if COOKIE not in request.cookies:
            remember(response, request, COOKIE, tickets.token(), days=1.0)
        return response

    @app.get("/api/kitchens")
    def on_offer() -> list[dict]:
        return lobby.on_offer()

    @app.websocket("/ws")
    async def talk(websocket: WebSocket) -> None:
        token = websocket.cookies.get(COOKIE)
        await welcome(websocket, 2 * _MESSAGES, None if not token else lambda page: lobby.visit(token, page))

    return app


def study_app(
    study: Study,
    store: Store,
    *,
    password: str | None = None,
    capacity: int = CAPACITY,
    open_door: bool = False,
    prolific: bool = False,
) -> FastAPI:
    """A study. Without a password there is no experimenter's page.

    Newcomers need a link that was made for them; through an open door anybody may take part who has none, and from
    Prolific anybody who says so. Whoever has been here may come back either way.
    """
    loop = Loop(Rooms(capacity), capacity)
    desk = Desk(store, loop)
    known = kitchens.named([*study.layouts, study.tutorial_layout])
    app = new_app(study.title, loop, known, (desk.open_rooms, desk.store_regularly), desk.close)
    app.state.loop, app.state.desk = loop, desk

    async def enter(request: Request, identity: Identity | None, create: bool) -> Response:
        if identity is None:
            text = "Please take part by the link that you were given."
            return notice(study.title, f"{text}\n\n{study.contact}", 404)
        try:
            participant = await desk.join(identity, create)
        except StudyFullError:
            return notice(study.title, study.texts.full)
        except InputError as error:
            return notice(study.title, str(error), 404)
        response = RedirectResponse("/study", 303)
        remember(response, request, COOKIE, tickets.ticket(store.secret, participant.number), days=_MONTH)
        return response

    @app.get("/", responses={303: {}, 404: {}})
    async def front(
        request: Request, identifier: Annotated[str | None, Query(alias="PROLIFIC_PID", max_length=200)] = None
    ) -> Response:
        if identifier is None and tickets.number_on(store.secret, request.cookies.get(COOKIE, "")) is not None:
            return RedirectResponse("/study", 303)
        if identifier is None:
            return await enter(request, Identity("link", tickets.token()) if open_door else None, create=True)
        try:
            identity = Identity("prolific", identifier)
        except InputError as error:
            return notice(study.title, str(error), 404)
        return await enter(request, identity, create=prolific)

    @app.get("/join/{link}", responses={303: {}, 404: {}})
    async def join(request: Request, link: Annotated[str, Path(max_length=200)]) -> Response:
        try:
            identity = Identity("link", link)
        except InputError as error:
            return notice(study.title, str(error), 404)
        return await enter(request, identity, create=False)

    @app.get("/study")
    def pages() -> Response:
        return page("study.html")

    @app.websocket("/ws")
    async def talk(websocket: WebSocket) -> None:
        number = tickets.number_on(store.secret, websocket.cookies.get(COOKIE, ""))
        rate = _MESSAGES + 4 * study.numbers.ticks_per_second
        await welcome(websocket, rate, None if number is None else lambda page: desk.visit(number, page))

    if password:
        add_admin(app, desk, password)
    return app


def serve_play(
    offered: Sequence[Layout], files: Sequence[AgentFile], *, host: str, port: int, capacity: int = CAPACITY
) -> None:
    """Run free play until Ctrl-C."""
    prepare()
    run(play_app(offered, files, capacity=capacity, hosts=LOCAL if host in LOCAL else ("*",)), host, port)


def serve_study(
    study: Study,
    store_url: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    password: str | None = None,
    capacity: int = CAPACITY,
    open_door: bool = False,
    prolific: bool = False,
) -> None:
    """Run a study until Ctrl-C."""
    prepare()
    store = Store.open(store_url, study)
    doors = {"open_door": open_door, "prolific": prolific}
    try:
        run(study_app(study, store, password=password, capacity=capacity, **doors), host, port)
    finally:
        store.close()


def prepare() -> None:
    """Keep compiled programs, and run them in the clock's own thread: a tick is too small to be handed around."""
    jax.config.update("jax_cpu_enable_async_dispatch", False)


def run(app: FastAPI, host: str, port: int) -> None:
    """Serve an application until Ctrl-C."""
    check_port(host, port)
    with contextlib.suppress(KeyboardInterrupt):  # raised again by uvicorn after it has stopped
        uvicorn.Server(configuration(app, host, port)).run()


def configuration(app: FastAPI, host: str, port: int) -> uvicorn.Config:
    """How an application is served: small frames, no compression, pages that vanished noticed within a minute."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        ws="websockets-sansio",
        ws_max_size=2 * MAX_FRAME,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=2,
    )


def check_port(host: str, port: int) -> None:
    """Complain about an address that cannot be had, before anything else is done."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except (OSError, OverflowError) as error:
        raise InputError(f"{host} port {port} cannot be used ({error}); give another with --port or --host") from error
