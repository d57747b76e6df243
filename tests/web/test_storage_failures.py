"""The database fails in the middle of games: nothing is acknowledged that is not stored."""

import contextlib
import json
import resource
import subprocess
import sys
import time

import psycopg
import pytest
import sqlalchemy as sql
from websockets.exceptions import ConnectionClosed

from cochef.web import rehearse, replays
from cochef.web.records import InterruptionReason
from cochef.web.server import study_app
from cochef.web.store import StudyStore
from tests.web.locking import locked
from tests.web.serving import PATIENCE, free_port, serving
from tests.web.small_study import small_study
from tests.web.study_file import write_study
from tests.web.talking import cookie_of, talking, to_the_tutorial

STUDY = small_study(("coordination_ring",), ticks_per_second=20.0, tutorial_ticks=2_000)


@contextlib.contextmanager
def read_only(url):
    """The database takes nothing more, as a managed PostgreSQL whose disk is full."""
    address = sql.make_url(url).set(drivername="postgresql")
    plain = address.render_as_string(hide_password=False)
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    where = " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    try:
        with psycopg.connect(plain, autocommit=True) as other:
            setting = "SET default_transaction_read_only ="
            other.execute(f"ALTER DATABASE {address.database} {setting} on")
            other.execute(others + where)
            yield
    finally:
        with psycopg.connect(plain, autocommit=True) as other:
            other.execute("SET default_transaction_read_only = off")
            other.execute(f"ALTER DATABASE {address.database} {setting} off")
            other.execute(others + where)


@contextlib.contextmanager
def full_disk(process):
    """The process can write nothing more to any file."""
    before = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        yield
    finally:
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, before)


def begin(talker):
    to_the_tutorial(talker)
    talker.say("start")
    game = talker.hear("game")["game"]
    talker.say("ready", seconds=0)
    talker.hear("stored")
    return game


def hear_until_trouble(talker):
    """The last tick that was acknowledged, when the page is told of the trouble."""
    acknowledged = 0
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        message = json.loads(talker.socket.recv(timeout=PATIENCE))
        if message["type"] == "stored":
            acknowledged = message["tick"]
        elif message["type"] == "tick":
            with contextlib.suppress(ConnectionClosed):  # what was sent before can still be read
                talker.say("seen", t=message["t"])
        elif message["type"] == "trouble":
            assert message["text"]
            return acknowledged
    raise AssertionError("the page was not told")


def test_games_wait_for_a_locked_database_and_lose_nothing(url):
    with (
        contextlib.closing(StudyStore.open(url, STUDY)) as store,
        serving(study_app(STUDY, store, open_door=True)) as address,
        talking(address, cookie_of(address)) as talker,
    ):
        game = begin(talker)
        with locked(url):
            acknowledged = hear_until_trouble(talker)
            assert len(store.game(game).actions) >= acknowledged
            with pytest.raises(TimeoutError):
                talker.hear("tick", "stored", seconds=1.0)
        announced = talker.hear("game")
        assert announced["t"] >= acknowledged
        assert acknowledged <= len(store.game(game).actions) <= announced["t"]
        talker.say("ready", seconds=0)
        assert talker.hear("tick")["t"] == announced["t"] + 1
        talker.say("stop")
        over = talker.hear("over")
        assert len(store.game(game).actions) == over["t"]
        (waited,) = store.game(game).interruptions
        assert waited.reason is InterruptionReason.STORE and waited.paused and waited.seconds > 1
        assert replays.mismatches(store, list(store.games())) == []


def come_back(address, cookie, store, game, acknowledged):
    """Everything that was acknowledged is there, and the game goes on."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with talking(address, cookie) as talker:
            talker.say("hello", take_over=True)
            if talker.hear("game", "trouble")["type"] == "game":
                talker.say("ready", seconds=0)
                reached = talker.hear("stored")["tick"]
                break
        assert time.monotonic() < deadline, "the game does not go on"
        time.sleep(0.2)
    assert reached > acknowledged
    assert len(store.game(game).actions) >= reached


def test_a_full_disk_is_told_to_the_page_and_nothing_acknowledged_is_lost(tmp_path):
    numbers = {
        "ticks_per_second": 20,
        "tutorial_ticks": 2_000,
        "countdown_seconds": 0,
        "stall_seconds": 60,
    }
    file = write_study(tmp_path / "study.toml", **numbers)
    database = f"sqlite:///{tmp_path / 'study.db'}"
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-c", "from cochef.cli.main import main; main()", "study", "serve"]
    command += [file, "--database", database, "--port", str(port), "--open-door", "--simulated"]
    with subprocess.Popen(command) as process:
        try:
            rehearse.await_answer(address, process)
            store = StudyStore.existing(database)
            cookie = cookie_of(address)
            with full_disk_game(address, cookie, process) as (game, acknowledged):
                assert len(store.game(game).actions) >= acknowledged
            come_back(address, cookie, store, game, acknowledged)
            store.close()
        finally:
            process.terminate()


@contextlib.contextmanager
def full_disk_game(address, cookie, process):
    """A game in which the disk becomes full: its number, and what was acknowledged."""
    with talking(address, cookie) as talker:
        game = begin(talker)
        with full_disk(process):
            acknowledged = hear_until_trouble(talker)
            with pytest.raises(ConnectionClosed):
                talker.hear("stored", seconds=PATIENCE)
            with talking(address, cookie) as again:
                again.say("hello", take_over=True)
                again.hear("trouble")
            yield game, acknowledged


def test_a_database_that_takes_nothing_more_is_told_to_the_page(postgres):
    url = postgres()
    with (
        contextlib.closing(StudyStore.open(url, STUDY)) as store,
        serving(study_app(STUDY, store, open_door=True)) as address,
    ):
        cookie = cookie_of(address)
        with talking(address, cookie) as talker:
            game = begin(talker)
            with read_only(url):
                acknowledged = hear_until_trouble(talker)
                with pytest.raises(ConnectionClosed):
                    talker.hear("stored", seconds=PATIENCE)
        come_back(address, cookie, store, game, acknowledged)
