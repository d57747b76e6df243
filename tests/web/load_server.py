"""The load test's server: a study that also tells how punctual it is."""

import asyncio
import sys
import time
from collections import deque

import numpy as np
import psutil
from fastapi import Response

from cochef.runtime import compute_in_calling_thread, keep_compiled_programs
from cochef.web import tickets
from cochef.web.app import COOKIE
from cochef.web.records import ParticipantIdentity
from cochef.web.server import run, study_app
from cochef.web.store import StudyStore
from tests.web.small_study import events_before_the_games, small_study

RATE = 8.0
STUDY = small_study(
    (
        "asymmetric_advantages",
        "coordination_ring",
        "counter_circuit",
        "distant_tomato",
        "many_orders",
    ),
    ticks_per_second=RATE,
    warmup_ticks=5_000,
    agent_acts_once_in=8,
    participants_per_layout=1_000,
)


class Heart:
    """Wakes as often as games tick, and does nothing: its lateness is the machine's own."""

    def __init__(self):
        self.late = deque(maxlen=20_000)

    async def beat(self):
        never = asyncio.Event()
        while True:
            due = (np.floor(time.monotonic() * RATE) + 1) / RATE
            try:
                await asyncio.wait_for(never.wait(), due - time.monotonic())
            except TimeoutError:
                self.late.append(time.monotonic() - due)


def percentiles(seconds):
    """Median, 99 % and worst in milliseconds, and of how many."""
    found = np.array(seconds) * 1000
    if not len(found):
        return [0.0, 0.0, 0.0, 0]
    return [*(round(float(np.percentile(found, q)), 2) for q in (50, 99, 100)), len(found)]


def main(database, port, capacity):
    keep_compiled_programs()
    compute_in_calling_thread()
    store = StudyStore.open(database, STUDY)
    app = study_app(STUDY, store, capacity=capacity, open_door=True)
    service = app.state.service
    loop = service.loop
    heart = Heart()
    beating = []

    @app.get("/after-the-tutorial")
    async def enter() -> Response:
        """Let somebody in who has come to the warm-up."""
        identity = ParticipantIdentity("link", tickets.token())
        participant = await service.join(identity, create=True)
        for event in events_before_the_games(STUDY)[:4]:
            await service.ask(store.act, participant.number, event, time.time())
        response = Response()
        response.set_cookie(COOKIE, tickets.ticket(store.secret, participant.number))
        return response

    @app.get("/punctuality")
    async def punctuality() -> dict:
        """Measurements since the last call; the first call answers when all rooms are open."""
        if not beating:
            await service.open_rooms()
            beating.append(asyncio.create_task(heart.beat()))
        kept = {"ticks": loop.punctuality.late, "took": loop.punctuality.took, "heart": heart.late}
        answer = {name: percentiles(late) for name, late in kept.items()}
        for late in kept.values():
            late.clear()
        now = {
            "games": loop.running,
            "here": service.present,
            "cpu": time.process_time(),
            "memory": psutil.Process().memory_info().rss,
        }
        return {**answer, **now}

    run(app, "127.0.0.1", port)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
