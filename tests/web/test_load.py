"""Many games at once: how punctual the clock stays, and where it breaks."""

import asyncio
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import time

import httpx
import pytest
from websockets.asyncio.client import connect

from cochef.web import rehearse
from tests.web.load_server import RATE
from tests.web.serving import PATIENCE, free_port
from tests.web.talking import cookie_of

ALLOWED = 10.0  # ms that ticks may be later than the clock without games
SECONDS = 30.0
SOAK = float(os.environ.get("COCHEF_SOAK_SECONDS", "3600"))
SAMPLE = min(30.0, SOAK / 20)  # seconds between two measurements of a soak
SETTLING = 300.0  # seconds of a soak after which memory must not grow any more
GROWTH = 0.05


class Crowd:
    """Players without a browser who press keys four times a second and report drawn ticks."""

    def __init__(self, url):
        self.url = url
        self.playing = []
        self.turned_away = 0

    async def grow(self, number):
        """Let so many people play at once, those before them among them."""
        ready = [asyncio.Event() for _ in range(number - len(self.playing))]
        for event in ready:
            self.playing.append(asyncio.create_task(self._play(len(self.playing), event)))
            await asyncio.sleep(0.02)
        await asyncio.wait_for(asyncio.gather(*(event.wait() for event in ready)), 600)

    async def _play(self, number, ready):
        cookie = await asyncio.to_thread(cookie_of, self.url, "/after-the-tutorial")
        headers = {"Cookie": f"cochef={cookie}"}
        async with connect(
            self.url.replace("http", "ws") + "/ws",
            origin=self.url,
            additional_headers=headers,
            compression=None,
        ) as socket:

            async def say(kind, **rest):
                await socket.send(json.dumps({"type": kind, **rest}))

            await say("hello")
            keys = itertools.cycle([2, 5, 0, 3, 5, 1])
            async for text in socket:
                message = json.loads(text)
                match message["type"]:
                    case "full":
                        self.turned_away += 1
                        ready.set()
                        return
                    case "stage":
                        await say(**step_after(message, number))
                    case "game" | "paused":
                        await say("ready", seconds=0)
                    case "tick":
                        ready.set()
                        await say("seen", t=message["t"])
                        if message["t"] % 2:
                            action = next(keys)
                            await say("down", action=action)
                            await say("up", action=action)


def step_after(stage, number):
    """What a participant in a hurry does next."""
    assert stage["stage"] == "warm-up"
    return {"kind": "start", "partner": number % 4}


@contextlib.contextmanager
def load_server(database, capacity):
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "tests.web.load_server",
        database,
        str(port),
        str(capacity),
    ]
    with subprocess.Popen(command) as process:
        url = f"http://127.0.0.1:{port}"
        try:
            rehearse.await_answer(url, process)
            yield url
        finally:
            process.terminate()


async def measured(client, seconds):
    """What the server measures in this time, with both processes' share of a core."""
    before = (await client.get("/punctuality")).json()
    cpu = time.process_time()
    began = time.monotonic()
    await asyncio.sleep(seconds)
    after = (await client.get("/punctuality")).json()
    passed = time.monotonic() - began
    shares = {
        "server": (after["cpu"] - before["cpu"]) / passed,
        "load": (time.process_time() - cpu) / passed,
    }
    return {**after, **{name: round(share, 2) for name, share in shares.items()}}


async def load(url, numbers, capacity, seconds):
    """Measurements with growing numbers of games, beginning with none."""
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        crowd = Crowd(url)
        found = {}
        await client.get("/punctuality", timeout=600)  # answers when all rooms are open
        found[0] = await measured(client, seconds)
        for number in numbers:
            await crowd.grow(min(number, capacity))
            await asyncio.sleep(2)
            found[number] = await measured(client, seconds)
            print(
                f"{number} games: {found[number]}, load average {os.getloadavg()[0]:.1f}",
                flush=True,
            )
        await crowd.grow(len(crowd.playing) + 5)
        beyond = await measured(client, seconds / 3)
        for player in crowd.playing:
            player.cancel()
        await asyncio.gather(*crowd.playing, return_exceptions=True)
        return found, beyond, crowd.turned_away


async def play_some(url, games):
    """Let so many people play until some ticks were measured, and five more ask to."""
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
        await client.get("/punctuality")  # answers when all rooms are open
        crowd = Crowd(url)
        await crowd.grow(games)
        found = await measured(client, 0.5)
        while found["heart"][3] == 0 or found["ticks"][3] == 0 or found["games"] < games:
            found = await measured(client, 0.5)
        await crowd.grow(games + 5)
        beyond = (await client.get("/punctuality")).json()
        for player in crowd.playing:
            player.cancel()
        await asyncio.gather(*crowd.playing, return_exceptions=True)
        return found, beyond, crowd.turned_away


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_few_games_at_once_tick_and_newcomers_beyond_capacity_are_turned_away(url):
    with load_server(url, 6) as address:
        waited = asyncio.wait_for(play_some(address, 6), 2 * PATIENCE)
        found, beyond, turned_away = asyncio.run(waited)
    assert found["games"] == 6 and found["memory"] > 0
    assert turned_away == 5 and beyond["games"] == 6


@pytest.mark.long
def test_sixty_games_at_once_stay_punctual(url):
    with load_server(url, 240) as address:
        numbers = [60, 90, 120, 180, 240]
        found, beyond, turned_away = asyncio.run(load(address, numbers, 240, SECONDS))
    base = found[0]["heart"][1]
    print(f"without games {found[0]}; beyond capacity {turned_away} turned away, {beyond}")
    broken = [
        number for number, one in found.items() if number and one["ticks"][1] > base + ALLOWED
    ]
    print(f"more than {ALLOWED:g} ms above that with: {broken or 'none of these'}")
    assert found[60]["games"] == 60
    assert found[60]["ticks"][1] <= base + ALLOWED
    assert turned_away == 5


async def soak(url, games, seconds):
    """Measurements of so many games at once, over the whole time."""
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        await client.get("/punctuality", timeout=600)
        crowd = Crowd(url)
        await crowd.grow(games)
        await client.get("/punctuality")
        found = []
        began = time.monotonic()
        for _ in range(round(seconds / SAMPLE)):
            one = await measured(client, SAMPLE)
            found.append(one)
            print(
                f"{time.monotonic() - began:.0f} s: {one['games']} games, "
                f"{one['memory'] / 1e6:.1f} MB, {one['ticks'][3]} ticks, "
                f"late {one['ticks'][:3]} ms, {one['server']} + {one['load']} of a core",
                flush=True,
            )
        passed = time.monotonic() - began
        for player in crowd.playing:
            player.cancel()
        await asyncio.gather(*crowd.playing, return_exceptions=True)
        lost = 1 - sum(one["ticks"][3] for one in found) / (passed * RATE)
        return found, lost


@pytest.mark.long
def test_memory_does_not_grow_over_an_hour_of_sixty_games(url):
    with load_server(url, 64) as address:
        found, lost = asyncio.run(soak(address, 60, SOAK))
    memory = [one["memory"] for one in found]
    settled = memory[min(round(SETTLING / SAMPLE), len(memory) - 1)]
    print(f"memory grew by {memory[-1] / settled - 1:.2%}, {lost:.2%} of the ticks were lost")
    # Some are between two games; on a machine without time for the server all have to pause.
    assert statistics.median(one["games"] for one in found) >= 55
    assert memory[-1] <= (1 + GROWTH) * settled
