"""The study's desk: talks with every participant's page, seats them at games, and keeps everything in the store.

All that is said to the store goes through one thread, in order; a page is told that something is stored, or moved on,
only afterwards. When a page goes, its game leaves the memory; when it comes back, the game is built anew from what the
store holds, just as after a crash.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.web import records, tickets, wire
from cochef.web.connection import TRY_AGAIN_LATER, Connection
from cochef.web.live import Guest, Live
from cochef.web.loop import FullError, Loop
from cochef.web.progress import Deed, GamePlayed, Stage, WarmupPlayed
from cochef.web.records import Ended, GameStart, Identity, Participant, Phase, Steps
from cochef.web.session import Joint, Setup
from cochef.web.stages import stage_message
from cochef.web.store import Store

STORED_EVERY = 0.5  # seconds

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


@dataclass(eq=False)
class _Visitor:
    """A participant with an open page; what they say is handled one after the other."""

    guest: Guest
    participant: Participant
    start: GameStart | None = None  # of the live game
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Desk:
    """One study being run."""

    def __init__(self, store: Store, loop: Loop) -> None:
        """Nobody is here yet."""
        self.store = store
        self.loop = loop
        self._visitors: dict[int, _Visitor] = {}
        self._writer = ThreadPoolExecutor(1, "writer")
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def present(self) -> int:
        """How many participants have a page open."""
        return sum(visitor.guest.page is not None for visitor in self._visitors.values())

    def is_here(self, number: int) -> bool:
        """Whether a participant has a page open."""
        return number in self._visitors

    async def ask(self, function: Callable[..., T], *arguments: Any) -> T:  # noqa: ANN401
        """Let the one thread that talks with the store do something."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, function, *arguments)

    async def join(self, identity: Identity, create: bool) -> Participant:
        """The participant of this identity, a new one if there is none and that is allowed."""
        return await self.ask(lambda: self.store.join(identity, time.time(), create=create))

    async def open_rooms(self) -> None:
        """Open every room of the study: those first whose participants have not finished, then the tutorial's."""
        study, known = self.store.study, await self.ask(self.store.participants)
        waiting = {one.layout for one in known if one.progress.stage not in (Stage.THANKS, Stage.DECLINED)}
        wanted = {study.tutorial_layout: [records.NOBODY]}
        for name, agents in study.layouts.items():
            wanted[name] = [*wanted.get(name, []), *agents.values()]
        for name in sorted(wanted, key=lambda name: name not in waiting):
            await self.loop.rooms.opened(layouts.get(name), wanted[name])

    async def visit(self, number: int, page: Connection) -> None:
        """Talk with a participant's page until it goes."""
        visitor: _Visitor | None = None
        try:
            async for frame in page.frames():
                try:
                    message = wire.read(frame)
                    if visitor is None or visitor.guest.page is not page:
                        visitor = await self._greet(number, page, message)
                        message = wire.Hello(False)
                    if visitor is not None:
                        async with visitor.turn:
                            await self._hear(visitor, message)
                except InputError as error:
                    page.send({"type": "error", "message": str(error)})
                except FullError:
                    page.send({"type": "full", "text": self.store.study.texts.full})
                    page.close(TRY_AGAIN_LATER)
        finally:
            if visitor is not None and visitor.guest.depart(page):
                await self._part(visitor)

    async def _greet(self, number: int, page: Connection, message: wire.Message) -> _Visitor | None:
        if not isinstance(message, wire.Hello):
            raise InputError("the first message is hello")
        try:
            participant = await self.ask(self.store.participant, number)
        except InputError:
            page.send({"type": "withdrawn"})
            page.close()
            return None
        visitor = self._visitors.get(number)
        if visitor is None:
            if self.present >= self.loop.capacity:
                raise FullError
            visitor = self._visitors[number] = _Visitor(Guest(self.loop), participant)
        return visitor if visitor.guest.arrive(page, message.take_over) else None

    async def _show(self, visitor: _Visitor) -> None:
        """Tell the page where the participant stands, and of a game that waits."""
        number, guest = visitor.participant.number, visitor.guest
        visitor.participant = await self.ask(self.store.participant, number)
        stored = None if guest.live else await self.ask(self.store.unfinished_game, number)
        waiting = guest.live is not None or stored is not None
        guest.say(self._stage(visitor) | {"waiting": waiting})
        if stored is not None:
            joint = [(int(one), int(two)) for one, two in stored.actions]
            await self._seat(visitor, stored.start, stored.number, joint)
        elif guest.live is not None and not guest.live.table.game.is_over:
            self.loop.rest(guest.live.table)
            guest.say(guest.live.announce())

    def _stage(self, visitor: _Visitor) -> dict[str, Any]:
        alias = tickets.alias(self.store.secret, visitor.participant.number)
        return stage_message(self.store.study, visitor.participant, alias)

    async def _hear(self, visitor: _Visitor, message: wire.Message) -> None:
        guest = visitor.guest
        match message:
            case wire.Ready() | wire.Key() | wire.Seen():
                guest.play(message)
            case wire.Hello():
                await self.ask(self.store.seen, visitor.participant.number, time.time())
                await self._show(visitor)
            case wire.Begin(partner):
                if guest.live is not None:
                    raise InputError("a game is running; play it to its end first")
                start = self._next_game(visitor.participant, partner)
                await self._seat(visitor, start, None, [])
            case wire.Stop():
                await self._stop(visitor)
            case wire.Did(deed):
                if guest.live is not None:
                    raise InputError("a game is running; play it to its end first")
                number = visitor.participant.number
                visitor.participant = await self.ask(self.store.act, number, deed, time.time())
                guest.say(self._stage(visitor))
            case wire.Choose():
                raise InputError("in a study the games are chosen for you")

    def _next_game(self, participant: Participant, partner: int | None) -> GameStart:
        study, stage = self.store.study, participant.progress.stage
        if stage is Stage.TUTORIAL:
            return records.tutorial_game(study, participant, 0)
        if stage is Stage.WARMUP:
            if partner is None:
                raise InputError("partner is missing; it takes the number of a partner")
            return records.warmup_game(study, participant, partner)
        return records.counted_game(study, participant)

    async def _seat(self, visitor: _Visitor, start: GameStart, number: int | None, played: list[Joint]) -> None:
        """A new game, or one that goes on; the page is told of it when it can begin."""
        guest = visitor.guest
        guest.say({"type": "wait"})
        setup = await self._open(visitor.participant, start)
        table = self.loop.seat(setup, guest.listener(self._over), played)
        try:
            if number is None:
                number = await self.ask(self.store.begin_game, start, time.time())
            await table.caught_up.wait()
        except BaseException:
            self.loop.leave(table)
            raise
        visitor.start = start
        guest.live = Live(number, table, self._about(visitor), played, taken=len(played))
        if table.game.is_over:  # it ended just before the server did
            self._over(guest, guest.live)
        else:
            guest.say(guest.live.announce())

    async def _open(self, participant: Participant, start: GameStart) -> Setup:
        """The game, and its room is open; if it cannot be, the page is not told why: that could name the agent."""
        try:
            setup = Setup(
                layout=layouts.get(start.layout),
                partner=start.loaded,
                seat=start.seat,
                seed=start.seed,
                ticks=start.ticks,
                rate=start.ticks_per_second,
                slowness=start.agent_acts_once_in,
            )
            await self.loop.rooms.opened(setup.layout, [setup.partner])
        except InputError as error:
            _LOG.error("participant %d: a game cannot be opened: %s", participant.number, error)
            raise InputError("this game cannot be opened at the moment; please tell whoever runs the study") from None
        return setup

    def _about(self, visitor: _Visitor) -> dict[str, Any]:
        start, partner = visitor.start, self._partner(visitor)
        label = "" if partner is None else visitor.participant.plan.partners[partner].label
        assert start is not None
        return {
            "phase": str(start.phase),
            "partner": label,
            "may_stop": start.phase is not Phase.GAME,
            "countdown": self.store.study.numbers.countdown_seconds,
        }

    def _partner(self, visitor: _Visitor) -> int | None:
        """The place in the plan of the live game's partner."""
        agents = [partner.agent for partner in visitor.participant.plan.partners]
        assert visitor.start is not None
        return agents.index(visitor.start.agent) if visitor.start.agent else None

    async def _stop(self, visitor: _Visitor) -> None:
        live, start = visitor.guest.live, visitor.start
        if live is None or start is None or live.table.game.is_over:
            raise InputError("no game is running")
        if start.phase is Phase.GAME:
            raise InputError("this game counts; please play it to its end")
        await self._finish(visitor, live, Ended.STOPPED)

    def _over(self, guest: Guest, live: Live) -> None:
        """A game has been played to its end."""
        visitor = next((one for one in self._visitors.values() if one.guest is guest), None)
        if visitor is not None:
            self._later(self._complete(visitor, live))

    def _later(self, work: Any) -> None:  # noqa: ANN401  (a coroutine)
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _complete(self, visitor: _Visitor, live: Live) -> None:
        async with visitor.turn:
            await self._finish(visitor, live, Ended.COMPLETE)

    async def _finish(self, visitor: _Visitor, live: Live, ended: Ended) -> None:
        """Store the rest of a game and its end; then tell the page, and where the participant stands now."""
        self.loop.leave(live.table)
        number, score, deed = visitor.participant.number, live.table.game.score, self._deed(visitor)
        steps = live.take()

        def store() -> Participant:
            self.store.append([steps])
            self.store.finish_game(live.number, score, time.time(), ended, deed)
            return self.store.participant(number)

        try:
            visitor.participant = await self.ask(store)
        except Exception as error:
            self._lost(visitor, error)
            return
        visitor.guest.live = visitor.start = None
        visitor.guest.say({"type": "over", "game": live.number, "score": score, "t": live.table.game.tick})
        visitor.guest.say(self._stage(visitor))

    def _deed(self, visitor: _Visitor) -> Deed | None:
        """What the end of the live game means for the participant's progress."""
        start, partner = visitor.start, self._partner(visitor)
        if start is None or partner is None:
            return None
        return WarmupPlayed(partner) if start.phase is Phase.WARMUP else GamePlayed(start.number)

    async def _part(self, visitor: _Visitor) -> None:
        """The page has gone: what was played is stored, and the game leaves the memory."""
        live, number = visitor.guest.live, visitor.participant.number
        self._visitors.pop(number, None)
        if live is not None and not live.table.game.is_over:
            visitor.guest.drop()
            try:
                await self.ask(self.store.append, [live.take()])
            except Exception:
                _LOG.exception("participant %d: the last ticks of game %d are lost", number, live.number)

    async def store_regularly(self) -> None:
        """Store what happened in all games, and acknowledge it, for ever."""
        while True:
            await asyncio.sleep(STORED_EVERY)
            await self.store_steps()

    async def store_steps(self) -> None:
        """Store what happened in all games since the last time; tell their pages."""
        playing = [(one, one.guest.live) for one in self._visitors.values() if one.guest.live is not None]
        batch: list[tuple[_Visitor, Live, Steps]] = []
        for visitor, live in playing:
            if live.taken < len(live.actions) and not live.table.game.is_over:
                batch.append((visitor, live, live.take()))
        if not batch:
            return
        try:
            refused = await self.ask(self.store.append, [steps for _, _, steps in batch])
        except Exception as error:
            for visitor, _, _ in batch:
                self._lost(visitor, error)
            return
        for visitor, live, steps in batch:
            if live.number in refused:
                self._lost(visitor, InputError("the game is not in the store any more"))
            else:
                visitor.guest.say({"type": "stored", "tick": steps.first + len(steps.actions)})

    def _lost(self, visitor: _Visitor, error: Exception) -> None:
        """What was played could not be stored: the page comes back to what the store holds."""
        _LOG.error("participant %d: not stored: %s", visitor.participant.number, error)
        visitor.guest.drop()
        if visitor.guest.page is not None:
            visitor.guest.page.close(TRY_AGAIN_LATER)

    async def withdraw(self, number: int) -> None:
        """Send the participant away; nothing of them is left in the store."""
        await self.ask(self.store.withdraw, number)
        visitor = self._visitors.get(number)
        if visitor is not None:
            visitor.guest.drop()
            visitor.guest.say({"type": "withdrawn"})
            if visitor.guest.page is not None:
                visitor.guest.page.close()

    async def close(self) -> None:
        """Store what is left and let the store go."""
        await self.store_steps()
        self._writer.shutdown()
