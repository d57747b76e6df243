"""Tutorial, warm-up, pauses and stalls, as the page and the store of a real server see them."""

import time
from contextlib import closing, contextmanager
from dataclasses import replace

import httpx
import pytest

from cochef.web import tickets
from cochef.web.records import GameEnd, InterruptionReason, Phase, Steps, counted_game
from cochef.web.server import study_app
from cochef.web.store import StudyStore
from tests.web.serving import PATIENCE, serving
from tests.web.small_study import at_the_games, small_study
from tests.web.talking import cookie_of, serve_a_soup, talking, to_the_tutorial, to_the_warmup

STUDY = small_study(
    ("coordination_ring",),
    ticks_per_second=50.0,
    participants_per_layout=50,
    game_ticks=100,
    warmup_ticks=30,
    warmup_ticks_least=15,
    pauses_most=2,
)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('study') / 'study.db'}"
    with (
        closing(StudyStore.open(url, STUDY)) as store,
        serving(study_app(STUDY, store, capacity=8, open_door=True)) as address,
    ):
        yield address, store


@pytest.fixture
def url(served):
    return served[0]


@pytest.fixture
def store(served):
    return served[1]


@contextmanager
def at_a_game(url, store, who, seen=5):
    """A participant in the first game that counts, its first ticks played and seen."""
    participant = at_the_games(store, who, now=time.time())
    with talking(url, tickets.ticket(store.secret, participant.number)) as talker:
        talker.say("hello")
        talker.hear("stage")
        talker.say("start")
        game = talker.hear("game")
        talker.say("ready", seconds=0)
        see_some(talker, seen)
        yield talker, game


def see_some(talker, ticks):
    for _ in range(ticks):
        talker.say("seen", t=talker.hear("tick")["t"])


def test_the_tutorial_cannot_be_skipped_and_ends_with_a_served_soup(url, store):
    cookie = cookie_of(url)
    with talking(url, cookie) as talker:
        to_the_tutorial(talker)
        talker.say("submit", event="tutorial-done")
        assert "event is 'tutorial-done'" in talker.hear("error")["message"]
        talker.say("start", partner=0)
        assert talker.hear("game")["phase"] == "tutorial"
        talker.say("ready", seconds=0)
        see_some(talker, 5)
        talker.say("stop")
        assert talker.hear("over")["counts"] is False
        assert talker.hear("stage")["stage"] == "tutorial"
        over = serve_a_soup(talker)
        assert over["counts"] is True and over["score"] > 0
        assert talker.hear("stage")["stage"] == "warm-up"
    number = tickets.number_on(store.secret, cookie)
    games = [game for game in store.games() if game.start.participant == number]
    assert [(game.start.number, game.ended) for game in games] == [
        (0, GameEnd.STOPPED),
        (1, GameEnd.COMPLETE),
    ]


def test_a_free_game_counts_only_after_the_ticks_that_the_study_asks_for(url, store):
    cookie = cookie_of(url)
    with talking(url, cookie) as talker:
        assert to_the_warmup(talker)["least_seconds"] == 1
        talker.say("start", partner=1)
        talker.hear("game")
        talker.say("stop")  # at tick 0
        assert talker.hear("over")["counts"] is False
        assert talker.hear("stage")["tried"] == [0, 0, 0, 0]
        talker.say("start", partner=1)
        talker.hear("game")
        talker.say("ready", seconds=0)
        see_some(talker, 20)
        talker.say("stop")
        assert talker.hear("over")["counts"] is True
        assert talker.hear("stage")["tried"] == [0, 1, 0, 0]
    number = tickets.number_on(store.secret, cookie)
    free = [game.start for game in store.games() if game.start.phase is Phase.WARMUP]
    own = [start for start in free if start.participant == number]
    assert [start.number for start in own] == [0, 1]
    assert own[0].seed != own[1].seed


def test_a_page_that_draws_nothing_any_more_pauses_its_game_which_is_stored(tmp_path):
    impatient = replace(STUDY, numbers=replace(STUDY.numbers, stall_seconds=0.4))
    with (
        closing(StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", impatient)) as store,
        serving(study_app(impatient, store, capacity=2)) as url,
    ):
        began = time.monotonic()
        with at_a_game(url, store, "stalled", seen=0) as (talker, game):
            paused = talker.hear("paused")
            assert paused == {"type": "paused", "reason": "stall", "stands": True, "left": 1}
            time.sleep(0.5)
            talker.say("ready", seconds=0)
            first = talker.hear("tick")["t"]
            talker.say("seen", t=first)
            passed = time.monotonic() - began
            talker.play()
        stored = store.game(game["game"])
    stall = stored.interruptions[0]  # on a busy machine there may be more
    assert stall.reason is InterruptionReason.STALL and stall.paused and stall.is_over
    assert 0.5 <= stall.seconds <= passed + 0.1  # two clocks
    assert 0 < stall.undrawn <= stall.tick
    assert first == stall.tick + 1  # nothing was played in the meantime
    assert len(stored.actions) == STUDY.numbers.game_ticks


def test_a_hidden_tab_pauses_a_game_that_counts_only_so_often(url, store):
    with at_a_game(url, store, "hidden") as (talker, game):
        for left in (1, 0):
            talker.say("pause")
            said = talker.hear("paused")
            assert (said["reason"], said["stands"], said["left"]) == ("hidden", True, left)
            talker.say("ready", seconds=0)
            see_some(talker, 5)
        talker.say("pause")
        said = talker.hear("paused")
        assert (said["stands"], said["left"]) == (False, 0)
        talker.play()
    stored = store.game(game["game"])
    assert [one.paused for one in stored.interruptions] == [True, True, False]
    assert all(one.is_over and one.seconds is not None for one in stored.interruptions)


def test_whoever_comes_back_after_too_many_pauses_cannot_take_their_time(url, store):
    participant = at_the_games(store, "comes-back", now=time.time())
    cookie = tickets.ticket(store.secret, participant.number)
    with talking(url, cookie) as talker:
        talker.say("hello")
        talker.hear("stage")
        talker.say("start")
        talker.hear("game")
        talker.say("ready", seconds=0)
        see_some(talker, 3)
    for _ in range(2):
        with talking(url, cookie) as talker:
            talker.say("hello")
            talker.hear("game")
            talker.say("ready", seconds=0)
            see_some(talker, 3)
    with talking(url, cookie) as talker:
        talker.say("hello")
        number = talker.hear("game")["game"]
        talker.hear("count")
        over = talker.play()
    assert over["t"] == STUDY.numbers.game_ticks
    reasons = [(one.reason, one.paused) for one in store.game(number).interruptions]
    assert reasons == [(InterruptionReason.GONE, True)] * 3


def test_a_killed_servers_pause_counts_though_nobody_knows_how_long_it_was(tmp_path):
    database = f"sqlite:///{tmp_path / 'study.db'}"
    with closing(StudyStore.open(database, STUDY)) as store:
        participant = at_the_games(store, now=time.time())
        cookie = tickets.ticket(store.secret, participant.number)
        game = store.begin_game(counted_game(store.study, participant), time.time())
        store.append([Steps(game, 0, ((4, 4),) * 7)])
        with serving(study_app(STUDY, store, capacity=2)) as url, talking(url, cookie) as talker:
            talker.say("hello")
            assert talker.hear("game")["t"] == 7
            talker.say("ready", seconds=0)
            talker.play()
        (gone,) = store.game(game).interruptions
    assert (gone.reason, gone.tick, gone.paused) == (InterruptionReason.GONE, 7, True)
    assert gone.began is None and gone.seconds is None and gone.is_over


def test_a_browser_that_is_not_known_gets_a_page_that_helps(url):
    for cookies in ({}, {"cochef": "1.abc"}):
        answer = httpx.get(f"{url}/study", cookies=cookies, timeout=PATIENCE)
        assert answer.status_code == 401
        assert "We do not know this browser" in answer.text
        assert STUDY.contact in answer.text


def test_every_stage_tells_the_participants_number_and_whom_to_ask(url, store):
    cookie = cookie_of(url)
    with talking(url, cookie) as talker:
        talker.say("hello")
        stage = talker.hear("stage")
    assert stage["participant"] == tickets.number_on(store.secret, cookie)
    assert stage["contact"] == STUDY.contact
