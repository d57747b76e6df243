"""A person in front of a page: at most one open page and one live game."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cochef.web.connection import Connection
from cochef.web.live import LiveGame
from cochef.web.loop import GameLoop
from cochef.web.records import InterruptionReason
from cochef.web.room import TickResult
from cochef.web.session import Keys
from cochef.web.wire import GameMessage, KeyChange, PauseGame, Ready, TickDrawn

STALL_SECONDS = 2.0  # a page that far behind pauses its game, unless a study says otherwise
FAULT = "The other chef has stopped working; the game is paused. Please tell whoever runs this."


@dataclass(eq=False)
class Visitor:
    """A person with at most one open page and one live game."""

    loop: GameLoop
    page: Connection | None = None
    live: LiveGame | None = None
    left: float = field(default_factory=time.monotonic)  # when the last page went
    stall_seconds: float = STALL_SECONDS

    def arrive(self, page: Connection, take_over: bool) -> bool:
        """Make this the person's page, unless another tab has them and is not to be taken over."""
        if self.page is not None and self.page is not page:
            if not take_over:
                page.refuse("elsewhere")
                return False
            self.page.refuse("elsewhere")
            self.page.in_use = False
        self.page = page
        page.in_use = True
        return True

    def leave(self, page: Connection) -> bool:
        """The page has gone; a running game is paused. False when the person has another page."""
        if self.page is not page:
            return False
        self.page = None
        self.left = time.monotonic()
        if self.live is not None:
            self.loop.pause(self.live)
            self.live.keys = Keys()  # a page that has gone reports no key that goes up
        return True

    def send(self, message: Mapping[str, Any]) -> None:
        """Send the page a message, if there is one."""
        if self.page is not None:
            self.page.send(message)

    def drop_game(self) -> None:
        """Forget the live game and free its slot."""
        if self.live is not None:
            self.loop.remove(self.live)
            self.live = None

    def play(self, message: GameMessage) -> None:
        """Apply what the page says in a game; without one it means nothing."""
        if self.live is None:
            return
        live = self.live
        match message:
            case Ready(seconds) if live.due is None and live.caught_up.is_set():
                live.end_interruption()
                self.send({"type": "count", "seconds": seconds})
                self.loop.resume(live, seconds)
            case PauseGame():
                self.interrupt(InterruptionReason.HIDDEN)
            case KeyChange(action, down=True):
                live.keys = live.keys.press(action)
            case KeyChange(action, down=False):
                live.keys = live.keys.release(action)
            case TickDrawn(tick):
                live.note_drawn(tick)
            case _:
                pass

    def on_tick(self, over: Callable[[LiveGame], None], live: LiveGame, result: TickResult) -> None:
        """Show the page a tick of its game; after the last one call `over`."""
        if self.live is live:
            self.send(live.tick_message(result))
            if result.fault is not None:  # its text may say who the partner is
                self.send({"type": "error", "message": FAULT})
            if live.game.is_over:
                over(live)
            elif live.seconds_behind > self.stall_seconds:
                self.interrupt(InterruptionReason.STALL)

    def wait_for_store(self) -> None:
        """Nothing can be stored for a while: pause the running game, whatever is allowed."""
        live = self.live
        if live is not None and live.due is not None:
            if live.interruption is not None:  # one in which the game went on
                live.end_interruption()
            live.interrupt(InterruptionReason.STORE)
            self.loop.pause(live)
            live.keys = Keys()

    def interrupt(self, reason: InterruptionReason) -> None:
        """The person does not see the running game: pause it, if that is still allowed."""
        live = self.live
        if live is None or live.due is None or live.interruption is not None:
            return
        if live.interrupt(reason).paused:
            self.loop.pause(live)
            live.keys = Keys()  # keys that go up in the meantime are not reported
        left = None if live.most_pauses is None else max(0, live.most_pauses - live.pauses)
        said = {"reason": str(reason), "stands": live.due is None, "left": left}
        self.send({"type": "paused", **said})
