"""The clock of the server: all running games are ticked together, room by room.

Games of the same rate tick at the same moments. A game that runs late skips what it missed; it never hurries.
"""

import asyncio
import gc
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

from cochef.agents import names
from cochef.errors import InputError
from cochef.kitchen.constants import SEATS
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import start
from cochef.kitchen.text import to_json
from cochef.web.room import AGENT, AT_ONCE, Happened, Order, Room
from cochef.web.session import Game, Joint, Setup

REMEMBERED = 20_000  # ticks whose punctuality is kept

_LOG = logging.getLogger(__name__)

Listener = Callable[["Table", Happened], None]


class FullError(Exception):
    """There is no slot left for another game."""


class Rooms:
    """The rooms that have been opened. Opening compiles and may take seconds; finding does not."""

    def __init__(self, slots: int) -> None:
        """No room is open yet; each will have so many slots."""
        self._slots = slots
        self._rooms: dict[tuple[Layout, str], Room] = {}
        self._opener = ThreadPoolExecutor(1, "opener")

    async def opened(self, layout: Layout, partners: Sequence[str]) -> None:
        """Open a room while the server goes on."""
        if any((layout, partner) not in self._rooms for partner in partners):
            await asyncio.get_running_loop().run_in_executor(self._opener, self.open, layout, partners)

    def open(self, layout: Layout, partners: Sequence[str]) -> None:
        """One room for all these partners in a kitchen; at once if it is open already."""
        if any((layout, partner) not in self._rooms for partner in partners):
            agents = {partner: names.load(partner, layout) for partner in dict.fromkeys(partners)}
            room = Room(layout, agents, self._slots)
            self._rooms.update({(layout, partner): room for partner in agents})
            gc.freeze()  # programs stay: searching them for garbage would hold up the clock for some tenths of a second

    def find(self, layout: Layout, partner: str) -> Room:
        """The open room of a partner in a kitchen."""
        if (layout, partner) not in self._rooms:
            raise InputError(f"no room is open for {partner!r} in {layout.name}")
        return self._rooms[layout, partner]


@dataclass(eq=False)
class Table:
    """A live game: where it is played, how it stands, and who listens."""

    game: Game
    room: Room
    slot: int
    listener: Listener
    state: dict
    due: float | None = None  # when it ticks next; None while it rests
    replayed: deque[Joint] = field(default_factory=deque)  # what was played before and is still to be played again
    caught_up: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def agent_seat(self) -> int:
        """Where the agent sits."""
        return SEATS - 1 - self.game.setup.seat

    def order(self, actions: Joint) -> Order:
        """The next tick with these actions."""
        setup = self.game.setup
        return Order(
            slot=self.slot,
            actions=actions,
            thinks=self.game.agent_acts,
            agent=self.room.number_of(setup.partner),
            seat=self.agent_seat,
            seed=setup.seed,
            ticks=setup.ticks,
            begins=self.game.tick == 0,
        )

    def choose(self) -> Order:
        """The next tick as the person's keys ask for it."""
        action, self.game = self.game.choose()
        person = int(action)
        return self.order((person, AGENT) if self.game.setup.seat == 0 else (AGENT, person))

    def happen(self, happened: Happened) -> None:
        """Take note of a tick."""
        self.game = self.game.advance(happened.reward)
        self.state = happened.state

    def again(self) -> list[Order]:
        """The next ticks that were played before; the game is past them then, but for what they earn."""
        orders = []
        while self.replayed and len(orders) < AT_ONCE:
            orders.append(self.order(self.replayed.popleft()))
            self.game = self.game.advance(0.0)
        return orders

    def happened_again(self, happened: Happened) -> None:
        """Take note of what those ticks earned, and where they led."""
        self.game = replace(self.game, score=self.game.score + happened.reward)
        self.state = happened.state
        if not self.replayed:
            self.caught_up.set()


@dataclass
class Punctuality:
    """How late ticks began, and how long they took, in seconds."""

    late: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    took: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))


class Loop:
    """Seats people at tables and ticks the running games."""

    def __init__(self, rooms: Rooms, capacity: int, clock: Callable[[], float] = time.monotonic) -> None:
        """No games yet; at most `capacity` at a time."""
        self.rooms = rooms
        self.capacity = capacity
        self.punctuality = Punctuality()
        self._clock = clock
        self._tables: list[Table] = []
        self._woken = asyncio.Event()

    @property
    def tables(self) -> Sequence[Table]:
        """The live games."""
        return self._tables

    def seat(self, setup: Setup, listener: Listener, played: Sequence[Joint] = ()) -> Table:
        """A game that rests; its room must be open.

        Where actions have been played before, they are played again between the ticks of the other games, until the
        table has caught up.
        """
        room = self.rooms.find(setup.layout, setup.partner)
        taken = {table.slot for table in self._tables if table.room is room}
        if len(self._tables) >= self.capacity or len(taken) >= room.slots:
            raise FullError(f"{len(self._tables)} games are running; at most {self.capacity}")
        slot = min(set(range(room.slots)) - taken)
        table = Table(Game(setup), room, slot, listener, to_json(setup.layout, start(setup.layout)))
        table.replayed.extend(played)
        if not played:
            table.caught_up.set()
        self._tables.append(table)
        self._woken.set()
        return table

    def resume(self, table: Table, wait: float = 0.0) -> None:
        """The game runs from its first moment after this many seconds."""
        if table in self._tables and table.caught_up.is_set() and not table.game.is_over:
            table.due = _next_moment(self._clock() + wait, table.game.setup.rate)
            self._woken.set()

    def rest(self, table: Table) -> None:
        """The game stands still until it is resumed."""
        table.due = None

    def leave(self, table: Table) -> None:
        """The game is gone and its slot free."""
        table.due = None
        if table in self._tables:
            self._tables.remove(table)

    def next_due(self) -> float | None:
        """When the next game ticks."""
        return min((table.due for table in self._tables if table.due is not None), default=None)

    def tick(self, now: float) -> None:
        """Advance every game that is due."""
        due = [table for table in self._tables if table.due is not None and table.due <= now]
        if not due:
            return
        self.punctuality.late.append(now - min(table.due for table in due if table.due is not None))
        for table in due:
            table.due = _next_moment(now, table.game.setup.rate)
        for room in dict.fromkeys(table.room for table in due):
            here = [table for table in due if table.room is room]
            for table, happened in zip(here, room.tick([table.choose() for table in here]), strict=True):
                table.happen(happened)
                if table.game.is_over:
                    table.due = None
                table.listener(table, happened)
        self.punctuality.took.append(self._clock() - now)

    def catch_up(self) -> bool:
        """Play some more of the earlier ticks in every game that has any left; whether there were any."""
        behind = [table for table in self._tables if table.replayed]
        for room in dict.fromkeys(table.room for table in behind):
            here = [table for table in behind if table.room is room]
            orders = [table.again() for table in here]
            ticks = [[own[n] for own in orders if n < len(own)] for n in range(max(map(len, orders)))]
            for table, happened in zip(here, room.play(ticks), strict=True):
                table.happened_again(happened)
        return bool(behind)

    async def run(self) -> None:
        """Tick for ever."""
        while True:
            try:
                await self._turn()
            except Exception:  # one game's fault must not stop the others
                _LOG.exception("a tick failed")

    async def _turn(self) -> None:
        """Wait until something is due, and do it."""
        self._woken.clear()
        busy = self.catch_up()
        due = self.next_due()
        wait = None if due is None else due - self._clock()
        if busy or (wait is not None and wait <= 0):
            await asyncio.sleep(0)
        else:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), wait)
        self.tick(self._clock())


def _next_moment(now: float, rate: float) -> float:
    """The first moment after now at which games of this rate tick."""
    return (math.floor(now * rate) + 1) / rate
