"""Nonsense in bulk, over the websocket and over HTTP: nothing breaks, nobody else notices."""

import asyncio
import json
import logging
import random
import threading
from contextlib import closing, suppress

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from cochef.web import replays, tickets
from cochef.web.progress import StudyStage
from cochef.web.records import GameEnd, ParticipantIdentity
from cochef.web.server import study_app
from cochef.web.store import StudyStore
from tests.web.serving import serving
from tests.web.small_study import small_study
from tests.web.talking import cookie_of, talking, to_the_tutorial

PASSWORD = "correct horse"
STUDY = small_study(
    ("coordination_ring",),
    ticks_per_second=1000.0,
    participants_per_layout=5000,
    tutorial_ticks=200,
    game_ticks=20,
)
TALKERS = 4
OWN_CHANCE = pytest.mark.filterwarnings(  # schemathesis draws some numbers past hypothesis
    "ignore::hypothesis.errors.HypothesisDeprecationWarning"
)


IN_A_FILE = pytest.mark.parametrize("url", ["sqlite"], indirect=True)


class Complaints(logging.Handler):
    """Keeps what the server logs as an error."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.kept = []

    def emit(self, record):
        self.kept.append(self.format(record))


@pytest.fixture
def served(url):
    complaints = Complaints()
    loggers = [
        logging.getLogger(name) for name in ("uvicorn.error", "asyncio", "cochef.web.study_service")
    ]
    with closing(StudyStore.open(url, STUDY)) as store:
        app = study_app(STUDY, store, password=PASSWORD, capacity=16, open_door=True)
        with serving(app) as address:
            for logger in loggers:
                logger.addHandler(complaints)
            yield address, store, app
    for logger in loggers:
        logger.removeHandler(complaints)
    assert complaints.kept == []


def anything(chance, depth=0):
    """Any value that JSON can hold."""
    kind = chance.randrange(9 if depth < 4 else 6)
    if kind == 6:
        return [anything(chance, depth + 1) for _ in range(chance.randrange(5))]
    if kind in (7, 8):
        return {word(chance): anything(chance, depth + 1) for _ in range(chance.randrange(5))}
    return [
        None,
        chance.random() < 0.5,
        chance.randrange(-3, 9),
        chance.uniform(-1e9, 1e9),
        word(chance),
        2**70,
    ][kind]


def word(chance):
    known = [
        "type",
        "event",
        "action",
        "t",
        "partner",
        "hello",
        "start",
        "ready",
        "ranking",
        "values",
        "seconds",
    ]
    return chance.choice(
        [*known, "", "\0", "'; --", "<b>", "é" * 50, chr(chance.randrange(0x20, 0xD7FF)) * 3]
    )


def sensible(chance):
    """A message that a page might send, at the wrong time."""
    whole = chance.randrange(-2, 8)
    ranking = chance.sample(range(4), 4)
    return chance.choice(
        [
            {"type": "hello", "take_over": chance.random() < 0.5},
            {"type": "start"},
            {"type": "start", "partner": whole},
            {
                "type": "start",
                "layout": "coordination_ring",
                "partner": "random",
                "seat": 0,
                "slowness": 1,
                "ticks": 9,
            },
            {"type": "ready", "seconds": chance.choice([0, 0.0, -1, 99])},
            {"type": chance.choice(["down", "up"]), "action": whole},
            {"type": "seen", "t": chance.randrange(-1, 300)},
            {"type": "stop"},
            {"type": "submit", "event": "consent", "agrees": True},
            {
                "type": "submit",
                "event": "answers",
                "values": {"age": whole, "gender": None, "experience": word(chance)},
            },
            {
                "type": "submit",
                "event": "answers",
                "values": {"age": None, "gender": None, "experience": None},
            },
            {
                "type": "submit",
                "event": chance.choice(["understood", "tutorial-done", "warm-up-done", "judged"]),
            },
            {"type": "submit", "event": "judged", "ranking": ranking, "comments": [["a", "b"]] * 4},
            {
                "type": "submit",
                "event": "judged",
                "ranking": anything(chance),
                "comments": anything(chance),
            },
        ]
    )


def frame(chance):
    """A frame of any kind: sensible, changed a little, or nonsense."""
    kind = chance.random()
    if kind < 0.4:
        return json.dumps(sensible(chance))
    if kind < 0.6:
        message = sensible(chance)
        message[chance.choice(list(message))] = anything(chance)
        return json.dumps(message)
    if kind < 0.8:
        text = json.dumps(sensible(chance))
        cut = chance.randrange(len(text))
        return (
            text[:cut]
            + chance.choice(["", "}", '"', "\\", "[" * 300, "9" * 400, word(chance)])
            + text[cut + 1 :]
        )
    return json.dumps(anything(chance)) if kind < 0.95 else word(chance) * chance.randrange(40)


async def babble(url, cookie, seed, frames):
    """Send frames, over a new connection whenever the server has had enough."""
    chance = random.Random(seed)
    left = frames
    address = url.replace("http", "ws") + "/ws"
    headers = {"Cookie": f"cochef={cookie}"}
    while left > 0:
        async with connect(
            address, origin=url, additional_headers=headers, ping_interval=None
        ) as socket:
            listening = asyncio.create_task(swallow(socket))
            with suppress(ConnectionClosed):
                await socket.send('{"type":"hello","take_over":true}')
                while left > 0:
                    left -= 1
                    await socket.send(frame(chance))
                    if left % 50 == 0:
                        await asyncio.sleep(0.05)
            await socket.close()
            await listening


async def swallow(socket):
    """Hear everything until the connection closes; none of it tells anything it should not."""
    secret = {name for agents in STUDY.layouts.values() for name in agents.values()}
    with suppress(ConnectionClosed):
        async for text in socket:
            assert "Traceback" not in text and not [name for name in secret if name in text]


def babble_beside_a_witness(served, frames):
    """While others send nonsense, somebody plays a game to its end, and it is stored as it was."""
    url, store, _ = served
    cookies = [cookie_of(url) for _ in range(TALKERS)]

    async def everybody():
        await asyncio.gather(
            *(babble(url, cookie, seed, frames // TALKERS) for seed, cookie in enumerate(cookies))
        )

    crowd = threading.Thread(target=lambda: asyncio.run(everybody()))
    witness = cookie_of(url)
    with talking(url, witness) as talker:
        to_the_tutorial(talker)
        played = 0
        while played < 2 or crowd.is_alive():
            if played == 1:
                crowd.start()
            talker.say("start")
            game = talker.hear("game")
            talker.say("ready", seconds=0)
            over = talker.play()
            talker.hear("stage")
            stored = store.game(game["game"])
            assert stored.ended is GameEnd.COMPLETE and stored.score == over["score"]
            assert len(stored.actions) == STUDY.numbers.tutorial_ticks
            played += 1
    assert played > 1
    number = tickets.number_on(store.secret, witness)
    assert store.participant(number).progress.stage is StudyStage.TUTORIAL
    assert replays.mismatches(store, list(store.games())) == []
    assert requests.get(f"{url}/health", timeout=10).json() == {"status": "well"}


@IN_A_FILE
def test_nonsense_over_the_websocket_harms_nobody(served):
    babble_beside_a_witness(served, 2_000)


@pytest.mark.long
def test_much_nonsense_over_the_websocket_harms_nobody(served):
    babble_beside_a_witness(served, 100_000)


def call_everything(served, examples):
    """Call every operation in allowed and forbidden ways; the number of calls."""
    url, store, app = served
    schema = schemathesis.openapi.from_dict(app.openapi())
    witness = store.join(ParticipantIdentity("prolific", "witness"), 1e10)
    calls = 0
    with requests.Session() as session:
        session.headers["Origin"] = url
        assert (
            session.post(
                f"{url}/api/admin/login", json={"password": PASSWORD}, timeout=30
            ).status_code
            == 204
        )
        for found in schema.get_all_operations():
            operation = found.ok()
            for mode in GenerationMode:

                @settings(
                    max_examples=examples,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                    database=None,
                )
                @given(operation.as_strategy(generation_mode=mode))
                def called(case):
                    nonlocal calls
                    if (
                        case.path.endswith("/withdraw")
                        and case.path_parameters.get("number") == witness.number
                    ):
                        return
                    answer = case.call(base_url=url, session=session)
                    calls += 1
                    assert answer.status_code < 500, (case.method, case.path, answer.status_code)
                    assert b"Traceback" not in answer.content

                with suppress(
                    Unsatisfiable
                ):  # what takes no parameters has none that could be wrong
                    called()
    assert store.participant(witness.number) == witness
    return calls


@IN_A_FILE
@OWN_CHANCE
def test_nonsense_over_http_is_never_an_error_of_the_server(served):
    assert call_everything(served, 4) > 40


@OWN_CHANCE
@pytest.mark.long
def test_much_nonsense_over_http_is_never_an_error_of_the_server(served):
    calls = call_everything(served, 400)
    print(f"{calls} calls over HTTP")
    assert calls >= 5_000
