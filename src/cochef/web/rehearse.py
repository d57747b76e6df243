"""A study tried before people do: bots take part in it, and what was stored is compared with what they were told."""

import asyncio
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cochef.errors import InputError
from cochef.kitchen.constants import SEATS
from cochef.web import export, kitchens, replays
from cochef.web.bots import Bot, Diary, minds
from cochef.web.progress import Stage
from cochef.web.records import Ended, Phase, StoredGame
from cochef.web.store import Store
from cochef.web.study import Study

QUICK = (
    "ticks_per_second=15",
    "game_ticks=120",
    "warmup_ticks=40",
    "tutorial_ticks=40",
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
    """A server of a study in a process of its own, which does not answer yet; bots come as if from Prolific."""
    command = [sys.executable, "-c", "from cochef.cli.main import main; main()", "study", "serve", study]
    command += ["--database", database, "--port", str(port), "--capacity", str(capacity), "--prolific"]
    return subprocess.Popen([*command, *(["--set", *numbers] if numbers else [])])


@contextmanager
def server(
    study: str, database: str, port: int, numbers: Sequence[str] = (), capacity: int = 64
) -> Iterator[subprocess.Popen[bytes]]:
    """A server of a study in a process of its own, which answers already and ends with the block."""
    with launch(study, database, port, numbers, capacity) as process:
        try:
            await_answer(f"http://127.0.0.1:{port}", process)
            yield process
        finally:
            process.terminate()


def await_answer(address: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until the server at this address answers, for as long as its process lives and starting up may take."""
    until = time.monotonic() + _START_UP
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise InputError(f"the server at {address} did not start; see what it printed")


def practise(study: Study) -> None:
    """Have everything ready with which bots think in the kitchens of a study."""
    for layout in kitchens.named([study.tutorial_layout, *study.layouts]):
        for mind in minds(layout):
            mind.practise()


async def take_part(address: str, study: Study, participants: int, patience: float = 300.0) -> list[Diary]:
    """Let bots go through a study at the same time; their diaries."""
    known = kitchens.named([study.tutorial_layout, *study.layouts])
    bots = [Bot(address, f"bot-{number:04d}", known) for number in range(participants)]
    return await asyncio.gather(*(bot.take_part(patience) for bot in bots))


def problems(store: Store, diaries: Sequence[Diary]) -> list[str]:
    """Everything in which the store is not as it should be once these participants have finished."""
    games = list(store.games())
    counted = [game for game in games if game.start.phase is Phase.GAME and game.ended is Ended.COMPLETE]
    return [*_unfinished(store, diaries), *_unbalanced(store, counted), *_different(store, games, diaries)]


def _unfinished(store: Store, diaries: Sequence[Diary]) -> Iterator[str]:
    people, study = store.participants(), store.study
    if len(people) != len(diaries):
        yield f"{len(people)} participants are stored, {len(diaries)} took part"
    for one in people:
        if one.progress.stage is not Stage.THANKS:
            yield f"participant {one.number} has come only to the stage {one.progress.stage}"
    codes = Counter(one.completion_code for one in people)
    if codes != Counter(diary.code for diary in diaries):
        yield "the completion codes that were shown are not those that are stored"
    share = len(people) / len(study.layouts)
    for layout in study.layouts:
        number = sum(one.layout == layout for one in people)
        if abs(number - share) >= 1:
            yield f"{number} participants were assigned to {layout}, {share:g} would be even"


def _unbalanced(store: Store, counted: Sequence[StoredGame]) -> Iterator[str]:
    """Everybody has met each agent in each seat equally often, and each agent comes at each position equally often."""
    study = store.study
    for one in store.participants():
        own = Counter((game.start.agent, game.start.seat) for game in counted if game.start.participant == one.number)
        wanted = {(agent, seat): study.numbers.repeats for agent in study.agents for seat in range(SEATS)}
        if own != wanted:
            yield f"participant {one.number} played {dict(own)}, not each {study.numbers.repeats} times"
    for layout in study.layouts:
        for position in range(study.games_each):
            there = [
                game.start.agent for game in counted if (game.start.layout, game.start.number) == (layout, position)
            ]
            met = Counter(there)
            most, least = max(met[agent] for agent in study.agents), min(met[agent] for agent in study.agents)
            if most - least > (len(there) % len(study.agents) > 0):
                yield f"{layout}, game {position}: {dict(met)}"


def _different(store: Store, games: Sequence[StoredGame], diaries: Sequence[Diary]) -> Iterator[str]:
    for wrong in replays.mismatches(store, games):
        yield f"game {wrong.game} is stored with the score {wrong.stored}, its actions give {wrong.replayed}"
    stored = {game.number: game for game in games}
    for diary in diaries:
        for number, score in diary.scores.items():
            if number not in stored or stored[number].score != score:
                yield f"{diary.name} was told the score {score} of game {number}, which is not stored so"
        for number, ticks in diary.stored.items():
            if number not in stored or len(stored[number].actions) < ticks:
                yield f"{diary.name} was told that {ticks} ticks of game {number} are stored, which they are not"
        for number, shown in diary.actions.items():
            kept = stored[number].actions.tolist() if number in stored else []
            if any(tick >= len(kept) or kept[tick] != joint for tick, joint in shown.items()):
                yield f"{diary.name} was shown other actions in game {number} than are stored"
    rows = {name: len(table) for name, table in export.tables(store).items()}
    agents, questions = len(store.study.agents), len(store.study.comment_questions)
    people = len(diaries)
    wanted = {
        "participants": people,
        "rankings": people * agents,
        "comments": people * agents * questions,
        "games": len(games),
        "ticks": sum(len(game.actions) for game in games),
    }
    if rows != wanted:
        yield f"an export has {rows} rows, it should have {wanted}"
