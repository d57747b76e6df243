"""A rehearsal of a study: bots take part, and what was stored is compared with what they saw."""

import asyncio
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from cochef import interrupts
from cochef.errors import InputError
from cochef.kitchen.constants import SEATS
from cochef.web import export, layout_names, replays
from cochef.web.bots import Bot, Transcript, bot_policies
from cochef.web.progress import StudyStage
from cochef.web.records import GameEnd, Phase, StoredGame
from cochef.web.store import StudyStore
from cochef.web.study import Study

QUICK = (
    "ticks_per_second=15",
    "game_ticks=120",
    "warmup_ticks=40",
    "warmup_ticks_least=40",
    "tutorial_ticks=600",
    "agent_acts_once_in=1",
    "countdown_seconds=0",
)
_START_UP = 120.0  # seconds that a server may take until it answers


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def launch(
    study: str, database: str, port: int, numbers: Sequence[str] = (), capacity: int = 64
) -> subprocess.Popen[bytes]:
    """Start a server of a study in a process of its own; bots come as if from Prolific.

    What it stores is marked as data of simulated participants.
    """
    command = [sys.executable, "-m", "cochef"]
    command += ["study", "serve", study, "--database", database, "--prolific", "--simulated"]
    command += ["--port", str(port), "--capacity", str(capacity)]
    command += ["--set", *numbers, "joins_per_address=100000"]  # all from one address
    return subprocess.Popen(command)


@contextmanager
def server(
    study: str, database: str, port: int, numbers: Sequence[str] = (), capacity: int = 64
) -> Iterator[subprocess.Popen[bytes]]:
    """A server of a study in a process of its own, which answers and ends with the block."""
    with launch(study, database, port, numbers, capacity) as process:
        try:
            with interrupts.cleaning_up(process.terminate):
                await_answer(f"http://127.0.0.1:{port}", process)
                yield process
        finally:
            process.terminate()


def await_answer(address: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server that has been launched answers."""
    until = time.monotonic() + _START_UP
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise InputError(f"the server at {address} did not start; see what it printed")


def compile_bots(study: Study) -> None:
    """Compile the bots' policies on the layouts of a study."""
    for layout in layout_names.distinct([study.tutorial_layout, *study.layouts]):
        for policy in bot_policies(layout):
            policy.compile()


async def take_part(
    address: str, study: Study, participants: int, patience: float = 300.0
) -> list[Transcript]:
    """Let bots go through a study at the same time; their transcripts."""
    known = layout_names.distinct([study.tutorial_layout, *study.layouts])
    bots = [Bot(address, f"bot-{number:04d}", known) for number in range(participants)]
    return await asyncio.gather(*(bot.take_part(patience) for bot in bots))


def problems(store: StudyStore, transcripts: Sequence[Transcript]) -> list[str]:
    """Everything that is wrong with the store once these participants have finished."""
    games = list(store.games())
    counted = [
        game for game in games if game.start.phase is Phase.GAME and game.ended is GameEnd.COMPLETE
    ]
    return [
        *_unfinished(store, transcripts),
        *_unbalanced(store, counted),
        *_different(store, games, transcripts),
    ]


def _unfinished(store: StudyStore, transcripts: Sequence[Transcript]) -> Iterator[str]:
    """Who has not come to the end, and layouts with too many or too few people."""
    people = store.participants()
    layouts = store.study.layouts
    if len(people) != len(transcripts):
        yield f"{len(people)} participants are stored, {len(transcripts)} took part"
    for one in people:
        if one.progress.stage is not StudyStage.THANKS:
            yield f"participant {one.number} has come only to the stage {one.progress.stage}"
    codes = Counter(one.completion_code for one in people)
    if codes != Counter(transcript.code for transcript in transcripts):
        yield "the completion codes that were shown are not those that are stored"
    share = len(people) / len(layouts)
    for layout in layouts:
        number = sum(one.layout == layout for one in people)
        if abs(number - share) >= 1:
            yield f"{number} participants were assigned to {layout}, {share:g} would be even"


def _unbalanced(store: StudyStore, counted: Sequence[StoredGame]) -> Iterator[str]:
    """Who has not met each agent in each seat equally often, and uneven positions of agents."""
    study = store.study
    repeats = study.numbers.repeats
    wanted = {(agent, seat): repeats for agent in study.agents for seat in range(SEATS)}
    for one in store.participants():
        own = [game.start for game in counted if game.start.participant == one.number]
        met = Counter((start.agent, start.seat) for start in own)
        if met != wanted:
            yield f"participant {one.number} played {dict(met)}, not each {repeats} times"
    places = Counter((game.start.layout, game.start.number, game.start.agent) for game in counted)
    for layout in study.layouts:
        for position in range(study.games_each):
            met = {agent: places[layout, position, agent] for agent in study.agents}
            # Agents can be even only where people are a multiple of them.
            allowed = 1 if sum(met.values()) % len(study.agents) else 0
            if max(met.values()) - min(met.values()) > allowed:
                yield f"{layout}, game {position}: {met}"


def _different(
    store: StudyStore, games: Sequence[StoredGame], transcripts: Sequence[Transcript]
) -> Iterator[str]:
    """What is stored otherwise than it was played, shown or exported."""
    for wrong in replays.mismatches(store, games):
        yield (
            f"game {wrong.game} is stored with the score {wrong.stored}, "
            f"its actions give {wrong.replayed}"
        )
    stored = {game.number: game for game in games}
    for transcript in transcripts:
        yield from _contradictions(transcript, stored)
    rows = {name: len(table) for name, table in export.tables(store).items()}
    people = len(transcripts)
    rankings = people * len(store.study.agents)
    wanted = {
        "participants": people,
        "rankings": rankings,
        "comments": rankings * len(store.study.comment_questions),
        "games": len(games),
        "interruptions": sum(len(game.interruptions) for game in games),
        "ticks": sum(len(game.actions) for game in games),
    }
    if rows != wanted:
        yield f"an export has {rows} rows, it should have {wanted}"


def _contradictions(transcript: Transcript, stored: Mapping[int, StoredGame]) -> Iterator[str]:
    """What a bot was told otherwise than it is stored."""
    told = f"{transcript.name} was told"
    for number, score in transcript.scores.items():
        if number not in stored or stored[number].score != score:
            yield f"{told} the score {score} of game {number}, which is not stored so"
    for number, ticks in transcript.stored.items():
        if number not in stored or len(stored[number].actions) < ticks:
            yield f"{told} that {ticks} ticks of game {number} are stored, which they are not"
    for number, shown in transcript.actions.items():
        kept = stored[number].actions.tolist() if number in stored else []
        if any(tick >= len(kept) or kept[tick] != joint for tick, joint in shown.items()):
            yield f"{transcript.name} was shown other actions in game {number} than are stored"
