"""A study's server that nonsense is sent to; it must not log an error."""

import logging
import time
from contextlib import closing, contextmanager
from dataclasses import replace

from cochef.web.server import study_app
from cochef.web.store import StudyStore
from tests.web.serving import PATIENCE, serving
from tests.web.small_study import small_study

PASSWORD = "correct horse"
AGENTS = {  # that compile quickly
    "HSP": "script:onion_placement_and_delivery",
    "MEP": "script:onion_placement",
    "FCP": "script:onion_everywhere",
    "TrajDiv": "script:delivery",
}
STUDY = replace(
    small_study(
        ("coordination_ring",),
        ticks_per_second=1000.0,
        participants_per_layout=5000,
        tutorial_ticks=200,
        game_ticks=20,
    ),
    layouts={"coordination_ring": AGENTS},
)
LOGGERS = ("uvicorn.error", "asyncio", "cochef.web.study_service", "cochef.web.loop")


class Complaints(logging.Handler):
    """Keeps what the server logs as an error."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.kept = []

    def emit(self, record):
        self.kept.append(self.format(record))


@contextmanager
def served_study(url):
    """The address, store and application of a study; in the end nothing was logged as an error."""
    complaints = Complaints()
    loggers = [logging.getLogger(name) for name in LOGGERS]
    with closing(StudyStore.open(url, STUDY)) as store:
        app = study_app(STUDY, store, password=PASSWORD, capacity=16, open_door=True)
        with serving(app) as address:
            deadline = time.monotonic() + PATIENCE
            rooms = app.state.service.loop.rooms
            while rooms.open_rooms < 1 + len(STUDY.layouts):  # one is the tutorial's
                assert time.monotonic() < deadline, "the rooms are not open"
                time.sleep(0.1)
            for logger in loggers:
                logger.addHandler(complaints)
            yield address, store, app
    for logger in loggers:
        logger.removeHandler(complaints)
    assert complaints.kept == []
