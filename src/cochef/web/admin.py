"""The experimenter's page, behind a password.

It shows progress, live numbers and replays, makes links, exports, and withdraws participants.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Body, Depends, FastAPI, HTTPException, Path, Query, Request, Response

from cochef.errors import InputError
from cochef.web import replays, tickets
from cochef.web.app import page, set_cookie
from cochef.web.middleware import client_of
from cochef.web.overview import overview
from cochef.web.records import StoredGame
from cochef.web.schema import GAMES
from cochef.web.store import StudyStore
from cochef.web.study_service import StudyService
from cochef.web.throttle import Throttle, network_of

ADMIN_COOKIE = "cochef_admin"

_KNOWN_COOKIE = "cochef_known"
_ATTEMPTS = 10.0  # wrong passwords a minute, from one address or browser
_HOURS = 12.0  # that a login lasts
_KNOWN_DAYS = 365.0  # that a browser is remembered
_LARGEST = 2**31 - 1
_PERCENTILES = {"p50": 50, "p99": 99}

RowNumber = Annotated[int, Path(ge=1, le=_LARGEST)]


class Guard:
    """Keeps who has given the password.

    Wrong passwords are counted for each address, so that a stranger locks out nobody but
    themselves, and apart for each browser in which the right one was given before.
    """

    def __init__(self, password: str, secret: bytes) -> None:
        """Nobody has given it yet."""
        self._password = password
        self._secret = secret
        self._inside: dict[str, float] = {}
        self._wrong = Throttle(_ATTEMPTS / 60, _ATTEMPTS)

    def admit(self, password: str, request: Request) -> str:
        """A token for the right password; after too many wrong ones the sender has to wait."""
        sender = self._sender(request)
        if self._wrong.is_empty(sender):
            raise HTTPException(429, "too many wrong passwords; please wait a minute")
        if not tickets.same(password, self._password):
            self._wrong.take(sender)
            raise HTTPException(403, "this is not the password")
        now = time.monotonic()
        self._inside = {token: until for token, until in self._inside.items() if until >= now}
        token = tickets.token()
        self._inside[token] = now + _HOURS * 3600
        return token

    def known_browser(self) -> str:
        """A cookie for a browser in which the password was given."""
        return tickets.seal(self._secret, tickets.token())

    def _sender(self, request: Request) -> tuple[str, str]:
        browser = tickets.unsealed(self._secret, request.cookies.get(_KNOWN_COOKIE, ""))
        if browser:
            return "browser", browser
        return "address", network_of(client_of(request.scope))

    def knows(self, request: Request) -> bool:
        """Whether the password was given in this browser."""
        return self._inside.get(request.cookies.get(ADMIN_COOKIE, ""), 0.0) >= time.monotonic()

    def check(self, request: Request) -> None:
        """Refuse a browser in which the password was not given."""
        if not self.knows(request):
            raise HTTPException(401, "please give the password first")

    def leave(self, request: Request) -> None:
        """Forget a browser's token."""
        self._inside.pop(request.cookies.get(ADMIN_COOKIE, ""), None)


def add_admin(app: FastAPI, service: StudyService, password: str) -> None:
    """Add the experimenter's page and its requests."""
    guard = Guard(password, service.store.secret)
    refusals: dict[int | str, dict[str, Any]] = {401: {}, 403: {}, 404: {}, 429: {}}
    router = APIRouter(prefix="/api/admin", dependencies=[Depends(guard.check)], responses=refusals)
    _add_views(router, service)
    _add_changes(router, service)

    @app.get("/admin")
    def front() -> Response:
        return page("admin.html")

    @app.get("/api/admin/session")
    def session(request: Request) -> bool:
        return guard.knows(request)

    @app.post(
        "/api/admin/login",
        responses=refusals,
        status_code=204,
    )
    def login(
        request: Request,
        response: Response,
        password: Annotated[str, Body(embed=True, max_length=1000)],
    ) -> None:
        token = guard.admit(password, request)
        path = "/api/admin"
        set_cookie(response, request, ADMIN_COOKIE, token, days=_HOURS / 24, path=path)
        known = guard.known_browser()
        set_cookie(response, request, _KNOWN_COOKIE, known, days=_KNOWN_DAYS, path=path)

    @app.post(
        "/api/admin/logout",
        responses=refusals,
        status_code=204,
    )
    def logout(request: Request) -> None:
        guard.leave(request)

    app.include_router(router)


def _add_views(router: APIRouter, service: StudyService) -> None:
    @router.get("/progress")
    async def progress() -> dict[str, Any]:
        numbers = await asyncio.to_thread(overview, service.store, time.time())
        everybody = [one["participant"] for one in numbers["people"]]
        here = [number for number in everybody if service.is_present(number)]
        return {**numbers, "title": service.store.study.title, "present": here}

    @router.get("/live")
    async def live() -> dict[str, Any]:
        return live_numbers(service)

    @router.get("/participants/{number}/games")
    async def games(number: RowNumber) -> list[dict[str, Any]]:
        return await asyncio.to_thread(_games, service.store, number)

    @router.get("/games/{number}")
    async def game(number: RowNumber) -> dict[str, Any]:
        try:
            return await asyncio.to_thread(_shown_game, service.store, number)
        except InputError as error:
            raise HTTPException(404, str(error)) from error

    @router.get("/identities", response_class=Response)
    async def identities() -> Response:
        from cochef.web import identities  # noqa: PLC0415  (needs the extra `study`)

        found = await asyncio.to_thread(identities.table, service.store)
        name = {"Content-Disposition": 'attachment; filename="identities.csv"'}
        return Response(found, media_type="text/csv", headers=name)

    @router.get("/export", response_class=Response)
    async def export() -> Response:
        from cochef.web import export  # noqa: PLC0415  (needs the extra `study`)

        packed = await asyncio.to_thread(export.archive, service.store)
        name = {"Content-Disposition": 'attachment; filename="study.zip"'}
        return Response(packed, media_type="application/zip", headers=name)


def _add_changes(router: APIRouter, service: StudyService) -> None:
    @router.post("/participants/{number}/withdraw", status_code=204)
    async def withdraw(number: RowNumber) -> None:
        try:
            await service.withdraw(number)
        except InputError as error:
            raise HTTPException(404, str(error)) from error

    @router.post("/links")
    async def links(count: Annotated[int, Query(ge=1, le=1000)]) -> list[str]:
        return [f"/join/{link}" for link in await service.ask(service.store.invite, count)]


def live_numbers(service: StudyService) -> dict[str, Any]:
    """How many are here and playing, and how late the clock is, in milliseconds."""
    loop = service.loop
    return {
        "present": service.present,
        "games": loop.running,
        "capacity": loop.capacity,
        "late": _percentiles(loop.punctuality.late),
        "took": _percentiles(loop.punctuality.took),
    }


def _percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    if not seconds:
        return dict.fromkeys(_PERCENTILES, 0.0)
    found = np.percentile(1000 * np.array(seconds), list(_PERCENTILES.values()))
    return {name: round(float(value), 2) for name, value in zip(_PERCENTILES, found, strict=True)}


def _games(store: StudyStore, participant: int) -> list[dict[str, Any]]:
    """The games of one participant."""
    return [_game_row(game) for game in store.games(GAMES.c.participant == participant)]


def _shown_game(store: StudyStore, number: int) -> dict[str, Any]:
    """A game with all its moments."""
    game = store.game(number)
    layout = replays.stored_layouts(store)[game.configuration, game.start.layout]
    return {**_game_row(game), **replays.show(layout, game)}


def _game_row(game: StoredGame) -> dict[str, Any]:
    start = game.start
    return {
        "game": game.number,
        "phase": str(start.phase),
        "number": start.number,
        "agent": start.agent,
        "layout": start.layout,
        "ticks": len(game.actions),
        "ticks_per_second": start.ticks_per_second,
        "score": game.score,
        "ended": None if game.ended is None else str(game.ended),
    }
