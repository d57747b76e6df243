"""The server's clock: all running games tick together, room by room.

Games of the same rate tick at the same moments. A game that runs late skips what it missed; it
never hurries.
"""

import asyncio
import gc
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest

import jax

from cochef.agents import names
from cochef.errors import InputError
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import start
from cochef.kitchen.text import to_json
from cochef.web.live import Listener, LiveGame
from cochef.web.room import Room, SlotCommand
from cochef.web.session import GameSetup, JointAction, PlayedGame

MOST_TIMES = 20_000  # ticks whose timing is kept

_MOST_UNSWEPT = 24  # closed rooms of some 8 MB each whose memory waits until nobody plays

_LOG = logging.getLogger(__name__)


class FullError(Exception):
    """There is no slot left for another game."""


class Rooms:
    """The open rooms. Opening one compiles and may take seconds; finding one does not."""

    def __init__(self, slots: int, most: int | None = None, own_code: Collection[str] = ()) -> None:
        """No room is open yet; each will have so many slots.

        With `most`, the rooms without a game that were used longest ago are closed beyond it.
        `own_code` are the names of own agents whose code may be run: never names from a page.
        """
        self._slots = slots
        self._most = most
        self._own_code = frozenset(own_code)
        self._unswept = 0  # rooms that were closed and whose memory is not free yet
        self._rooms: dict[tuple[Layout, str], Room] = {}
        self._opener = ThreadPoolExecutor(1, "opener")

    async def open_beside(self, layout: Layout, partners: Sequence[str]) -> None:
        """Open a room in another thread, while the server goes on."""
        if not self._is_open(layout, partners):
            event_loop = asyncio.get_running_loop()
            await event_loop.run_in_executor(self._opener, self.open, layout, partners)
            self._close_idle()
            nobody_plays = not any(room.games for room in self._rooms.values())
            if self._unswept and (nobody_plays or self._unswept >= _MOST_UNSWEPT):
                self._unswept = 0
                await event_loop.run_in_executor(self._opener, _sweep)

    def _close_idle(self) -> None:
        """Close rooms beyond the most, while they have no game; those just opened come last."""
        open_rooms = list(dict.fromkeys(self._rooms.values()))
        excess = 0 if self._most is None else len(open_rooms) - self._most
        idle = [room for room in open_rooms[:-1] if not room.games]
        closed = set(idle[: max(0, excess)])
        if closed:
            self._rooms = {key: room for key, room in self._rooms.items() if room not in closed}
            self._unswept += len(closed)

    def open(self, layout: Layout, partners: Sequence[str]) -> None:
        """Open one room for all these partners on a layout, unless it is open already."""
        if not self._is_open(layout, partners):
            agents = {
                partner: names.load(partner, layout, own_code=partner in self._own_code)
                for partner in dict.fromkeys(partners)
            }
            room = Room(layout, agents, self._slots)
            self._rooms.update({(layout, partner): room for partner in agents})
            # Programs stay for long. Searching them for garbage would hold up the clock for some
            # tenths of a second.
            gc.freeze()

    def find(self, layout: Layout, partner: str) -> Room:
        """The open room of a partner on a layout."""
        if (layout, partner) not in self._rooms:
            raise InputError(f"no room is open for {partner!r} in {layout.name}")
        room = self._rooms.pop((layout, partner))
        self._rooms[layout, partner] = room  # the one used last comes last
        return room

    @property
    def open_rooms(self) -> int:
        """How many rooms are open."""
        return len(set(self._rooms.values()))

    def _is_open(self, layout: Layout, partners: Sequence[str]) -> bool:
        return all((layout, partner) in self._rooms for partner in partners)


def _sweep() -> None:
    """Free the memory of closed rooms; it holds up the clock, so it is done rarely."""
    jax.clear_caches()  # of tracing; open rooms have their programs
    gc.unfreeze()
    gc.collect()
    gc.freeze()


@dataclass
class Punctuality:
    """How late ticks began, and how long they took, in seconds."""

    late: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_TIMES))
    took: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_TIMES))


class GameLoop:
    """Gives every live game a slot and ticks the running ones."""

    def __init__(
        self, rooms: Rooms, capacity: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """No games yet; at most `capacity` at a time."""
        self.rooms = rooms
        self.capacity = capacity
        self.punctuality = Punctuality()
        self._clock = clock
        self._games: list[LiveGame] = []
        self._woken = asyncio.Event()

    @property
    def running(self) -> int:
        """How many games are not paused."""
        return sum(live.due is not None for live in self._games)

    def add(
        self, setup: GameSetup, listener: Listener, played: Sequence[JointAction] = ()
    ) -> LiveGame:
        """Add a game, paused; its room must be open.

        Actions that were played before are replayed between the ticks of the other games; only then
        can the game be resumed.
        """
        room = self.rooms.find(setup.layout, setup.partner)
        taken = {live.slot for live in self._games if live.room is room}
        if len(self._games) >= self.capacity or len(taken) >= room.slots:
            raise FullError(f"{len(self._games)} games are running; at most {self.capacity}")
        live = LiveGame(
            game=PlayedGame(setup),
            room=room,
            slot=min(set(range(room.slots)) - taken),
            listener=listener,
            state=to_json(setup.layout, start(setup.layout)),
            actions=list(played),
            stored=len(played),
        )
        if not played:
            live.caught_up.set()
        room.games += 1
        self._games.append(live)
        self._woken.set()
        return live

    def resume(self, live: LiveGame, wait: float = 0.0) -> None:
        """Let a game run from its first moment after this many seconds."""
        if live in self._games and live.caught_up.is_set() and not live.game.is_over:
            live.due = _next_moment(self._clock() + wait, live.game.setup.rate)
            self._woken.set()

    def pause(self, live: LiveGame) -> None:
        """Stop a game until it is resumed."""
        live.due = None

    def remove(self, live: LiveGame) -> None:
        """Remove a game and free its slot."""
        live.due = None
        if live in self._games:
            self._games.remove(live)
            live.room.games -= 1

    def tick(self, now: float) -> None:
        """Advance every game that is due by one tick."""
        due = {live: live.due for live in self._games if live.due is not None and live.due <= now}
        if not due:
            return
        self.punctuality.late.append(now - min(due.values()))
        for live in due:
            live.due = _next_moment(now, live.game.setup.rate)
        for room, games in _by_room(due):
            results = room.play([[live.next_command() for live in games]])
            for live, result in zip(games, results, strict=True):
                live.apply(result)
                if result.fault is not None:
                    _LOG.error("a game is paused: %s", result.fault)
                if live.game.is_over or result.fault is not None:
                    live.due = None
                live.listener(live, result)
        self.punctuality.took.append(self._clock() - now)

    def catch_up(self) -> bool:
        """Replay some earlier ticks of every game that is behind; whether there were any."""
        behind = [live for live in self._games if live.is_behind]
        for room, games in _by_room(behind):
            commands = [live.replay_commands() for live in games]
            # Games may have different numbers of ticks left: the longer ones come last alone.
            results = room.play([_present(tick) for tick in zip_longest(*commands)])
            for live, result in zip(games, results, strict=True):
                live.apply_replay(result)
        return bool(behind)

    async def run(self) -> None:
        """Tick for ever."""
        while True:
            try:
                await self._wait_and_tick()
            except Exception:  # one game's fault must not stop the others
                _LOG.exception("a tick failed")

    async def _wait_and_tick(self) -> None:
        self._woken.clear()
        caught_up_some = self.catch_up()
        moments = [live.due for live in self._games if live.due is not None]
        wait = min(moments) - self._clock() if moments else None
        if caught_up_some or (wait is not None and wait <= 0):
            await asyncio.sleep(0)
        else:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), wait)
        self.tick(self._clock())


def _by_room(games: Iterable[LiveGame]) -> Iterator[tuple[Room, list[LiveGame]]]:
    grouped: dict[Room, list[LiveGame]] = {}
    for live in games:
        grouped.setdefault(live.room, []).append(live)
    yield from grouped.items()


def _present(tick: Iterable[SlotCommand | None]) -> list[SlotCommand]:
    return [command for command in tick if command is not None]


def _next_moment(now: float, rate: float) -> float:
    """The first moment after now at which games of this rate tick."""
    return (math.floor(now * rate) + 1) / rate
