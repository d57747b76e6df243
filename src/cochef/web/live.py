"""A live game: between the clock, which ticks it, the page, which shows it, and the store."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cochef.kitchen.text import event_names
from cochef.web import art
from cochef.web.records import Steps
from cochef.web.room import AGENT, AT_ONCE, Room, SlotCommand, TickResult
from cochef.web.session import JointAction, Keys, PlayedGame

Listener = Callable[["LiveGame", TickResult], None]  # called after each tick


@dataclass(eq=False)
class LiveGame:
    """A game in a slot of a room: its progress, the person's keys, and what is not stored yet.

    Where the game was interrupted, `actions` begins with those of the earlier ticks; until they
    have been replayed, the game is behind.
    """

    game: PlayedGame
    room: Room
    slot: int
    listener: Listener
    state: dict[str, Any]  # of the kitchen, as JSON
    actions: list[JointAction]  # of all ticks
    number: int = 0  # by which store and page know the game
    details: Mapping[str, Any] = field(default_factory=dict)  # what the page may know besides
    keys: Keys = field(default_factory=Keys)
    due: float | None = None  # when it ticks next; None while it is paused
    caught_up: asyncio.Event = field(default_factory=asyncio.Event)
    stored: int = 0  # ticks that the store has been given
    lags: list[tuple[int, int]] = field(default_factory=list)  # (tick, ms), not yet given to it
    sent: dict[int, float] = field(default_factory=dict)  # when each undrawn tick was sent

    @property
    def is_behind(self) -> bool:
        """Whether earlier ticks have to be replayed before the game can run."""
        return self.game.tick < len(self.actions)

    def next_command(self) -> SlotCommand:
        """The next tick, with the action that the person's keys ask for."""
        action, self.keys = self.keys.take()
        person = int(action)
        return self._command((person, AGENT) if self.game.setup.seat == 0 else (AGENT, person))

    def apply(self, result: TickResult) -> None:
        """Keep what happened in a tick."""
        self.game = self.game.advance(result.reward)
        self.state = result.state
        self.actions.append(result.actions)

    def replay_commands(self) -> list[SlotCommand]:
        """The next earlier ticks; the game is past them then, but without their rewards."""
        commands = []
        while self.is_behind and len(commands) < AT_ONCE:
            commands.append(self._command(self.actions[self.game.tick]))
            self.game = self.game.advance(0.0)
        return commands

    def apply_replay(self, result: TickResult) -> None:
        """Keep what replayed ticks earned, and where they led."""
        self.game = replace(self.game, score=self.game.score + result.reward)
        self.state = result.state
        if not self.is_behind:
            self.caught_up.set()

    def _command(self, actions: JointAction) -> SlotCommand:
        setup = self.game.setup
        return SlotCommand(
            slot=self.slot,
            actions=actions,
            agent_acts=self.game.agent_acts,
            agent=self.room.number_of(setup.partner),
            seat=setup.agent_seat,
            seed=setup.seed,
            ticks=setup.ticks,
            begins=self.game.tick == 0,
        )

    def announcement(self) -> dict[str, Any]:
        """The message that tells a page everything about the game."""
        setup = self.game.setup
        return {
            "type": "game",
            "game": self.number,
            **self.details,
            "kitchen": art.describe(setup.layout),
            "seat": setup.seat,
            "ticks": setup.ticks,
            "rate": setup.rate,
            "t": self.game.tick,
            "state": self.state,
            "score": self.game.score,
        }

    def tick_message(self, result: TickResult) -> dict[str, Any]:
        """The message that tells the page of the tick just played; notes when it is sent."""
        self.sent[self.game.tick] = time.monotonic()
        return {
            "type": "tick",
            "t": self.game.tick,
            "state": result.state,
            "score": self.game.score,
            "actions": result.actions,
            "events": [event_names(events) for events in result.events],
        }

    def note_drawn(self, tick: int) -> None:
        """Note the milliseconds from sending a state, after this many ticks, to its drawing."""
        if tick in self.sent:
            milliseconds = round(1000 * (time.monotonic() - self.sent.pop(tick)))
            self.lags.append((tick - 1, milliseconds))

    def take_steps(self) -> Steps:
        """What the store has not been given yet: joint actions, and the lags reported since."""
        steps = Steps(
            self.number, self.stored, tuple(self.actions[self.stored :]), tuple(self.lags)
        )
        self.stored = len(self.actions)
        self.lags = []
        return steps
