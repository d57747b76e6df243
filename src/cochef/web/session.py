"""A game of a person with an agent: a pure state machine.

A game is its setup and the joint actions so far; played again through the rules of the kitchen they give every state
and the score. The person's keys are gathered between ticks. The agent acts once in some ticks and stays in between;
it sees, thinks and remembers only when it acts.
"""

import math
from dataclasses import dataclass, field, replace

from cochef.errors import InputError, shown
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.layout import Layout

MAX_TICKS = 10_000
MAX_SLOWNESS = 101
MAX_RATE = 1_000.0
MAX_SEED = 2**32 - 1

_WAITING = 2  # key presses that are kept for the next ticks

Joint = tuple[int, int]


@dataclass(frozen=True)
class Setup:
    """Everything that a game depends on but the person."""

    layout: Layout
    partner: str  # the agent's name for the loader
    seat: int  # the person's
    seed: int
    ticks: int
    rate: float  # ticks a second
    slowness: int  # the agent acts once in so many ticks

    def __post_init__(self) -> None:
        """Complain about what no game can have."""
        _check("seat", self.seat, 0, SEATS - 1)
        _check("seed", self.seed, 0, MAX_SEED)
        _check("ticks", self.ticks, 1, MAX_TICKS)
        _check("slowness", self.slowness, 1, MAX_SLOWNESS)
        if not math.isfinite(self.rate) or not 0 < self.rate <= MAX_RATE:
            raise InputError(
                f"rate is {shown(self.rate)}; it takes a number above 0, up to {MAX_RATE:g} ticks a second"
            )


@dataclass(frozen=True)
class Keys:
    """Key presses that no tick has used yet, and the key that is held down."""

    waiting: tuple[Action, ...] = ()
    held: Action | None = None

    def press(self, action: Action) -> "Keys":
        """One more press; of too many the oldest are forgotten. A held direction goes on until it is let go."""
        held = None if action in (Action.INTERACT, Action.STAY) else action
        return Keys((*self.waiting, action)[-_WAITING:], held)

    def release(self, action: Action) -> "Keys":
        """The key is up; what it asked for before still counts."""
        return replace(self, held=None) if self.held is action else self

    def take(self) -> tuple[Action, "Keys"]:
        """What the person does in the next tick, and the keys afterwards."""
        if self.waiting:
            return self.waiting[0], replace(self, waiting=self.waiting[1:])
        return (Action.STAY if self.held is None else self.held), self


@dataclass(frozen=True)
class Game:
    """A game so far: ticks played, score, and the person's keys."""

    setup: Setup
    tick: int = 0
    score: float = 0.0
    keys: Keys = field(default_factory=Keys)

    @property
    def is_over(self) -> bool:
        """Whether all ticks have been played."""
        return self.tick >= self.setup.ticks

    @property
    def agent_acts(self) -> bool:
        """Whether the agent acts in the next tick: after its idle ticks, once in as many as it is slow."""
        return (self.tick + 1) % self.setup.slowness == 0

    def press(self, action: Action) -> "Game":
        """The person pressed a key."""
        return replace(self, keys=self.keys.press(action))

    def release(self, action: Action) -> "Game":
        """The person let a key go."""
        return replace(self, keys=self.keys.release(action))

    def let_go(self) -> "Game":
        """No key is down and none waits."""
        return replace(self, keys=Keys())

    def choose(self) -> tuple[Action, "Game"]:
        """What the person does in the next tick, and the game with those keys used."""
        action, keys = self.keys.take()
        return action, replace(self, keys=keys)

    def advance(self, reward: float) -> "Game":
        """One tick later."""
        if self.is_over:
            raise ValueError(f"the game is over after {self.setup.ticks} ticks")
        return replace(self, tick=self.tick + 1, score=self.score + reward)


def _check(what: str, number: object, least: int, most: int) -> None:
    if type(number) is not int or not least <= number <= most:
        raise InputError(f"{what} is {shown(number)}; it takes a whole number from {least} to {most}")
