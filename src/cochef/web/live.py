"""A live game: between the clock, which ticks it, the page, which shows it, and the store."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cochef.kitchen.text import event_names
from cochef.web import art
from cochef.web.records import Interruption, InterruptionReason, Steps
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
    history: list[str] | None = None  # all moments as JSON, where a page may ask for them again
    most_pauses: int | None = None  # after so many it goes on when its page is hidden or stalls
    pauses: int = 0
    interruption: Interruption | None = None  # that lasts
    interruptions: list[Interruption] = field(default_factory=list)  # over, not yet given to it

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
        """Keep the reward of replayed ticks, and the state after them."""
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
            episode_start=self.game.tick == 0,
        )

    def announcement(self) -> dict[str, Any]:
        """The message that tells a page everything about the game."""
        setup = self.game.setup
        # As texts: reading all moments again would hold up the clock.
        earlier = {"earlier": self.history} if self.history else {}
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
            **earlier,
        }

    def keep_history(self) -> None:
        """Keep all moments from now on, so that a page can show the whole game again."""
        nothing: list[list[str]] = [[], []]
        moment = {"t": self.game.tick, "state": self.state, "score": 0.0, "events": nothing}
        self.history = [json.dumps(moment)]

    def tick_message(self, result: TickResult) -> dict[str, Any]:
        """The message that tells the page of the tick just played; notes when it is sent."""
        self.sent[self.game.tick] = time.monotonic()
        moment = {
            "t": self.game.tick,
            "state": result.state,
            "score": self.game.score,
            "events": [event_names(events) for events in result.events],
        }
        if self.history is not None:
            self.history.append(json.dumps(moment, separators=(",", ":")))
        return {"type": "tick", **moment, "actions": result.actions}

    def note_drawn(self, tick: int) -> None:
        """Note the milliseconds from sending states, up to this many ticks, to drawing the last.

        A page that gets several states between two pictures draws only the last of them.
        """
        now = time.monotonic()
        for earlier in [number for number in self.sent if number <= tick]:
            milliseconds = round(1000 * (now - self.sent.pop(earlier)))
            self.lags.append((earlier - 1, milliseconds))
        if self.interruption is not None and not self.interruption.paused and not self.sent:
            self.end_interruption()

    @property
    def seconds_behind(self) -> float:
        """How long ago the first state was sent that the page has not drawn."""
        return time.monotonic() - next(iter(self.sent.values())) if self.sent else 0.0

    @property
    def may_pause(self) -> bool:
        """Whether the game still pauses when its page is hidden or stalls."""
        return self.most_pauses is None or self.pauses < self.most_pauses

    def interrupt(self, reason: InterruptionReason) -> Interruption:
        """Note that the participant does not see the game from now on."""
        # Nobody can play without a page or a store, so these always pause the game.
        always = (InterruptionReason.GONE, InterruptionReason.STORE)
        paused = self.may_pause or reason in always
        self.pauses += paused and reason is not InterruptionReason.STORE
        self.interruption = Interruption(
            len(self.actions), reason, paused, len(self.sent), time.time()
        )
        return self.interruption

    def end_interruption(self) -> None:
        """Note that the participant sees the game again."""
        if self.interruption is not None:
            ended = self.interruption.end(time.time())
            unseen = 0 if ended.paused else len(self.actions) - ended.tick
            self.interruptions.append(replace(ended, undrawn=ended.undrawn + unseen))
        self.interruption = None
        self.sent.clear()

    def leave(self) -> None:
        """Note that the page has gone, for the store: the interruption lasts."""
        if self.interruption is not None and not self.interruption.paused:
            self.end_interruption()
        if self.interruption is None and self.actions:
            self.interrupt(InterruptionReason.GONE)
        if self.interruption is not None:
            self.interruptions.append(self.interruption)

    def restore(self, interruptions: Sequence[Interruption]) -> None:
        """Take up a stored game: how often it was paused, and why it stands."""
        own = [one for one in interruptions if one.reason is not InterruptionReason.STORE]
        self.pauses = sum(one.paused for one in own)
        still = [one for one in interruptions if not one.is_over]
        if still:
            self.interruption = still[-1]
        elif self.actions:  # the server was stopped, nobody knows when
            self.interruption = replace(self.interrupt(InterruptionReason.GONE), began=None)

    def take_steps(self) -> Steps:
        """What the store has not been given yet: joint actions, lags and interruptions."""
        steps = Steps(
            self.number,
            self.stored,
            tuple(self.actions[self.stored :]),
            tuple(self.lags),
            tuple(self.interruptions),
        )
        self.stored = len(self.actions)
        self.lags = []
        self.interruptions = []
        return steps

    @property
    def has_news(self) -> bool:
        """Whether there is something that the store has not been given yet."""
        return self.stored < len(self.actions) or bool(self.interruptions)
