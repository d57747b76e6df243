"""The server is killed while bots play: nothing acknowledged is lost, and everybody goes on soon.

Bots notice by themselves when a game goes on before a tick that they were told was stored, and keep
all actions that they were shown; in the end those are compared with the store.
"""

import asyncio
import os
import random
import time
from functools import partial

import pytest

from cochef.kitchen import layouts
from cochef.web import rehearse, study
from cochef.web.bots import Bot
from cochef.web.store import StudyStore
from tests.web.serving import free_port
from tests.web.study_file import write_study

SOON = 5.0  # seconds; on a busy machine no longer than starting the server twice takes
KILLS = int(os.environ.get("COCHEF_KILLS", "100"))


async def until(condition, playing):
    """Wait for something, or until all bots have finished."""
    while not condition() and not playing.done():
        await asyncio.sleep(0.02)


async def keep_killing(launch, address, kills, bots):
    """Kill the server while all bots play.

    Transcripts, and for each kill when the server was started again and when it answered.
    """
    process = launch()
    starts = []
    try:
        await asyncio.to_thread(rehearse.await_answer, address, process)
        playing = asyncio.gather(*(bot.take_part(patience=300.0) for bot in bots))
        await until(
            lambda: all(len(bot.transcript.actions) > 1 for bot in bots), playing
        )  # every room has been opened once
        for _ in range(kills):
            await asyncio.sleep(random.Random().uniform(0.1, 1.5))
            assert not playing.done(), "the bots had finished before the last kill"
            process.kill()
            process.wait()
            began = time.monotonic()
            process = launch()
            await asyncio.to_thread(rehearse.await_answer, address, process)
            starts.append((began, time.monotonic()))
            await until(lambda: not any(bot.is_cut_off for bot in bots), playing)
        return await playing, starts
    finally:
        process.kill()
        process.wait()


def survive(database, place, kills, number, **numbers):
    """For each kill, how long the server took to answer again, and the last bot to go on then."""
    quick = {"repeats": 1, "agent_acts_once_in": 2, "countdown_seconds": 0, "games_least": 1}
    file = write_study(place / "study.toml", **numbers, **quick)
    port = free_port()
    found = study.get(file)
    rehearse.compile_bots(found)
    address = f"http://127.0.0.1:{port}"
    played = [layouts.get(name) for name in (*found.layouts, found.tutorial_layout)]
    bots = [Bot(address, f"bot-{n}", played) for n in range(number)]
    launch = partial(rehearse.launch, file, database, port, capacity=32)
    transcripts, starts = asyncio.run(keep_killing(launch, address, kills, bots))
    store = StudyStore.existing(database)
    if database.startswith("sqlite"):
        with store.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    assert rehearse.problems(store, transcripts) == []
    store.close()
    breaks = [pair for transcript in transcripts for pair in transcript.cut_off]
    assert len(breaks) >= kills
    took = [answer - began for began, answer in starts]
    waited = [
        max((back - answer for lost, back in breaks if lost < answer < back), default=0.0)
        for _, answer in starts
    ]
    return took, waited


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_server_killed_twice_loses_nothing_that_it_acknowledged(url, tmp_path):
    numbers = {
        "participants_per_layout": 2,
        "ticks_per_second": 30,
        "game_ticks": 45,
        "warmup_ticks": 15,
        "warmup_ticks_least": 15,
    }
    _, waited = survive(url, tmp_path, 2, 3, **numbers, tutorial_ticks=2_000)
    assert len(waited) == 2


@pytest.mark.long
def test_a_server_killed_a_hundred_times_loses_nothing_and_everybody_goes_on_soon(url, tmp_path):
    numbers = {
        "participants_per_layout": 10,
        "ticks_per_second": 12,
        "game_ticks": 600,
        "warmup_ticks": 60,
        "warmup_ticks_least": 60,
    }
    took, waited = survive(url, tmp_path, KILLS, 20, **numbers, tutorial_ticks=2_000)
    print(
        f"\n{KILLS} kills: the server answered after {max(took):.1f} s at most, "
        f"{sum(took) / KILLS:.1f} on average; everybody went on {max(waited):.1f} s later at most, "
        f"{sum(waited) / KILLS:.1f} on average; load average {os.getloadavg()[0]:.1f}"
    )
    assert max(waited) <= max(SOON, 2 * max(took))
