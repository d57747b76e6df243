"""Free play: everybody chooses layout, seat, partner and speed. Nothing is stored."""

import secrets
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from cochef.errors import InputError, shown
from cochef.kitchen import layouts
from cochef.kitchen.layout import Layout
from cochef.validation import known
from cochef.web import art, wire
from cochef.web.connection import TRY_AGAIN_LATER, Connection
from cochef.web.live import LiveGame
from cochef.web.loop import FullError, GameLoop
from cochef.web.partners import FoundAgent, offered
from cochef.web.session import MAX_SEED, GameSetup
from cochef.web.visitor import STALL_SECONDS, Visitor

PATIENCE = 120.0  # seconds that a game waits for a page that has gone
FULL = "All places are taken at the moment. Please try again in a few minutes."


class Lobby:
    """Everybody who is here to play."""

    def __init__(
        self,
        loop: GameLoop,
        choice: Sequence[Layout],
        files: Sequence[FoundAgent],
        stall_seconds: float = STALL_SECONDS,
    ) -> None:
        """Offer these layouts, and these agents besides those that ship."""
        self.loop = loop
        self._stall_seconds = stall_seconds
        self._layouts = {layout.name: layout for layout in choice}
        self._files = files
        self._visitors: dict[str, Visitor] = {}
        self._games = 0

    def on_offer(self) -> list[dict[str, Any]]:
        """The layouts, with the partners that one can play with there."""
        return [self._offer(layout) for layout in self._layouts.values()]

    def _offer(self, layout: Layout) -> dict[str, Any]:
        ships = layouts.is_shipped(layout, layout.name)
        return {
            **art.describe(layout),
            "description": layouts.description(layout.name) if ships else "",
            "horizon": layout.horizon,
            "partners": [vars(partner) for partner in offered(layout, self._files)],
        }

    async def visit(self, token: str, page: Connection) -> None:
        """Talk with a page until it goes."""
        visitor: Visitor | None = None
        try:
            async for message in page.messages():
                try:
                    if isinstance(message, InputError):
                        raise message
                    if visitor is None or visitor.page is not page:
                        visitor = self._greet(token, page, message)
                    elif isinstance(message, wire.GameMessage):
                        visitor.play(message)
                    else:
                        await self._handle(visitor, message)
                except InputError as error:
                    page.send({"type": "error", "message": str(error)})
                except FullError:
                    page.refuse("full", text=FULL)
                    page.close(TRY_AGAIN_LATER)
        finally:
            if visitor is not None and visitor.leave(page) and visitor.live is None:
                self._forget(token, visitor)

    def _greet(self, token: str, page: Connection, message: wire.PageMessage) -> Visitor | None:
        """The visitor of a page that says hello; None when another tab has them."""
        if not isinstance(message, wire.Hello):
            raise InputError("the first message is hello")
        self._forget_the_gone()
        if token not in self._visitors:
            self._make_room()
            self._visitors[token] = Visitor(self.loop, stall_seconds=self._stall_seconds)
        visitor = self._visitors[token]
        if not visitor.arrive(page, message.take_over):
            return None
        self._show(visitor)
        return visitor

    def _show(self, visitor: Visitor) -> None:
        """Tell the page where the visitor stands, and of a game that waits."""
        visitor.send({"type": "choose", "waiting": visitor.live is not None})
        if visitor.live is not None:
            self.loop.pause(visitor.live)
            visitor.send(visitor.live.announcement())

    async def _handle(self, visitor: Visitor, message: wire.PageMessage) -> None:
        match message:
            case wire.Hello():
                self._show(visitor)
            case wire.StartChosen():
                await self._start(visitor, message)
            case wire.Stop():
                if visitor.live is not None:
                    self._end(visitor, visitor.live)
            case _:
                raise InputError("this belongs to a study, and there is none here")

    async def _start(self, visitor: Visitor, chosen: wire.StartChosen) -> None:
        layout = self._layouts[known(chosen.layout, "layout", self._layouts)]
        partners = [partner.name for partner in offered(layout, self._files)]
        if chosen.partner not in partners:  # nothing is ever loaded that is not on offer
            raise InputError(
                f"unknown partner {shown(chosen.partner)} in {layout.name}; "
                f"known: {', '.join(partners)}"
            )
        setup = GameSetup(
            layout=layout,
            partner=chosen.partner,
            seat=chosen.seat,
            seed=secrets.randbelow(MAX_SEED + 1),
            ticks=chosen.ticks,
            rate=chosen.rate,
            slowness=chosen.slowness,
        )
        visitor.send({"type": "wait"})
        await self.loop.rooms.open_beside(layout, [chosen.partner])
        if visitor not in self._visitors.values():  # another page took over, and has gone
            return
        visitor.drop_game()
        self._games += 1
        live = self.loop.add(setup, partial(visitor.on_tick, partial(self._end, visitor)))
        live.number = self._games
        live.keep_history()
        live.details = {
            "phase": "play",
            "partner": chosen.partner,
            "may_stop": True,
            "countdown": 3,
        }
        visitor.live = live
        visitor.send(live.announcement())

    def _end(self, visitor: Visitor, live: LiveGame) -> None:
        visitor.drop_game()
        game = live.game
        visitor.send({"type": "over", "game": live.number, "score": game.score, "t": game.tick})

    def _forget_the_gone(self) -> None:
        now = time.monotonic()
        for token, visitor in list(self._visitors.items()):
            if visitor.page is None and now - visitor.left > PATIENCE:
                self._forget(token, visitor)

    def _make_room(self) -> None:
        """Where all places are taken, forget whoever has been gone for longest."""
        if len(self._visitors) < self.loop.capacity:
            return
        gone = {token: one for token, one in self._visitors.items() if one.page is None}
        if not gone:
            raise FullError
        token = min(gone, key=lambda token: gone[token].left)
        self._forget(token, gone[token])

    def _forget(self, token: str, visitor: Visitor) -> None:
        visitor.drop_game()
        if self._visitors.get(token) is visitor:
            del self._visitors[token]
