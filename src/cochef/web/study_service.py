"""A study being run: talks with every participant's page, starts games, and stores everything.

All calls of the store go through one thread, in order; a page is told that something is stored, or
moves on, only afterwards. When a page goes, its game leaves the memory; when the page comes back,
the game is rebuilt from what the store holds, just as after a crash.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from sqlalchemy.exc import DBAPIError

from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.web import records, tickets, wire
from cochef.web.connection import TRY_AGAIN_LATER, Connection
from cochef.web.live import LiveGame
from cochef.web.loop import FullError, GameLoop
from cochef.web.places import PlaceGivenError, StudyFullError
from cochef.web.progress import GamePlayed, StudyEvent, StudyStage, TutorialDone, WarmupPlayed
from cochef.web.records import (
    GameEnd,
    GameStart,
    InterruptionReason,
    Participant,
    ParticipantIdentity,
    Phase,
    Steps,
    StoredGame,
)
from cochef.web.room import TickResult
from cochef.web.session import GameSetup, JointAction
from cochef.web.stages import longest_frame, stage_message
from cochef.web.store import NoParticipantError, StudyStore
from cochef.web.visitor import Visitor

STORED_EVERY = 0.5  # seconds
NOT_STORED = (
    "Nothing can be stored at the moment, so the study has to wait. What was stored is safe, and "
    "the page goes on by itself as soon as it can."
)

_SLOW = 2.0  # seconds that storing may take before games wait for it
_SLOW_STORE = "Your game waits until everything so far is stored."

_BUSY = "a game is running; play it to its end first"
_PLACE_GIVEN = (
    "You have not gone on for so long that your place in the study was given to somebody else. "
    "What you did so far is kept. Thank you very much for your help!"
)
_CANNOT_OPEN = "this game cannot be opened at the moment; please tell whoever runs the study"

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


@dataclass(eq=False, kw_only=True)
class _Present(Visitor):
    """A participant with an open page; their messages are handled one after the other."""

    participant: Participant
    start: GameStart | None = None  # of the live game
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def partner(self) -> int | None:
        """The live game's partner, by its place in the plan; None in the tutorial."""
        if self.start is None or not self.start.agent:
            return None
        agents = [partner.agent for partner in self.participant.plan.partners]
        return agents.index(self.start.agent)

    @property
    def has_played(self) -> bool:
        """Whether the live game has come to its end: its last tick, or the tutorial's soup."""
        if self.live is None or self.start is None:
            return False
        served = self.start.phase is Phase.TUTORIAL and self.live.game.score > 0
        return self.live.game.is_over or served

    def on_tick(self, over: Callable[[LiveGame], None], live: LiveGame, result: TickResult) -> None:
        """Show the page a tick of its game; the tutorial ends with the first soup served."""
        super().on_tick(over, live, result)
        if self.live is live and self.has_played and not live.game.is_over:
            self.loop.pause(live)
            over(live)


@dataclass(frozen=True)
class _UnstoredSteps:
    """The steps of one game that are about to be stored."""

    visitor: _Present
    live: LiveGame
    steps: Steps


class StudyService:
    """One study being run."""

    def __init__(self, store: StudyStore, loop: GameLoop) -> None:
        """Nobody is here yet."""
        self.store = store
        self.loop = loop
        self._present: dict[int, _Present] = {}
        self._writer = ThreadPoolExecutor(1, "writer")
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def present(self) -> int:
        """How many participants have a page open."""
        return sum(visitor.page is not None for visitor in self._present.values())

    def is_present(self, number: int) -> bool:
        """Whether a participant has a page open."""
        return number in self._present

    async def ask(self, function: Callable[..., T], *arguments: Any) -> T:  # noqa: ANN401
        """Call a function in the one thread that talks with the store."""
        event_loop = asyncio.get_running_loop()
        return await event_loop.run_in_executor(self._writer, function, *arguments)

    async def join(self, identity: ParticipantIdentity, create: bool) -> Participant:
        """The participant of this identity; a new one if there is none and that is allowed."""
        return await self.ask(partial(self.store.join, identity, time.time(), create=create))

    async def open_rooms(self) -> None:
        """Open every room of the study, those of participants who have not finished first."""
        study = self.store.study
        participants = await self.ask(self.store.participants)
        done = (StudyStage.THANKS, StudyStage.DECLINED)
        waiting = {one.layout for one in participants if one.progress.stage not in done}
        wanted = {study.tutorial_layout: [records.NOBODY]}
        for name, agents in study.layouts.items():
            wanted[name] = [*wanted.get(name, []), *agents.values()]
        for name in sorted(wanted, key=lambda name: name not in waiting):
            await self.loop.rooms.open_beside(layouts.get(name), wanted[name])

    async def visit(self, number: int, page: Connection) -> None:
        """Talk with a participant's page until it goes."""
        visitor: _Present | None = None
        try:
            async for message in page.messages():
                try:
                    if isinstance(message, InputError):
                        raise message
                    said = message
                    if visitor is None or visitor.page is not page:
                        visitor = await self._greet(number, page, message)
                        said = wire.Hello(False)
                    if visitor is not None and isinstance(said, wire.GameMessage):
                        visitor.play(said)  # whatever the store is doing
                    elif visitor is not None:
                        async with visitor.turn:
                            await self._handle(visitor, said)
                except StudyFullError as error:
                    self._turn_away(page, error)
                except NoParticipantError:
                    page.refuse("withdrawn")
                    page.close()
                except InputError as error:
                    page.send({"type": "error", "message": str(error)})
                except FullError:
                    page.refuse("full", text=self.store.study.texts.full)
                    page.close(TRY_AGAIN_LATER)
                except DBAPIError as error:
                    _LOG.error("participant %d: the database does not answer: %s", number, error)
                    _send_away(page)
        finally:
            if visitor is not None and visitor.leave(page):
                await self._unload(visitor)

    def _turn_away(self, page: Connection, error: StudyFullError) -> None:
        """Tell a page that there is no place for its person, or not any more."""
        given = isinstance(error, PlaceGivenError)
        page.refuse("full", text=_PLACE_GIVEN if given else self.store.study.texts.full)
        page.close()

    async def _greet(
        self, number: int, page: Connection, message: wire.PageMessage
    ) -> _Present | None:
        """The participant of a page that says hello; None when another tab has them."""
        if not isinstance(message, wire.Hello):
            raise InputError("the first message is hello")
        participant = await self.ask(self.store.participant, number)
        visitor = self._present.get(number)
        if visitor is None:
            if self.present >= self.loop.capacity:
                raise FullError
            stall_seconds = self.store.study.numbers.stall_seconds
            visitor = _Present(loop=self.loop, participant=participant, stall_seconds=stall_seconds)
            self._present[number] = visitor
        return visitor if visitor.arrive(page, message.take_over) else None

    async def _handle(self, visitor: _Present, message: wire.PageMessage) -> None:
        match message:
            case wire.Hello():
                await self.ask(self.store.note_seen, visitor.participant.number, time.time())
                await self._show(visitor)
            case wire.StartNext(partner):
                if visitor.live is not None:
                    raise InputError(_BUSY)
                await self._start(visitor, await self._next_game(visitor.participant, partner))
            case wire.Stop():
                await self._stop(visitor)
            case wire.Submit(event):
                if visitor.live is not None:
                    raise InputError(_BUSY)
                number = visitor.participant.number
                visitor.participant = await self.ask(self.store.act, number, event, time.time())
                self._send_stage(visitor)
            case _:
                raise InputError("in a study the games are chosen for you")

    async def _show(self, visitor: _Present) -> None:
        """Tell the page where the participant stands, and of a game that waits."""
        number = visitor.participant.number
        without_game = visitor.live is None

        def stand() -> tuple[Participant, StoredGame | None]:
            """Both of one moment: a game may end in between."""
            stored = self.store.unfinished_game(number) if without_game else None
            return self.store.participant(number), stored

        visitor.participant, stored = await self.ask(stand)
        waiting = visitor.live is not None or stored is not None
        self._send_stage(visitor, waiting=waiting)
        if stored is not None:
            await self._start(visitor, stored.start, stored)
        elif visitor.live is not None and not visitor.live.game.is_over:
            if visitor.live.due is not None:
                visitor.live.interrupt(InterruptionReason.GONE)
            self.loop.pause(visitor.live)
            self._announce(visitor, visitor.live)

    def _send_stage(self, visitor: _Present, **more: bool) -> None:
        """Tell the page where the participant stands; it may send as much as it needs there."""
        participant = visitor.participant
        alias = tickets.alias(self.store.secret, participant.number)
        visitor.send(stage_message(self.store.study, participant, alias) | more)
        if visitor.page is not None:
            visitor.page.longest = longest_frame(participant.progress.stage)

    async def _next_game(self, participant: Participant, partner: int | None) -> GameStart:
        study = self.store.study
        stage = participant.progress.stage
        if stage is StudyStage.TUTORIAL:
            number = await self.ask(self.store.games_begun, participant.number, Phase.TUTORIAL)
            return records.tutorial_game(study, participant, number)
        if stage is StudyStage.WARMUP:
            if partner is None:
                raise InputError("partner is missing; it takes the number of a partner")
            number = await self.ask(self.store.games_begun, participant.number, Phase.WARMUP)
            return records.warmup_game(study, participant, partner, number)
        return records.counted_game(study, participant)

    async def _start(
        self, visitor: _Present, start: GameStart, stored: StoredGame | None = None
    ) -> None:
        """Start a new game, or go on with a stored one; tell the page when it can run."""
        visitor.send({"type": "wait"})
        setup = await self._open(visitor.participant, start)
        listener = partial(visitor.on_tick, partial(self._complete_later, visitor))
        live = self.loop.add(setup, listener, _played(stored))
        try:
            if stored is None:
                live.number = await self.ask(self.store.begin_game, start, time.time())
            else:
                live.number = stored.number
                live.restore(stored.interruptions)
            await live.caught_up.wait()
        except BaseException:
            self.loop.remove(live)
            raise
        visitor.start = start
        live.details = self._details(visitor, start)
        if start.phase is Phase.GAME:
            live.most_pauses = self.store.study.numbers.pauses_most
        visitor.live = live
        if visitor.has_played:  # it ended just before the server did
            self._complete_later(visitor, live)
        else:
            self._announce(visitor, live)

    def _announce(self, visitor: _Present, live: LiveGame) -> None:
        """Tell the page of a game; one that was paused too often goes on at once."""
        visitor.send(live.announcement())
        if live.most_pauses is not None and live.pauses > live.most_pauses:
            visitor.play(wire.Ready(self.store.study.numbers.countdown_seconds))

    async def _open(self, participant: Participant, start: GameStart) -> GameSetup:
        """Open the game's room and set the game up.

        Where that fails the page is not told why: the reason could name the agent.
        """
        try:
            setup = GameSetup(
                layout=layouts.get(start.layout),
                partner=start.loaded,
                seat=start.seat,
                seed=start.seed,
                ticks=start.ticks,
                rate=start.ticks_per_second,
                slowness=start.agent_acts_once_in,
            )
            await self.loop.rooms.open_beside(setup.layout, [setup.partner])
        except InputError as error:
            _LOG.error("participant %d: a game cannot be opened: %s", participant.number, error)
            raise InputError(_CANNOT_OPEN) from None
        return setup

    def _details(self, visitor: _Present, start: GameStart) -> dict[str, Any]:
        partner = visitor.partner
        label = "" if partner is None else visitor.participant.plan.partners[partner].label
        return {
            "phase": str(start.phase),
            "partner": label,
            "may_stop": start.phase is not Phase.GAME,
            "countdown": self.store.study.numbers.countdown_seconds,
        }

    async def _stop(self, visitor: _Present) -> None:
        live = visitor.live
        start = visitor.start
        if live is None or start is None:
            raise InputError("no game is running")
        if visitor.has_played:  # its end is about to be stored
            return
        if start.phase is Phase.GAME:
            raise InputError("this game counts; please play it to its end")
        await self._finish(visitor, live, GameEnd.STOPPED)

    def _complete_later(self, visitor: _Present, live: LiveGame) -> None:
        """Finish a game that was played to its end, without holding up the clock."""
        if self._present.get(visitor.participant.number) is visitor:
            task = asyncio.create_task(self._complete(visitor, live))
            # An event loop keeps only weak references to its tasks.
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _complete(self, visitor: _Present, live: LiveGame) -> None:
        async with visitor.turn:
            if visitor.live is live:  # otherwise it is completed when its page comes back
                await self._finish(visitor, live, GameEnd.COMPLETE)

    async def _finish(self, visitor: _Present, live: LiveGame, ended: GameEnd) -> None:
        """Store the rest of a game and its end; then tell the page, and where they stand now."""
        self.loop.remove(live)
        number = visitor.participant.number
        score = live.game.score
        event = self._event_of_end(visitor, live)
        live.end_interruption()
        steps = live.take_steps()

        def store() -> Participant:
            self.store.append([steps])
            self.store.finish_game(live.number, score, time.time(), ended, event)
            return self.store.participant(number)

        try:
            visitor.participant = await self.ask(store)
        except Exception as error:
            self._not_stored(visitor, error)
            return
        visitor.live = None
        visitor.start = None
        ended_with = {"game": live.number, "score": score, "t": live.game.tick}
        visitor.send({"type": "over", **ended_with, "counts": event is not None})
        self._send_stage(visitor)

    def _event_of_end(self, visitor: _Present, live: LiveGame) -> StudyEvent | None:
        """What the end of the live game means for the participant's progress; perhaps nothing."""
        start = visitor.start
        if start is None:
            return None
        if start.phase is Phase.TUTORIAL:
            return TutorialDone() if live.game.score > 0 else None
        if start.phase is Phase.WARMUP:
            long_enough = live.game.tick >= self.store.study.numbers.warmup_ticks_least
            partner = visitor.partner
            return WarmupPlayed(partner) if long_enough and partner is not None else None
        return GamePlayed(start.number)

    async def _unload(self, visitor: _Present) -> None:
        """The page has gone: store what was played, and drop the game."""
        live = visitor.live
        number = visitor.participant.number
        self._present.pop(number, None)
        if live is not None and not live.game.is_over:
            live.leave()
            visitor.drop_game()
            try:
                await self.ask(self.store.append, [live.take_steps()])
            except Exception:
                lost = "participant %d: the last ticks of game %d are lost"
                _LOG.exception(lost, number, live.number)

    async def store_regularly(self) -> None:
        """Store what happened in all games, and acknowledge it, for ever."""
        while True:
            await asyncio.sleep(STORED_EVERY)
            await self.store_steps()

    async def store_steps(self) -> None:
        """Store what happened in all games since the last time; tell their pages."""
        batches: list[_UnstoredSteps] = []
        for visitor in self._present.values():
            live = visitor.live
            # A game that is over is stored together with its end, by `_finish`.
            if live and live.has_news and not live.game.is_over:
                batches.append(_UnstoredSteps(visitor, live, live.take_steps()))
        if not batches:
            return
        # Handed over at once: the end of one of these games must not reach the store before.
        storing = asyncio.get_running_loop().run_in_executor(
            self._writer, self.store.append, [batch.steps for batch in batches]
        )
        await asyncio.wait({storing}, timeout=_SLOW)
        waiting = [] if storing.done() else self._pause_all()
        try:
            refused = await storing
        except Exception as error:
            for batch in batches:
                self._not_stored(batch.visitor, error)
            return
        for visitor in waiting:
            if visitor.live is not None:
                visitor.send(visitor.live.announcement())
        for batch in batches:
            if batch.live.number in refused:
                gone = InputError("the game is not in the store any more")
                self._not_stored(batch.visitor, gone)
            else:
                batch.visitor.send({"type": "stored", "tick": batch.steps.end})

    def _pause_all(self) -> list[_Present]:
        """The database takes long: let all games wait for it, and tell their pages."""
        _LOG.error("the database takes more than %g seconds; all games wait", _SLOW)
        playing = [one for one in self._present.values() if one.live and one.live.due is not None]
        for visitor in playing:
            if visitor.live is not None:
                visitor.wait_for_store()
                visitor.send({"type": "trouble", "text": _SLOW_STORE})
        return playing

    def _not_stored(self, visitor: _Present, error: Exception) -> None:
        """Steps could not be stored: let the page come back to what the store holds."""
        _LOG.error("participant %d: not stored: %s", visitor.participant.number, error)
        visitor.drop_game()
        if visitor.page is not None:
            _send_away(visitor.page)

    async def withdraw(self, number: int) -> None:
        """Delete all data of a participant, and send them away."""
        await self.ask(self.store.withdraw, number)
        visitor = self._present.get(number)
        if visitor is not None:
            visitor.drop_game()
            if visitor.page is not None:
                visitor.page.refuse("withdrawn")
                visitor.page.close()

    async def close(self) -> None:
        """Store what is left, and end the store's thread."""
        await self.store_steps()
        self._writer.shutdown()


def _send_away(page: Connection) -> None:
    """Tell a page that nothing can be stored; it comes back to what the store holds."""
    page.send({"type": "trouble", "text": NOT_STORED})
    page.close(TRY_AGAIN_LATER)


def _played(stored: StoredGame | None) -> list[JointAction]:
    if stored is None:
        return []
    return [(int(first), int(second)) for first, second in stored.actions]
