"""The records of a study: participants, and the games they play."""

import hashlib
import re
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from cochef.errors import InputError, shown
from cochef.kitchen.constants import SEATS
from cochef.validation import one_of, whole_number
from cochef.web.assignment import ParticipantPlan
from cochef.web.progress import ParticipantProgress, StudyStage
from cochef.web.study import Study

NOBODY = "stay"  # the agent of the tutorial
UNKNOWN = -1  # the lag of a tick that the page did not report
NO_LAYOUT = ""  # of a participant who has not consented yet and so has no place
NO_PLACE = -1
IDENTITY_KINDS = ("link", "prolific", "open")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Phase(StrEnum):
    """What a game is for; only those of the last phase count."""

    TUTORIAL = "tutorial"
    WARMUP = "warm-up"
    GAME = "game"


class GameEnd(StrEnum):
    """How a game ended: as it should, or before.

    A game is complete after its last tick, the tutorial also when a soup is served.
    """

    COMPLETE = "complete"
    STOPPED = "stopped"


class InterruptionReason(StrEnum):
    """Why a participant did not see their game."""

    HIDDEN = "hidden"  # the page's tab was hidden
    STALL = "stall"  # what the page had drawn fell too far behind
    GONE = "gone"  # the page was closed, reloaded or opened elsewhere, or the server was stopped
    STORE = "store"  # the database took long, so that all games waited; nobody loses a pause by it


@dataclass(frozen=True)
class Interruption:
    """A time in which a participant did not see their game; usually the game was paused."""

    tick: int  # how many ticks had been played
    reason: InterruptionReason
    paused: bool  # False: the game went on, as it had been paused too often
    undrawn: int  # ticks that were played before the pause without being drawn
    began: float | None  # None: not known, as the server was stopped
    seconds: float | None = None  # None: it still lasts, or is not known
    row: int | None = None  # in the store
    is_over: bool = False

    def end(self, now: float) -> "Interruption":
        """The interruption when it is over."""
        seconds = None if self.began is None else max(0.0, now - self.began)
        return replace(self, seconds=seconds, is_over=True)


@dataclass(frozen=True)
class ParticipantIdentity:
    """How a participant is known outside.

    By a random link, an identifier of Prolific, or, through an open door, only by a cookie.
    """

    kind: str
    value: str

    def __post_init__(self) -> None:
        """Refuse what cannot be an identifier."""
        one_of(self.kind, "the kind of an identity", IDENTITY_KINDS)
        if not _IDENTIFIER.fullmatch(self.value):
            raise InputError(
                f"identifier {shown(self.value)}; it takes 1 to 64 letters, digits, - or _"
            )


@dataclass(frozen=True)
class Participant:
    """A participant, without who they are outside."""

    number: int
    layout: str  # NO_LAYOUT before consent
    place: int  # within the layout's group; it decides the order of games
    seed: int
    progress: ParticipantProgress
    plan: ParticipantPlan
    completion_code: str
    joined: float
    seen: float
    finished: float | None


@dataclass(frozen=True)
class GameStart:
    """Everything a game begins with; with its joint actions it can be replayed exactly."""

    participant: int
    phase: Phase
    number: int  # which of its phase, from 0
    agent: str  # its label; empty in the tutorial
    loaded: str  # the name under which it is loaded
    seat: int  # the participant's
    layout: str
    seed: int
    ticks: int
    ticks_per_second: float
    agent_acts_once_in: int


@dataclass(frozen=True)
class Steps:
    """The joint actions of a game from some tick on, and what else happened in the meantime."""

    game: int
    first: int
    actions: tuple[tuple[int, int], ...]
    lags: tuple[tuple[int, int], ...] = ()  # (tick, milliseconds); perhaps of an earlier batch
    interruptions: tuple[Interruption, ...] = ()

    @property
    def end(self) -> int:
        """The tick after the last of these."""
        return self.first + len(self.actions)


@dataclass(frozen=True, eq=False)
class StoredGame:
    """A game as far as it has been stored."""

    number: int
    start: GameStart
    configuration: str
    actions: np.ndarray  # [ticks, 2]
    lags: tuple[int, ...]  # milliseconds until the page had drawn each tick, or UNKNOWN
    interruptions: tuple[Interruption, ...]
    began: float
    finished: float | None
    ended: GameEnd | None
    score: float | None


def tutorial_game(study: Study, participant: Participant, number: int) -> GameStart:
    """A game of the tutorial, played alone."""
    return _start(study, participant, Phase.TUTORIAL, number, "", 0)


def warmup_game(study: Study, participant: Participant, partner: int, number: int) -> GameStart:
    """The next free game with a partner; the participant changes seats from game to game."""
    partners = participant.plan.partners
    whole_number(partner, "partner", 0, len(partners) - 1)
    tried = participant.progress.tried
    seat = (tried[partner] + participant.place) % SEATS
    return _start(study, participant, Phase.WARMUP, number, partners[partner].agent, seat)


def counted_game(study: Study, participant: Participant) -> GameStart:
    """The next of the games that count."""
    if participant.progress.stage is not StudyStage.GAMES:
        raise InputError(
            f"a game at the stage {participant.progress.stage}; it belongs to {StudyStage.GAMES}"
        )
    planned = participant.plan.games[participant.progress.games]
    agent = participant.plan.partners[planned.partner].agent
    return _start(study, participant, Phase.GAME, planned.number, agent, planned.seat)


def _start(
    study: Study, participant: Participant, phase: Phase, number: int, agent: str, seat: int
) -> GameStart:
    numbers = study.numbers
    ticks = {
        Phase.TUTORIAL: numbers.tutorial_ticks,
        Phase.WARMUP: numbers.warmup_ticks,
        Phase.GAME: numbers.game_ticks,
    }
    seed = hashlib.sha256(f"{participant.seed} {phase} {number}".encode()).digest()[:4]
    return GameStart(
        participant=participant.number,
        phase=phase,
        number=number,
        agent=agent,
        loaded=study.layouts[participant.layout][agent] if agent else NOBODY,
        seat=seat,
        layout=participant.layout if agent else study.tutorial_layout,
        seed=int.from_bytes(seed),
        ticks=ticks[phase],
        ticks_per_second=numbers.ticks_per_second,
        agent_acts_once_in=numbers.agent_acts_once_in,
    )
