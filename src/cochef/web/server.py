"""The servers: free play, and a study."""

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.websockets import WebSocket

from cochef import interrupts
from cochef.errors import InputError
from cochef.kitchen.layout import Layout
from cochef.web import layout_names, logs, tickets
from cochef.web.admin import add_admin
from cochef.web.app import COOKIE, converse, new_app, notice, page, set_cookie
from cochef.web.connection import Allowance
from cochef.web.door import Door, DoorConfig, DoorLimits
from cochef.web.lobby import Lobby
from cochef.web.loop import GameLoop, Rooms
from cochef.web.middleware import client_of
from cochef.web.partners import FoundAgent
from cochef.web.places import StudyFullError
from cochef.web.records import Participant, ParticipantIdentity
from cochef.web.store import StudyStore, UnknownLinkError
from cochef.web.study import Study, own_code_of
from cochef.web.study_service import StudyService
from cochef.web.throttle import Remembered, Throttle, network_of
from cochef.web.visitor import STALL_SECONDS
from cochef.web.wire import MAX_FRAME

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None

CAPACITY = 64
# What a browser on this machine calls it; a request for another name may come from another site.
LOCAL = ("localhost", "127.0.0.1")

_MESSAGES = 60.0  # a second that a page may send, and some more for each tick
_PAGES = 3  # that a person may have open: tabs, and those whose network has gone
# Free play knows nobody, so an address has limits too: those of a class that plays.
_ADDRESS_PAGES = 64
_ADDRESS_MESSAGES = 1_500.0  # a second
_MOST_ROOMS = 8  # of free play; opening one again takes a second or two
_VISITS = 0.5  # a second that a participant may connect
_VISITS_BURST = 20.0
_BACKLOG = 128  # connections that are accepted between two turns of the others
_ENOUGH_FILES = 8_192
_OWN_FILES = 64  # that the server opens besides connections: database, pages, log
_COOKIE_DAYS = 30.0
_HOUR = 3600.0
_WATCH_SECONDS = 2.0  # between two looks whether another server may be on the database
_NOT_ALONE = (
    "the connection was lost by which other servers were kept off the database, and another one "
    "is on it now, so this one has stopped; what was acknowledged is stored"
)
_NO_IDENTIFIER = "The address of this page is not complete: it lacks your Prolific identifier."
_TOO_MANY_JOINS = (
    "Too many people have come from your network within an hour. Please try again later."
)
_UNKNOWN = (
    "We do not know this browser. Perhaps its cookies were deleted, or you came with another "
    "one.\n\nPlease open the link once more by which you came to the study: you go on where you "
    "were."
)
_NO_LINK = "Please take part by the link that you were given."
_UNKNOWN_LINK = "This link is not one that was given to anybody. Please check that it is complete."


def play_app(
    layouts: Sequence[Layout],
    files: Sequence[FoundAgent],
    *,
    capacity: int = CAPACITY,
    hosts: Sequence[str] = LOCAL,
    stall_seconds: float = STALL_SECONDS,
) -> FastAPI:
    """Free play; only requests for one of the hosts are answered."""
    own_code = [file.name for file in files if file.is_code]
    loop = GameLoop(Rooms(capacity, _MOST_ROOMS, own_code), capacity)
    lobby = Lobby(loop, layouts, files, stall_seconds)
    app = new_app("CoChef", loop, layouts, hosts=hosts)
    app.state.door_limits = _door_limits(2 * _MESSAGES, capacity)
    of_visitor = Remembered(lambda: Allowance(2 * _MESSAGES, _PAGES))
    of_address = Remembered(lambda: Allowance(_ADDRESS_MESSAGES, _ADDRESS_PAGES))

    @app.get("/")
    def front(request: Request) -> Response:
        response = page("play.html")
        if not tickets.is_token(request.cookies.get(COOKIE, "")):
            set_cookie(response, request, COOKIE, tickets.token(), days=1.0)
        return response

    @app.get("/api/layouts")
    def on_offer() -> list[dict[str, Any]]:
        return lobby.on_offer()

    @app.websocket("/ws")
    async def talk(websocket: WebSocket) -> None:
        token = websocket.cookies.get(COOKIE, "")
        if not tickets.is_token(token):
            await converse(websocket, [], None)
            return
        allowances = [of_visitor[token], of_address[network_of(client_of(websocket.scope))]]
        await converse(websocket, allowances, partial(lobby.visit, token))

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
    loop = GameLoop(Rooms(capacity, own_code=own_code_of(study)), capacity)
    service = StudyService(store, loop)
    app = new_app(
        study.title,
        loop,
        layout_names.distinct([*study.layouts, study.tutorial_layout]),
        work=(service.open_rooms, service.store_regularly),
        end=service.close,
    )
    app.state.service = service
    app.state.door_limits = _door_limits(_study_rate(study), capacity)
    _add_entrance(app, service, open_door=open_door, prolific=prolific)
    _add_participation(app, service)
    if password:
        add_admin(app, service, password)
    return app


def _add_entrance(app: FastAPI, service: StudyService, *, open_door: bool, prolific: bool) -> None:
    """Add the addresses by which participants come in."""
    store = service.store
    study = store.study

    most = float(study.numbers.joins_per_address)
    joins = Throttle(most / _HOUR, most)
    # Simulated participants have names of any form.
    form = re.compile(".*" if store.is_simulated else study.prolific_id_form)

    async def known_or_new(
        identity: ParticipantIdentity, create: bool, address: str
    ) -> Participant | None:
        """The participant of an identity; None where too many have come from the address."""
        try:
            return await service.join(identity, create=False)
        except UnknownLinkError:
            if not create:
                raise
        return await service.join(identity, create=True) if joins.take(address) else None

    def refusal(text: str, status: int) -> Response:
        return notice(study.title, f"{text}\n\nQuestions: {study.contact}", status)

    async def enter(request: Request, kind: str, identifier: str, create: bool) -> Response:
        if kind == "prolific" and not form.fullmatch(identifier):
            return refusal(_NO_IDENTIFIER, 404)
        try:
            identity = ParticipantIdentity(kind, identifier)
            address = network_of(client_of(request.scope))
            participant = await known_or_new(identity, create, address)
        except StudyFullError:
            return refusal(study.texts.full, 200)
        except InputError:  # it would repeat what was sent
            return refusal(_UNKNOWN_LINK, 404)
        if participant is None:
            return refusal(_TOO_MANY_JOINS, 429)
        response = RedirectResponse("/study", 303)
        ticket = tickets.ticket(store.secret, participant.number)
        set_cookie(response, request, COOKIE, ticket, days=_COOKIE_DAYS)
        return response

    @app.get("/", responses={303: {}, 404: {}, 429: {}})
    async def front(
        request: Request,
        identifier: Annotated[str | None, Query(alias="PROLIFIC_PID", max_length=200)] = None,
    ) -> Response:
        if identifier is not None:
            return await enter(request, "prolific", identifier, create=prolific)
        if tickets.number_on(store.secret, request.cookies.get(COOKIE, "")) is not None:
            return RedirectResponse("/study", 303)
        if open_door:
            return await enter(request, "open", tickets.token(), create=True)
        return refusal(_NO_LINK, 404)

    @app.get("/join/{link}", responses={303: {}, 404: {}})
    async def join(request: Request, link: Annotated[str, Path(max_length=200)]) -> Response:
        return await enter(request, "link", link, create=False)


def _add_participation(app: FastAPI, service: StudyService) -> None:
    """Add a participant's page and its websocket."""
    store = service.store
    visits = Throttle(_VISITS, _VISITS_BURST)
    study = store.study
    allowances = Remembered(lambda: Allowance(_study_rate(study), _PAGES))

    @app.get("/study", responses={401: {}})
    def participate(request: Request) -> Response:
        if tickets.number_on(store.secret, request.cookies.get(COOKIE, "")) is None:
            return notice(study.title, f"{_UNKNOWN}\n\nQuestions: {study.contact}", 401)
        return page("study.html")

    @app.websocket("/ws")
    async def talk(websocket: WebSocket) -> None:
        number = tickets.number_on(store.secret, websocket.cookies.get(COOKIE, ""))
        visit = None
        if number is not None and visits.take(number):
            visit = partial(service.visit, number)
        await converse(websocket, [allowances[number]], visit, study.contact)


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
    store: StudyStore,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    password: str | None = None,
    capacity: int = CAPACITY,
    open_door: bool = False,
    prolific: bool = False,
    proxies: Sequence[str] = (),
) -> None:
    """Run the study of a store until Ctrl-C."""
    app = study_app(
        store.study,
        store,
        password=password,
        capacity=capacity,
        open_door=open_door,
        prolific=prolific,
    )
    with store.served_alone() as is_alone:
        if not run(app, host, port, proxies, is_alone):
            raise InputError(_NOT_ALONE)


def run(
    app: FastAPI,
    host: str,
    port: int,
    proxies: Sequence[str] = (),
    may_go_on: Callable[[], bool] | None = None,
) -> bool:
    """Serve an application until Ctrl-C, or until it may not go on, which is asked regularly.

    Says whether it might have gone on.
    """
    check_port(host, port)
    logs.install()
    server = uvicorn.Server(configuration(app, host, port, proxies))

    def stop() -> None:
        server.should_exit = True

    # Outside of our own program, uvicorn raises it again after it has stopped.
    with (
        interrupts.stopping_by(stop),
        _watching(may_go_on, stop) as was_stopped,
        contextlib.suppress(KeyboardInterrupt),
    ):
        server.run()
    return not was_stopped.is_set()


@contextlib.contextmanager
def _watching(
    may_go_on: Callable[[], bool] | None, stop: Callable[[], None]
) -> Iterator[threading.Event]:
    """Ask regularly, beside the clock, whether the block may go on; if not, stop it and say so."""
    over = threading.Event()
    was_stopped = threading.Event()
    if may_go_on is None:
        yield was_stopped
        return

    def watch() -> None:
        while not over.wait(_WATCH_SECONDS):
            if not may_go_on():
                was_stopped.set()
                stop()
                return

    thread = threading.Thread(target=watch, name="watch", daemon=True)
    thread.start()
    try:
        yield was_stopped
    finally:
        over.set()
        thread.join()


def configuration(
    app: FastAPI, host: str, port: int, proxies: Sequence[str] = ()
) -> uvicorn.Config:
    """How an application is served: behind a door, no compression, a quick end.

    Addresses of clients are taken from the headers of the given proxies, and of nobody else.
    """
    app.state.proxies = tuple(proxies)
    limits: DoorLimits = app.state.door_limits
    most = _raise_file_limit() - _OWN_FILES
    connections = max(2, min(limits.connections, most))
    of_address = min(limits.connections_of_address, connections // 2)  # nobody has them all
    limits = replace(limits, connections=connections, connections_of_address=of_address)
    return DoorConfig(
        app,
        Door(limits, proxies),
        host=host,
        port=port,
        log_config=None,
        log_level="warning",
        access_log=False,
        loop="asyncio",
        ws_max_size=MAX_FRAME + MAX_FRAME // 2,  # in bytes; our own limit is in characters
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=2,
        backlog=_BACKLOG,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        server_header=False,
    )


def _door_limits(rate: float, capacity: int) -> DoorLimits:
    """Limits for pages that may send so many messages a second."""
    return DoorLimits(frames=2 * rate, connections=DoorLimits.connections + 2 * capacity)


def _study_rate(study: Study) -> float:
    """How many messages a second a participant's page may send."""
    return _MESSAGES + 4 * study.numbers.ticks_per_second


def _raise_file_limit() -> int:
    """Let the process open as many files as it may; how many that is."""
    if resource is None:  # not on this system
        return DoorLimits.connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = hard if hard != resource.RLIM_INFINITY else max(soft, _ENOUGH_FILES)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return soft


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
