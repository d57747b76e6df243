"""What is kept about a study: participants, and the games they play."""

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from cochef.errors import InputError, shown
from cochef.web.assignment import Plan
from cochef.web.progress import Progress, Stage
from cochef.web.study import Study

NOBODY = "stay"  # the agent that stands in the tutorial's kitchen
UNKNOWN = -1  # the lag of a tick that the page did not report
_VALUE = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Phase(StrEnum):
    """What a game is for; only those of the last phase count."""

    TUTORIAL = "tutorial"
    WARMUP = "warm-up"
    GAME = "game"


class Ended(StrEnum):
    """How a game ended: with its last tick, or before."""

    COMPLETE = "complete"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Identity:
    """By what a participant is known outside: a random link, or an identifier of Prolific."""

    kind: str
    value: str

    def __post_init__(self) -> None:
        """Complain about what cannot be an identifier."""
        if self.kind not in ("link", "prolific"):
            raise InputError(f"an identity of the kind {shown(self.kind)}; allowed: link, prolific")
        if not _VALUE.fullmatch(self.value):
            raise InputError(f"identifier {shown(self.value)}; it takes 1 to 64 letters, digits, - or _")


@dataclass(frozen=True)
class Participant:
    """A participant as the data knows them."""

    number: int
    layout: str
    place: int  # within the kitchen's group: decides the order of games
    seed: int
    progress: Progress
    plan: Plan
    completion_code: str
    joined: float
    seen: float
    finished: float | None


@dataclass(frozen=True)
class GameStart:
    """Everything a game begins with; with its joint actions it can be played again exactly."""

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
    """Joint actions from a tick on; with them, how late the page drew ticks that it reported in the meantime."""

    game: int
    first: int
    actions: tuple[tuple[int, int], ...]
    lags: tuple[tuple[int, int], ...] = ()  # (tick, milliseconds); the tick may be one of an earlier batch


@dataclass(frozen=True, eq=False)
class StoredGame:
    """A game as far as it was stored."""

    number: int
    start: GameStart
    configuration: str
    actions: np.ndarray  # [ticks, 2]
    lags: tuple[int, ...]  # milliseconds until the page had drawn each tick, or UNKNOWN
    began: float
    finished: float | None
    ended: Ended | None
    score: float | None


def tutorial_game(study: Study, participant: Participant, number: int) -> GameStart:
    """A game alone, to find one's way."""
    return _start(study, participant, Phase.TUTORIAL, number, "", 0)


def warmup_game(study: Study, participant: Participant, partner: int) -> GameStart:
    """The next free game with a partner; seats take turns."""
    if not 0 <= partner < len(participant.plan.partners):
        raise InputError(f"partner {shown(partner)}; allowed: 0 to {len(participant.plan.partners) - 1}")
    tried = participant.progress.tried
    agent = participant.plan.partners[partner].agent
    return _start(study, participant, Phase.WARMUP, sum(tried), agent, (tried[partner] + participant.place) % 2)


def counted_game(study: Study, participant: Participant) -> GameStart:
    """The next of the games that count."""
    if participant.progress.stage is not Stage.GAMES:
        raise InputError(f"a game at the stage {participant.progress.stage}; it belongs to {Stage.GAMES}")
    planned = participant.plan.games[participant.progress.games]
    agent = participant.plan.partners[planned.partner].agent
    return _start(study, participant, Phase.GAME, planned.number, agent, planned.seat)


def _start(study: Study, participant: Participant, phase: Phase, number: int, agent: str, seat: int) -> GameStart:
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
