"""The server is killed while bots play: nothing acknowledged is lost, and everybody goes on soon.

Bots notice by themselves when a game goes on before a tick that they were told was stored, and keep all actions that
they were shown; in the end those are compared with the store.
"""

import asyncio
import random
import time

import pytest

from cochef.web import rehearse, study
from cochef.web.store import Store
from tests.web.study_file import write_study

SOON = 5.0  # seconds


async def keep_killing(launch, address, kills, answers, bots):
    """Kill the server after a while and start it again, so many times; note when it answers."""
    process = launch()
    try:
        await asyncio.to_thread(rehearse.await_answer, address, process)
        for _ in range(kills):
            await asyncio.sleep(random.Random().uniform(0.5, 2.5))
            if bots.done():
                break
            process.kill()
            process.wait()
            process = launch()
            await asyncio.to_thread(rehearse.await_answer, address, process)
            answers.append(time.monotonic())
        return await bots
    finally:
        process.kill()
        process.wait()


def survive(place, kills, bots, **numbers):
    """Play with this many bots and kills; for each kill the longest that a bot waited after the server answered."""
    file = write_study(place / "study.toml", **numbers, repeats=1, agent_acts_once_in=2, countdown_seconds=0)
    database, port, found = f"sqlite:///{place / 'study.db'}", rehearse.free_port(), study.get(file)
    address, answers = f"http://127.0.0.1:{port}", []
    rehearse.practise(found)

    async def run():
        playing = asyncio.ensure_future(rehearse.take_part(address, found, bots, patience=120.0))
        launch = lambda: rehearse.launch(file, database, port, capacity=32)  # noqa: E731
        return await keep_killing(launch, address, kills, answers, playing)

    diaries = asyncio.run(run())
    store = Store.existing(database)
    with store.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    assert rehearse.problems(store, diaries) == []
    store.close()
    assert len(answers) == kills, "the bots had finished before the last kill"
    breaks = [pair for diary in diaries for pair in diary.cut_off]
    assert len(breaks) >= kills
    return [max((back - answer for lost, back in breaks if lost < answer < back), default=0.0) for answer in answers]


def test_a_server_killed_twice_loses_nothing_that_it_acknowledged(tmp_path):
    numbers = {"participants_per_layout": 2, "ticks_per_second": 20, "game_ticks": 40, "warmup_ticks": 20}
    assert len(survive(tmp_path, 2, 3, **numbers, tutorial_ticks=20)) == 2


@pytest.mark.long
def test_a_server_killed_a_hundred_times_under_twenty_players_loses_nothing_and_everybody_goes_on_soon(tmp_path):
    numbers = {"participants_per_layout": 10, "ticks_per_second": 12, "game_ticks": 400, "warmup_ticks": 60}
    waited = survive(tmp_path, 100, 20, **numbers, tutorial_ticks=60)
    print(
        f"\n100 kills: waited at most {max(waited):.1f} s after the server answered, {sum(waited) / 100:.1f} on average"
    )
    assert max(waited) <= SOON
