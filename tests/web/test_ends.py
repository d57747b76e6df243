"""A page that goes and comes back at the very moment when its game ends."""

import time
from contextlib import ExitStack, closing, suppress

import pytest
from websockets.exceptions import ConnectionClosed

from cochef.web import replays, tickets
from cochef.web.progress import StudyStage
from cochef.web.records import GameEnd
from cochef.web.server import study_app
from cochef.web.store import StudyStore
from tests.web.locking import locked
from tests.web.serving import serving
from tests.web.small_study import at_the_games, small_study
from tests.web.talking import Talker

TICKS = 12
STUDY = small_study(
    ("coordination_ring",),
    ticks_per_second=50.0,
    game_ticks=TICKS,
    participants_per_layout=8,
)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    return f"sqlite:///{tmp_path_factory.mktemp('study') / 'study.db'}"


@pytest.fixture(scope="module")
def served(url):
    with (
        closing(StudyStore.open(url, STUDY)) as store,
        serving(study_app(STUDY, store)) as address,
    ):
        yield address, store


def play_until(talker, tick):
    """Go on with a game, and see it up to this tick, or to its end."""
    talker.say("ready", seconds=0)
    while (message := talker.hear("tick", "over"))["type"] == "tick":
        with suppress(ConnectionClosed):
            talker.say("seen", t=message["t"])
        if message["t"] == tick:
            break


def play_all(address, store, who, leave_at, takes_over):
    """Play all games; at some tick of each another page takes the place of this one."""
    participant = at_the_games(store, who, now=time.time())
    cookie = tickets.ticket(store.secret, participant.number)
    shown = []
    with ExitStack() as pages:
        talker = pages.enter_context(closing(Talker(address, cookie)))
        talker.say("hello")
        while (stage := talker.hear("stage"))["stage"] == "games":
            if stage.get("waiting"):
                if talker.hear("game", "over")["type"] == "game":
                    play_until(talker, None)
                continue
            shown.append(stage["game"])
            talker.say("start")
            talker.hear("game")
            play_until(talker, leave_at)
            if not takes_over:
                talker.close()
            talker = pages.enter_context(closing(Talker(address, cookie)))
            talker.say("hello", take_over=True)
    return participant.number, shown


@pytest.mark.parametrize("takes_over", [False, True])
def test_a_page_that_comes_back_when_its_game_ends_plays_every_game_once(served, takes_over):
    address, store = served
    for leave_at in (TICKS - 1, TICKS):
        who = f"leaves-at-{leave_at}-{takes_over:d}"
        number, shown = play_all(address, store, who, leave_at, takes_over)
        games = [game for game in store.games() if game.start.participant == number]
        assert [game.start.number for game in games] == list(range(STUDY.games_each))
        assert {game.ended for game in games} == {GameEnd.COMPLETE}
        assert {len(game.actions) for game in games} == {TICKS}
        assert sorted(set(shown)) == shown  # no game was offered again
        assert store.participant(number).progress.stage is StudyStage.THANKS
    assert replays.mismatches(store, list(store.games())) == []


def test_a_page_that_comes_back_while_the_end_is_stored_is_shown_the_next_game(url, served):
    address, store = served
    participant = at_the_games(store, now=time.time())
    cookie = tickets.ticket(store.secret, participant.number)
    first = Talker(address, cookie)
    first.say("hello")
    first.hear("stage")
    first.say("start")
    game = first.hear("game")["game"]
    with locked(url):
        play_until(first, TICKS)
        first.close()
        second = Talker(address, cookie)
        second.say("hello")
        with pytest.raises(TimeoutError):
            second.hear("stage", "game", seconds=0.5)
    with closing(second):
        stage = second.hear("stage", "game", "trouble")
    assert (stage["type"], stage["game"], stage["waiting"]) == ("stage", 1, False)
    stored = store.game(game)
    assert (stored.ended, len(stored.actions)) == (GameEnd.COMPLETE, TICKS)


def test_who_is_taken_over_before_they_are_answered_hears_so(url, served):
    address, store = served
    participant = at_the_games(store, "in-two-tabs", now=time.time())
    cookie = tickets.ticket(store.secret, participant.number)
    with closing(Talker(address, cookie)) as one, closing(Talker(address, cookie)) as other:
        one.say("hello")
        one.hear("stage")
        with locked(url):  # who is here cannot be noted, so the answer has to wait
            other.say("hello", take_over=True)
            one.hear("elsewhere")
            one.say("hello", take_over=True)
        other.hear("elsewhere")
        one.hear("stage")
