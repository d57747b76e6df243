"""A person and their live game: what the page is told, and what is kept for the store."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cochef.kitchen.text import event_names
from cochef.web import art
from cochef.web.connection import Connection
from cochef.web.loop import Loop, Table
from cochef.web.records import Steps
from cochef.web.room import Happened
from cochef.web.session import Joint
from cochef.web.wire import Key, Ready, Seen


@dataclass(eq=False)
class Live:
    """A live game: its table, what the page has to know about it, and what happened so far."""

    number: int
    table: Table
    about: Mapping[str, Any]  # phase and partner, as the page may know them
    actions: list[Joint] = field(default_factory=list)
    lags: list[tuple[int, int]] = field(default_factory=list)  # see `drawn`; those the store has not been given
    taken: int = 0  # ticks that the store has been given
    sent: dict[int, float] = field(default_factory=dict)  # when ticks were sent that the page has not drawn yet

    def announce(self) -> dict[str, Any]:
        """The game as it stands, for a page that does not know it yet."""
        setup, game = self.table.game.setup, self.table.game
        return {
            "type": "game",
            "game": self.number,
            **self.about,
            "kitchen": art.describe(setup.layout),
            "seat": setup.seat,
            "ticks": setup.ticks,
            "rate": setup.rate,
            "t": game.tick,
            "state": self.table.state,
            "score": game.score,
        }

    def note(self, happened: Happened) -> dict[str, Any]:
        """Keep a tick; the message that tells the page of it."""
        self.actions.append(happened.actions)
        self.sent[len(self.actions)] = time.monotonic()
        return {
            "type": "tick",
            "t": self.table.game.tick,
            "state": happened.state,
            "score": self.table.game.score,
            "actions": happened.actions,
            "events": [event_names(events) for events in happened.events],
        }

    def drawn(self, tick: int) -> None:
        """The page has drawn the state after this many ticks: the milliseconds since the last of them was sent."""
        if tick in self.sent:
            self.lags.append((tick - 1, round(1000 * (time.monotonic() - self.sent.pop(tick)))))

    def take(self) -> Steps:
        """What the store has not been given yet: actions, and the lags that the page has reported since."""
        steps = Steps(self.number, self.taken, tuple(self.actions[self.taken :]), tuple(self.lags))
        self.taken, self.lags = len(self.actions), []
        return steps


@dataclass(eq=False)
class Guest:
    """A person: at most one page and one live game."""

    loop: Loop
    page: Connection | None = None
    live: Live | None = None
    left: float = field(default_factory=time.monotonic)  # when the last page went

    def arrive(self, page: Connection, take_over: bool) -> bool:
        """Make this the person's page, unless another tab has them and is not to be taken over."""
        if self.page is not None and self.page is not page:
            if not take_over:
                page.send({"type": "elsewhere"})
                return False
            self.page.send({"type": "elsewhere"})
        self.page = page
        return True

    def depart(self, page: Connection) -> bool:
        """The page has gone; a running game waits. False when the person has another page."""
        if self.page is not page:
            return False
        self.page, self.left = None, time.monotonic()
        if self.live is not None:
            self.loop.rest(self.live.table)
            self.live.table.game = self.live.table.game.let_go()
        return True

    def say(self, message: Mapping[str, Any]) -> None:
        """Tell the page, if there is one."""
        if self.page is not None:
            self.page.send(message)

    def drop(self) -> None:
        """The live game is gone and its slot free."""
        if self.live is not None:
            self.loop.leave(self.live.table)
            self.live = None

    def play(self, message: Ready | Key | Seen) -> None:
        """What the page says in a game; without one it means nothing."""
        if self.live is None:
            return
        table = self.live.table
        match message:
            case Ready(seconds) if table.due is None and table.caught_up.is_set():
                self.say({"type": "count", "seconds": seconds})
                self.loop.resume(table, seconds)
            case Key(action, True):
                table.game = table.game.press(action)
            case Key(action, False):
                table.game = table.game.release(action)
            case Seen(tick):
                self.live.drawn(tick)
            case _:
                pass

    def listener(self, over: Callable[["Guest", Live], None]) -> Callable[[Table, Happened], None]:
        """What the loop calls after each tick: tells the page, and says when the game is over."""

        def hear(table: Table, happened: Happened) -> None:
            if self.live is None or self.live.table is not table:
                return
            self.say(self.live.note(happened))
            if table.game.is_over:
                over(self, self.live)

        return hear
