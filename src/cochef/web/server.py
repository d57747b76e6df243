"""The servers: free play, and a study."""

import contextlib
import socket
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.websockets import WebSocket

from cochef.errors import InputError
from cochef.kitchen.layout import Layout
from cochef.web import layout_names, tickets
from cochef.web.admin import add_admin
from cochef.web.app import COOKIE, converse, new_app, notice, page, set_cookie
from cochef.web.lobby import Lobby
from cochef.web.loop import GameLoop, Rooms
from cochef.web.partners import FoundAgent
from cochef.web.records import ParticipantIdentity
from cochef.web.store import StudyFullError, StudyStore
from cochef.web.study import Study
from cochef.web.study_service import StudyService
from cochef.web.wire import MAX_FRAME

CAPACITY = 64
# What a browser on this machine calls it; a request for another name may come from another site.
LOCAL = ("localhost", "127.0.0.1")

_MESSAGES = 60.0  # a second that a page may send, and some more for each tick
_COOKIE_DAYS = 30.0
_NO_LINK = "Please take part by the link that you were given."


def play_app(
    layouts: Sequence[Layout],
    files: Sequence[FoundAgent],
    *,
    capacity: int = CAPACITY,
    hosts: Sequence[str] = LOCAL,
) -> FastAPI:
    """Free play; only requests for one of the hosts are answered."""
    loop = GameLoop(Rooms(capacity), capacity)
    lobby = Lobby(loop, layouts, files)
    app = new_app("CoChef", loop, layouts, hosts=hosts)

    @app.get("/")
    def front(request: Request) -> Response:
        response = page("play.html")
        if COOKIE not in request.cookies:
            set_cookie(response, request, COOKIE, tickets.token(), days=1.0)
        return response

    @app.get("/api/layouts")
    def on_offer() -> list[dict[str, Any]]:
        return lobby.on_offer()

    @app.websocket("/ws")
    async def talk(websocket: WebSocket) -> None:
        token = websocket.cookies.get(COOKIE)
        await converse(websocket, 2 * _MESSAGES, partial(lobby.visit, token) if token else None)

    return app


def study_app(
    study: Study,
    store: StudyStore,
    *,
    password: str | None = None,
    capacity: int = CAPACITY,
    open_door: bool = False,
    prolific: bool = False,
) -> FastAPI:
    """A study. Without a password there is no experimenter's page.

    Newcomers need a link that was made for them. With `open_door` anybody may take part without
    one, with `prolific` anybody who comes from Prolific. Whoever has been here may come back.
    """
    loop = GameLoop(Rooms(capacity), capacity)
    service = StudyService(store, loop)
    app = new_app(
        study.title,
        loop,
        layout_names.distinct([*study.layouts, study.tutorial_layout]),
        work=(service.open_rooms, service.store_regularly),
        end=service.close,
    )
    app.state.service = service
    _add_entrance(app, service, open_door=open_door, prolific=prolific)
    _add_participation(app, service)
    if password:
        add_admin(app, service, password)
    return app


def _add_entrance(app: FastAPI, service: StudyService, *, open_door: bool, prolific: bool) -> None:
    """Add the addresses by which participants come in."""
    store = service.store
    study = store.study

    async def enter(request: Request, kind: str, identifier: str, create: bool) -> Response:
        try:
            identity = ParticipantIdentity(kind, identifier)
            participant = await service.join(identity, create)
        except StudyFullError:
            return notice(study.title, study.texts.full)
        except InputError as error:
            return notice(study.title, str(error), 404)
        response = RedirectResponse("/study", 303)
        ticket = tickets.ticket(store.secret, participant.number)
        set_cookie(response, request, COOKIE, ticket, days=_COOKIE_DAYS)
        return response

    @app.get("/", responses={303: {}, 404: {}})
    async def front(
        request: Request,
        identifier: Annotated[str | None, Query(alias="PROLIFIC_PID", max_length=200)] = None,
    ) -> Response:
        if identifier is not None:
            return await enter(request, "prolific", identifier, create=prolific)
        if tickets.number_on(store.secret, request.cookies.get(COOKIE, "")) is not None:
            return RedirectResponse("/study", 303)
        if open_door:
            return await enter(request, "link", tickets.token(), create=True)
        return notice(study.title, f"{_NO_LINK}\n\n{study.contact}", 404)

    @app.get("/join/{link}", responses={303: {}, 404: {}})
    async def join(request: Request, link: Annotated[str, Path(max_length=200)]) -> Response:
        return await enter(request, "link", link, create=False)


def _add_participation(app: FastAPI, service: StudyService) -> None:
    """Add a participant's page and its websocket."""
    store = service.store

    @app.get("/study")
    def participate() -> Response:
        return page("study.html")

    @app.websocket("/ws")
    async def talk(websocket: WebSocket) -> None:
        number = tickets.number_on(store.secret, websocket.cookies.get(COOKIE, ""))
        rate = _MESSAGES + 4 * store.study.numbers.ticks_per_second
        visit = None if number is None else partial(service.visit, number)
        await converse(websocket, rate, visit)


def serve_play(
    layouts: Sequence[Layout],
    files: Sequence[FoundAgent],
    *,
    host: str,
    port: int,
    capacity: int = CAPACITY,
) -> None:
    """Run free play until Ctrl-C."""
    hosts = LOCAL if host in LOCAL else ("*",)
    run(play_app(layouts, files, capacity=capacity, hosts=hosts), host, port)


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
    store = StudyStore.open(store_url, study)
    try:
        app = study_app(
            study,
            store,
            password=password,
            capacity=capacity,
            open_door=open_door,
            prolific=prolific,
        )
        run(app, host, port)
    finally:
        store.close()


def run(app: FastAPI, host: str, port: int) -> None:
    """Serve an application until Ctrl-C."""
    check_port(host, port)
    with contextlib.suppress(KeyboardInterrupt):  # raised again by uvicorn after it has stopped
        uvicorn.Server(configuration(app, host, port)).run()


def configuration(app: FastAPI, host: str, port: int) -> uvicorn.Config:
    """How an application is served: small frames, no compression, a quick end."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        ws="websockets-sansio",
        ws_max_size=2 * MAX_FRAME,  # in bytes; our own limit, in characters, says why it refuses
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=2,
    )


def check_port(host: str, port: int) -> None:
    """Refuse an address that cannot be had, before anything else is done."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except (OSError, OverflowError) as error:
        raise InputError(
            f"{host} port {port} cannot be used ({error}); give another with --port or --host"
        ) from error
