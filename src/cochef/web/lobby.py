"""Free play: everybody chooses kitchen, seat, partner and speed. Nothing is stored."""

import secrets
import time
from collections.abc import Sequence
from typing import Any

from cochef.errors import InputError, shown
from cochef.kitchen import layouts
from cochef.kitchen.layout import Layout
from cochef.web import art, wire
from cochef.web.connection import TRY_AGAIN_LATER, Connection
from cochef.web.live import Guest, Live
from cochef.web.loop import FullError, Loop
from cochef.web.partners import AgentFile, offered
from cochef.web.session import MAX_SEED, Setup

PATIENCE = 120.0  # seconds that a game waits for a page that has gone
FULL = "All places are taken at the moment. Please try again in a few minutes."


class Lobby:
    """Everybody who is here to play."""

    def __init__(self, loop: Loop, kitchens: Sequence[Layout], files: Sequence[AgentFile]) -> None:
        """Nobody is here yet."""
        self.loop = loop
        self._kitchens = {layout.name: layout for layout in kitchens}
        self._files = files
        self._guests: dict[str, Guest] = {}
        self._games = 0

    def on_offer(self) -> list[dict[str, Any]]:
        """The kitchens, with the partners that one can play with there."""
        return [
            {
                **art.describe(layout),
                "about": layouts.about(name) if layouts.is_shipped(layout, name) else "",
                "horizon": layout.horizon,
                "partners": [vars(partner) for partner in offered(layout, self._files)],
            }
            for name, layout in self._kitchens.items()
        ]

    async def visit(self, token: str, page: Connection) -> None:
        """Talk with a page until it goes."""
        guest: Guest | None = None
        try:
            async for frame in page.frames():
                try:
                    message = wire.read(frame)
                    if guest is None or guest.page is not page:
                        guest = self._greet(token, page, message)
                    else:
                        await self._hear(guest, message)
                except InputError as error:
                    page.send({"type": "error", "message": str(error)})
                except FullError:
                    page.send({"type": "full", "text": FULL})
                    page.close(TRY_AGAIN_LATER)
        finally:
            if guest is not None:
                guest.depart(page)

    def _greet(self, token: str, page: Connection, message: wire.Message) -> Guest | None:
        if not isinstance(message, wire.Hello):
            raise InputError("the first message is hello")
        self._forget_the_gone()
        if token not in self._guests:
            if len(self._guests) >= self.loop.capacity:
                raise FullError
            self._guests[token] = Guest(self.loop)
        guest = self._guests[token]
        if not guest.arrive(page, message.take_over):
            return None
        self._show(guest)
        return guest

    def _show(self, guest: Guest) -> None:
        guest.say({"type": "choose", "waiting": guest.live is not None})
        if guest.live is not None:
            self.loop.rest(guest.live.table)
            guest.say(guest.live.announce())

    async def _hear(self, guest: Guest, message: wire.Message) -> None:
        match message:
            case wire.Ready() | wire.Key() | wire.Seen():
                guest.play(message)
            case wire.Hello():
                self._show(guest)
            case wire.Choose():
                await self._seat(guest, message)
            case wire.Stop():
                if guest.live is not None:
                    self._over(guest, guest.live)
            case wire.Begin() | wire.Did():
                raise InputError("this belongs to a study, and there is none here")

    async def _seat(self, guest: Guest, chosen: wire.Choose) -> None:
        if chosen.layout not in self._kitchens:
            raise InputError(f"unknown layout {shown(chosen.layout)}; known: {', '.join(self._kitchens)}")
        layout = self._kitchens[chosen.layout]
        known = [partner.name for partner in offered(layout, self._files)]
        if chosen.partner not in known:  # nothing is ever loaded that is not on offer
            raise InputError(f"unknown partner {shown(chosen.partner)} in {layout.name}; known: {', '.join(known)}")
        seed = secrets.randbelow(MAX_SEED + 1)
        setup = Setup(layout, chosen.partner, chosen.seat, seed, chosen.ticks, chosen.rate, chosen.slowness)
        guest.say({"type": "wait"})
        await self.loop.rooms.opened(layout, [chosen.partner])
        guest.drop()
        self._games += 1
        table = self.loop.seat(setup, guest.listener(self._over))
        about = {"phase": "play", "partner": chosen.partner, "may_stop": True, "countdown": 3}
        guest.live = Live(self._games, table, about)
        guest.say(guest.live.announce())

    def _over(self, guest: Guest, live: Live) -> None:
        game = live.table.game
        guest.drop()
        guest.say({"type": "over", "game": live.number, "score": game.score, "t": game.tick})

    def _forget_the_gone(self) -> None:
        now = time.monotonic()
        for token, guest in list(self._guests.items()):
            if guest.page is None and now - guest.left > PATIENCE:
                guest.drop()
                del self._guests[token]
