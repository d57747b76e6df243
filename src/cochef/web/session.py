"""A game of a person with an agent, as pure values.

A game is its setup and the joint actions so far: played again by the rules they give every state
and the score. Key presses are collected between ticks; a tick is one step of the kitchen, at the
pace of the clock. The agent acts once in some ticks and stays in between; it observes and updates
its carry only when it acts.
"""

from dataclasses import dataclass, replace

from cochef.agents.modified import MAX_SLOWNESS
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.layout import Layout
from cochef.validation import positive_number, whole_number

MAX_TICKS = 10_000
MAX_RATE = 1_000.0
MAX_SEED = 2**32 - 1

_MOST_WAITING = 2  # two quick taps both count; a longer queue would feel like a lag

JointAction = tuple[int, int]  # by seat


@dataclass(frozen=True)
class GameSetup:
    """Everything that a game depends on but the person."""

    layout: Layout
    partner: str  # the agent's name for the loader
    seat: int  # the person's
    seed: int
    ticks: int
    rate: float  # ticks a second
    slowness: int  # the agent acts once in so many ticks

    def __post_init__(self) -> None:
        """Refuse what no game can have."""
        whole_number(self.seat, "seat", 0, SEATS - 1)
        whole_number(self.seed, "seed", 0, MAX_SEED)
        whole_number(self.ticks, "ticks", 1, MAX_TICKS)
        whole_number(self.slowness, "slowness", 1, MAX_SLOWNESS)
        positive_number(self.rate, "rate", MAX_RATE, "ticks a second")

    @property
    def agent_seat(self) -> int:
        """Where the agent sits."""
        return SEATS - 1 - self.seat


@dataclass(frozen=True)
class Keys:
    """Key presses that no tick has used yet, and the key that is held down."""

    waiting: tuple[Action, ...] = ()
    held: Action | None = None

    def press(self, action: Action) -> "Keys":
        """Add a press; of too many the oldest are dropped. A held direction repeats."""
        held = None if action in (Action.INTERACT, Action.STAY) else action
        return Keys((*self.waiting, action)[-_MOST_WAITING:], held)

    def release(self, action: Action) -> "Keys":
        """The key is up; its earlier press still counts."""
        return replace(self, held=None) if self.held is action else self

    def take(self) -> tuple[Action, "Keys"]:
        """The person's action in the next tick, and the keys afterwards."""
        if self.waiting:
            return self.waiting[0], replace(self, waiting=self.waiting[1:])
        return (Action.STAY if self.held is None else self.held), self


@dataclass(frozen=True)
class PlayedGame:
    """A game so far: its setup, the ticks played and the score."""

    setup: GameSetup
    tick: int = 0
    score: float = 0.0

    @property
    def is_over(self) -> bool:
        """Whether all ticks have been played."""
        return self.tick >= self.setup.ticks

    @property
    def agent_acts(self) -> bool:
        """Whether the agent acts in the next tick; it is idle first."""
        return (self.tick + 1) % self.setup.slowness == 0

    def advance(self, reward: float) -> "PlayedGame":
        """The game one tick later."""
        if self.is_over:
            raise ValueError(f"the game is over after {self.setup.ticks} ticks")
        return replace(self, tick=self.tick + 1, score=self.score + reward)
