"""The study's server as a careless or hostile client meets it."""

import json
import socket
import threading
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import replace

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from cochef.web import admin as web_admin
from cochef.web import replays, tickets, wire
from cochef.web.middleware import MAX_BODY
from cochef.web.records import GameEnd, InterruptionReason, ParticipantIdentity, Phase
from cochef.web.server import study_app
from cochef.web.store import StudyStore
from cochef.web.throttle import Throttle
from cochef.web.wire import ANSWERS_FRAME, MAX_FRAME, SMALL_FRAME
from tests.web.serving import PATIENCE, get, serving
from tests.web.small_study import at_the_games, begun, consenting, small_study
from tests.web.talking import Talker, cookie_of, talking, to_the_tutorial, to_the_warmup

PASSWORD = "correct horse"
QUESTIONS = ("age", "gender", "experience")
STUDY = small_study(("coordination_ring",), ticks_per_second=100.0, participants_per_layout=200)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('study') / 'study.db'}"
    with (
        closing(StudyStore.open(url, STUDY)) as store,
        serving(
            study_app(STUDY, store, password=PASSWORD, capacity=8, open_door=True, prolific=True)
        ) as address,
    ):
        yield address, store


@pytest.fixture
def url(served):
    return served[0]


@pytest.fixture
def store(served):
    return served[1]


@contextmanager
def admin(url):
    with httpx.Client(base_url=url, headers={"Origin": url}, timeout=PATIENCE) as client:
        assert client.post("/api/admin/login", json={"password": PASSWORD}).status_code == 204
        yield client


def test_a_page_of_another_site_gets_no_websocket(url):
    with pytest.raises(InvalidStatus) as refusal:
        Talker(url, cookie_of(url), origin="http://elsewhere.example")
    assert refusal.value.response.status_code == 403


@pytest.mark.parametrize(
    "cookie", [None, "", "1", "1.", "1.abcdef", "-1.00", "٣.00", "1" * 40 + ".00"]
)
def test_nobody_takes_part_with_a_ticket_of_their_own_making(url, cookie):
    cookie_of(url)
    with pytest.raises(InvalidStatus):
        Talker(url, cookie and cookie.encode().decode("latin-1"))


def test_a_ticket_signed_for_another_number_is_worthless(url, store):
    mine = cookie_of(url)
    number = tickets.number_on(store.secret, mine)
    forged = f"{number - 1}.{mine.partition('.')[2]}"
    with pytest.raises(InvalidStatus):
        Talker(url, forged)


def test_every_answer_forbids_foreign_and_inline_scripts(url):
    for path in ("/study", "/static/study.js", "/art/sprites.json", "/nowhere", "/admin"):
        policy = get(url + path).headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy and "unsafe" not in policy


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/art/layouts/..%2f..%2fserver.py",
    ],
)
def test_no_path_leads_out_of_the_pages_files(url, path):
    with httpx.Client(base_url=url, timeout=PATIENCE) as client:
        answer = client.send(client.build_request("GET", url + path))
    assert answer.status_code in (400, 404) and "FastAPI" not in answer.text


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"type":7}',
        '{"type":"fly"}',
        '{"type":"down","action":6}',
        '{"type":"down","action":true}',
        '{"type":"ready","seconds":NaN}',
        '{"type":"ready","seconds":1e999}',
        '{"type":"start","partner":99}',
        '{"type":"start","layout":"x","partner":"y"}',
        '{"type":"submit"}',
        '{"type":"submit","event":"consent","agrees":"yes"}',
        '{"type":"submit","event":"judged","ranking":[0,1,2,3],"comments":[]}',
        '{"type":"submit","event":"answers","values":{"age":"\\ud800"}}',
        "[" * 2000,
        '{"type":' + "9" * 2000 + "}",
    ],
)
def test_a_message_that_makes_no_sense_is_refused_and_changes_nothing(url, frame):
    with talking(url, cookie_of(url)) as talker:
        talker.say("hello")
        assert talker.hear("stage")["stage"] == "consent"
        talker.socket.send(frame)
        assert talker.hear("error")["message"]
        talker.say("hello")
        assert talker.hear("stage")["stage"] == "consent"


@pytest.mark.parametrize("frame", [b"bytes", "x" * (MAX_FRAME + 1), "x" * (3 * MAX_FRAME)])
def test_bytes_and_oversized_frames_end_the_conversation(url, frame):
    with talking(url, cookie_of(url)) as talker:
        talker.say("hello")
        talker.hear("stage")
        with pytest.raises(ConnectionClosed):
            talker.socket.send(frame)
            while True:
                talker.hear("nothing", seconds=PATIENCE)


def test_a_flood_ends_the_conversation_of_the_flooder_only(url):
    with talking(url, cookie_of(url)) as other, talking(url, cookie_of(url)) as flooder:
        other.say("hello")
        other.hear("stage")
        with pytest.raises(ConnectionClosed):
            for _ in range(20_000):
                flooder.say("seen", t=1)
            while True:
                flooder.hear("nothing", seconds=PATIENCE)
        other.say("hello")
        assert other.hear("stage")["stage"] == "consent"


def test_the_first_message_is_hello(url):
    with talking(url, cookie_of(url)) as talker:
        talker.say("start")
        assert "hello" in talker.hear("error")["message"]


def test_a_second_tab_says_so_and_may_take_over(url):
    cookie = cookie_of(url)
    with talking(url, cookie) as first, talking(url, cookie) as second:
        first.say("hello")
        first.hear("stage")
        second.say("hello")
        assert second.hear("elsewhere")["contact"] == STUDY.contact
        second.say("submit", event="consent", agrees=True)
        assert "hello" in second.hear("error")["message"]
        second.say("hello", take_over=True)
        second.hear("stage")
        assert first.hear("elsewhere")["contact"] == STUDY.contact
        first.say("submit", event="consent", agrees=False)
        first.hear("error")
        second.say("hello")
        assert second.hear("stage")["stage"] == "consent"


def test_a_game_that_counts_cannot_be_ended_early_nor_begun_before_its_time(url):
    with talking(url, cookie_of(url)) as talker:
        to_the_warmup(talker)
        talker.say("start")
        assert "partner" in talker.hear("error")["message"]
        talker.say("stop")
        assert "no game" in talker.hear("error")["message"]
        talker.say("submit", event="warm-up-done")
        assert "at least" in talker.hear("error")["message"]


def leave_a_game(url, cookie):
    """Begin a game, see a tick of it, and go; which game, and which tick."""
    with talking(url, cookie) as talker:
        talker.say("hello")
        talker.hear("stage")
        talker.say("start", partner=0)
        game = talker.hear("game")
        assert game["phase"] == "warm-up" and game["t"] == 0
        talker.say("ready", seconds=0)
        talker.say("down", action=2)
        seen = talker.hear("tick")["t"]
        with suppress(ConnectionClosed):
            talker.say("seen", t=seen)
    return game, seen


def go_on(talker, game, seen):
    """Play a game that waits, to its end."""
    again = talker.hear("game")
    assert again["game"] == game["game"] and again["t"] >= seen
    talker.say("ready", seconds=0)
    over = talker.play()
    assert talker.hear("stage")["stage"] == "warm-up"
    return over


def test_a_game_is_acknowledged_stored_and_goes_on_after_the_page_was_gone(url, store):
    cookie = cookie_of(url)
    number = tickets.number_on(store.secret, cookie)
    with talking(url, cookie) as talker:
        to_the_warmup(talker)
    is_waiting = False
    while not is_waiting:  # on a busy machine a game may be over before its page is gone
        game, seen = leave_a_game(url, cookie)
        with talking(url, cookie) as talker:
            talker.say("hello")
            is_waiting = talker.hear("stage")["waiting"]
            over = go_on(talker, game, seen) if is_waiting else None
    assert over["t"] == STUDY.numbers.warmup_ticks
    stored = store.game(game["game"])
    assert stored.start.participant == number and stored.start.phase is Phase.WARMUP
    assert stored.ended is GameEnd.COMPLETE and len(stored.actions) == STUDY.numbers.warmup_ticks
    assert stored.score == over["score"]
    (gone,) = stored.interruptions
    assert gone.reason is InterruptionReason.GONE and gone.is_over and gone.seconds > 0


def test_no_message_of_a_blinded_game_tells_who_the_agent_is(url):
    secret = {name for agents in STUDY.layouts.values() for pair in agents.items() for name in pair}
    with talking(url, cookie_of(url)) as talker:
        to_the_warmup(talker)
        heard = []
        for partner in range(4):
            talker.say("start", partner=partner)
            heard.append(talker.hear("game"))
            talker.say("ready", seconds=0)
            heard.extend([talker.hear("tick"), talker.hear("over"), talker.hear("stage")])
    text = json.dumps(heard)
    assert [message["partner"] for message in heard[::4]] == ["A", "B", "C", "D"]
    assert not [name for name in secret if name in text]


def test_why_a_game_cannot_be_opened_is_logged_and_not_told_to_the_page(tmp_path, caplog):
    lost = str(tmp_path / "very-secret-agent.safetensors")
    blind = replace(STUDY, layouts={"coordination_ring": dict.fromkeys(STUDY.agents, lost)})
    with (
        closing(StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", blind)) as store,
        serving(study_app(blind, store, open_door=True)) as url,
        talking(url, cookie_of(url)) as talker,
    ):
        to_the_warmup(talker)
        talker.say("start", partner=0)
        assert talker.hear("error")["message"].startswith(
            "this game cannot be opened at the moment"
        )
        assert [game.start.phase for game in store.games()] == [Phase.TUTORIAL]
    assert [
        record
        for record in caplog.records
        if record.name == "cochef.web.study_service" and lost in record.getMessage()
    ]


def test_newcomers_beyond_capacity_are_asked_to_come_later(url):
    everybody = []
    try:
        for _ in range(8):
            everybody.append(Talker(url, cookie_of(url)))
            everybody[-1].say("hello")
            everybody[-1].hear("stage")
        with talking(url, cookie_of(url)) as late:
            late.say("hello")
            said = late.hear("full")
            assert (said["text"], said["contact"]) == (STUDY.texts.full, STUDY.contact)
    finally:
        for talker in everybody:
            talker.close()


def test_links_and_prolific_identifiers_lead_to_the_study(url, store):
    (link,) = store.invite(1)
    for path in (f"/join/{link}", "/?PROLIFIC_PID=5f0a&STUDY_ID=1&SESSION_ID=2"):
        answer = get(url + path)
        assert answer.status_code == 303 and answer.headers["location"] == "/study"
        again = get(url + path)
        assert again.cookies["cochef"] == answer.cookies["cochef"]
    for path in ("/join/unknown", "/join/" + "x" * 100, "/?PROLIFIC_PID=<script>"):
        answer = get(url + path)
        assert answer.status_code == 404 and "<script>" not in answer.text.replace(
            '<script type="module"', ""
        )
        assert STUDY.contact in answer.text


def test_whoever_lost_their_place_or_has_too_many_tabs_is_told_whom_to_ask(url, store):
    late = at_the_games(store, "late", now=time.time() - 100 * 24 * 3600)
    rival = at_the_games(store, "rival", now=time.time())
    assert (rival.layout, rival.place) == (late.layout, late.place)
    cookie = tickets.ticket(store.secret, late.number)
    with talking(url, cookie) as first, talking(url, cookie) as second:
        first.say("hello")
        said = first.hear("full")
        assert "given to somebody else" in said["text"] and said["contact"] == STUDY.contact
        with talking(url, cookie), talking(url, cookie), talking(url, cookie):
            assert second.hear("full")["contact"] == STUDY.contact


def test_a_prolific_identifier_lets_newcomers_in_only_where_it_was_asked_for(tmp_path):
    with closing(StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", STUDY)) as store:
        store.join(ParticipantIdentity("prolific", "known"), 1e10)
        with serving(study_app(STUDY, store, open_door=True)) as url:
            assert get(url + "/?PROLIFIC_PID=anything").status_code == 404
            assert get(url + "/?PROLIFIC_PID=known").status_code == 303
        assert len(store.participants()) == 1


def test_how_late_a_tick_was_drawn_is_stored_even_if_the_tick_was_stored_long_before(tmp_path):
    slow = small_study(("coordination_ring",), ticks_per_second=20.0)
    with closing(StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", slow)) as store:
        with (
            serving(study_app(slow, store, open_door=True)) as url,
            talking(url, cookie_of(url)) as talker,
        ):
            to_the_tutorial(talker)
            talker.say("start")
            game = talker.hear("game")["game"]
            began = time.monotonic()
            talker.say("ready", seconds=0)
            talker.hear("tick")
            time.sleep(1.0)
            talker.hear("stored")
            talker.say("seen", t=1)
            talker.say("stop")
            ticks = talker.hear("over")["t"]
            passed = time.monotonic() - began
        lags = store.game(game).lags
    assert 1_000 <= lags[0] <= 1_000 * passed
    assert lags[1:] == (-1,) * (ticks - 1)


def test_a_full_study_says_so_politely(tmp_path):
    tiny = small_study(("coordination_ring",), participants_per_layout=1)
    with closing(StudyStore.open(f"sqlite:///{tmp_path / 'tiny.db'}", tiny)) as store:
        consenting(store, "first", 1e10)
        with serving(study_app(tiny, store, prolific=True)) as url:
            answer = get(url + "/?PROLIFIC_PID=second")
            assert answer.status_code == 200 and tiny.texts.full.split("\n")[0] in answer.text
            assert tiny.contact in answer.text
            assert get(url + "/").status_code == 404
            assert [get(url + path).status_code for path in ("/admin", "/api/admin/progress")] == [
                404,
                404,
            ]


def test_the_experimenters_page_needs_the_password(url):
    for path in ("progress", "live", "export", "games/1", "participants/1/games"):
        assert get(f"{url}/api/admin/{path}").status_code == 401
    assert (
        httpx.post(
            f"{url}/api/admin/participants/1/withdraw", headers={"Origin": url}, timeout=PATIENCE
        ).status_code
        == 401
    )
    with admin(url) as client:
        assert client.get("/api/admin/live").json()["capacity"] == 8
        foreign = client.post(
            "/api/admin/links?count=1", headers={"Origin": "http://elsewhere.example"}
        )
        assert foreign.status_code == 403
        assert client.post("/api/admin/logout").status_code == 204
        assert client.get("/api/admin/live").status_code == 401


def test_the_experimenter_sees_the_games_of_one_participant_and_how_fast_they_were(
    url, store, monkeypatch
):
    people = [at_the_games(store, who, now=1e10) for who in ("one", "other")]
    numbers = [begun(store, participant, now=1e10) for participant in people]
    threads = []
    for place, name in ((StudyStore, "games"), (replays, "stored_layouts")):
        monkeypatch.setattr(place, name, noting_threads(getattr(place, name), threads))
    with admin(url) as client:
        (listed,) = client.get(f"/api/admin/participants/{people[1].number}/games").json()
        shown = client.get(f"/api/admin/games/{numbers[1]}").json()
        assert client.get("/api/admin/games/999999").status_code == 404
    assert listed["game"] == shown["game"] == numbers[1]
    assert listed["ticks_per_second"] == shown["ticks_per_second"] == 100.0
    assert shown["moments"][0]["t"] == 0
    assert len(threads) == 4 and all(
        name.startswith("asyncio") for name in threads
    )  # neither the clock nor the writer


def noting_threads(function, threads):
    """The function, which notes in which thread it is called."""

    def noted(*arguments):
        threads.append(threading.current_thread().name)
        return function(*arguments)

    return noted


def test_a_participant_who_is_withdrawn_while_playing_is_sent_away_and_forgotten(url, store):
    cookie = cookie_of(url)
    number = tickets.number_on(store.secret, cookie)
    with admin(url) as client, talking(url, cookie) as talker:
        to_the_tutorial(talker)
        talker.say("start")
        talker.hear("game")
        talker.say("ready", seconds=0)
        talker.hear("tick")
        assert client.post(f"/api/admin/participants/{number}/withdraw").status_code == 204
        assert talker.hear("withdrawn")["contact"] == STUDY.contact
        assert client.post(f"/api/admin/participants/{number}/withdraw").status_code == 404
    assert number not in [one.number for one in store.participants()]
    with talking(url, cookie) as talker:
        talker.say("hello")
        assert talker.hear("withdrawn")["contact"] == STUDY.contact


def test_a_participant_who_was_withdrawn_by_the_command_line_is_told_so(url, store):
    cookie = cookie_of(url)
    with talking(url, cookie) as talker:
        talker.say("hello")
        talker.hear("stage")
        store.withdraw(tickets.number_on(store.secret, cookie))
        talker.say("submit", event="consent", agrees=True)
        assert talker.hear("withdrawn", "error")["type"] == "withdrawn"


@pytest.fixture
def minute(monkeypatch):
    """For whoever guesses passwords the clock stands still: all their guesses are in one minute."""
    monkeypatch.setattr(
        web_admin, "Throttle", lambda rate, burst: Throttle(rate, burst, clock=lambda: 0.0)
    )


@pytest.mark.usefixtures("minute")
def test_guessing_the_password_has_to_wait(tmp_path):
    tiny = small_study(("coordination_ring",))
    with (
        closing(StudyStore.open(f"sqlite:///{tmp_path / 'tiny.db'}", tiny)) as store,
        serving(study_app(tiny, store, password=PASSWORD)) as url,
        httpx.Client(headers={"Origin": url}, timeout=PATIENCE) as client,
    ):
        tried = [
            client.post(f"{url}/api/admin/login", json={"password": str(n)}).status_code
            for n in range(12)
        ]
        assert tried == [403] * 10 + [429] * 2
        assert client.post(f"{url}/api/admin/login", json={"password": PASSWORD}).status_code == 429


def test_a_websocket_may_stay_longer_than_a_request_may_take(tmp_path):
    tiny = small_study(("coordination_ring",))
    with closing(StudyStore.open(f"sqlite:///{tmp_path / 'tiny.db'}", tiny)) as store:
        app = study_app(tiny, store, open_door=True)
        app.state.door_limits = replace(app.state.door_limits, request_seconds=2.0)
        with serving(app) as url, talking(url, cookie_of(url)) as talker:
            talker.say("hello")
            talker.hear("stage")
            time.sleep(2.1)
            talker.say("hello")
            assert talker.hear("stage")["stage"] == "consent"


def test_a_request_that_does_not_come_to_its_end_in_time_is_cut_off(tmp_path):
    tiny = small_study(("coordination_ring",))
    with closing(StudyStore.open(f"sqlite:///{tmp_path / 'tiny.db'}", tiny)) as store:
        app = study_app(tiny, store, password=PASSWORD)
        app.state.door_limits = replace(app.state.door_limits, request_seconds=0.5)
        with serving(app) as url:
            host = url.removeprefix("http://")
            begun = f"POST /api/admin/login HTTP/1.1\r\nHost: {host}\r\nOrigin: {url}\r\n"
            for text in ("", "GET / HT", f"{begun}Content-Length: 9\r\n\r\n{{"):
                with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as slow:
                    slow.sendall(text.encode())
                    slow.settimeout(PATIENCE)
                    with suppress(ConnectionResetError):
                        assert slow.recv(100) == b""


@pytest.mark.parametrize("origin", [None, "http://elsewhere.example"])
@pytest.mark.parametrize("path", ["/api/admin/login", "/", "/static/study.js", "/nowhere"])
def test_the_origin_is_checked_before_a_body_is_read(url, origin, path):
    host = url.removeprefix("http://")
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", "Content-Length: 20000000"]
    if origin:
        lines.append(f"Origin: {origin}")
    with socket.create_connection(("127.0.0.1", int(host.partition(":")[2]))) as client:
        client.settimeout(PATIENCE)
        client.sendall(("\r\n".join(lines) + "\r\n\r\n{").encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
@pytest.mark.parametrize("path", ["/api/admin/login", "/", "/static/study.js", "/nowhere"])
def test_a_body_is_limited_on_every_route_and_says_how_long_it_is(url, method, path):
    with httpx.Client(base_url=url, timeout=PATIENCE, headers={"Origin": url}) as client:
        long = client.request(method, path, content=b"x" * (MAX_BODY + 1))
        unknown = client.request(method, path, content=iter([b"x"]))
    assert (long.status_code, unknown.status_code) == (413, 411)
    assert "xxx" not in long.text


def test_an_error_does_not_repeat_what_was_sent(url):
    with httpx.Client(base_url=url, timeout=PATIENCE, headers={"Origin": url}) as client:
        wrong = client.post("/api/admin/login", json={"password": ["needle" * 100]})
        broken = client.post("/api/admin/login", content=b"{needle")
        paths = (
            "/api/admin/games/needle",
            "/join/needle",
            "/join/needle<b>",
            "/join/" + "needle" * 100,
            "/?PROLIFIC_PID=needle!",
            "/?PROLIFIC_PID=" + "needle" * 100,
            "/art/layouts/needle",
            "/static/needle",
            "/needle",
        )
        answers = [client.get(path) for path in paths]
    assert [wrong.status_code, broken.status_code] == [422, 422]
    assert all(400 <= one.status_code < 500 for one in answers)
    assert not [one.text for one in (wrong, broken, *answers) if "needle" in one.text]


def test_an_error_over_the_websocket_quotes_at_most_80_characters(url):
    long = "needle" * 200
    wrong = [
        long,
        [long],
        {"type": long},
        {"type": "down", "action": long},
        {"type": "ready", "seconds": long},
        {"type": "hello", "take_over": long},
        {"type": "start", "partner": long},
        {"type": "start", "layout": long, "partner": long},
        {"type": "submit", "event": long},
        {"type": "submit", "event": "consent", "agrees": long},
        {"type": "submit", "event": "judged", "ranking": long},
        {"type": "submit", "event": "judged", "ranking": [0], "comments": long},
        {"type": "submit", "event": "answers", "values": long},
        {"type": "submit", "event": "answers", "values": {long: long}},
        {"type": "submit", "event": "answers", "values": dict.fromkeys(QUESTIONS, long)},
        {"type": "submit", "event": "answers", "values": {key: [long] for key in QUESTIONS}},
    ]
    with talking(url, cookie_of(url)) as talker:
        talker.say("hello")
        talker.hear("stage")
        talker.say("submit", event="consent", agrees=True)
        assert talker.hear("stage")["stage"] == "questions"
        for message in (*wrong, None):
            talker.socket.send(f"{{{long}" if message is None else json.dumps(message))
            said = talker.hear("error")["message"]
            assert 0 < said.count("needle") * len("needle") <= 80, said


def test_large_frames_are_taken_only_where_people_write(url):
    with talking(url, cookie_of(url)) as talker:
        talker.say("hello")
        talker.hear("stage")
        talker.say("submit", event="consent", agrees=True)
        talker.hear("stage")
        talker.say("submit", event="answers", values={"x": "y" * 20_000})
        assert "the questions are" in talker.hear("error")["message"]
        talker.say("submit", event="answers", values=dict.fromkeys(QUESTIONS))
        assert talker.hear("stage")["stage"] == "instructions"
        with pytest.raises(ConnectionClosed):
            talker.say("submit", event="answers", values={"x": "y" * 20_000})
            while True:
                talker.hear("nothing", seconds=PATIENCE)


def padded(size):
    """A message with wrong answers, of so many characters."""
    message = {"type": "submit", "event": "answers", "values": {"x": ""}}
    message["values"]["x"] = "y" * (size - len(json.dumps(message)))
    return json.dumps(message)


def test_frames_of_more_than_2_ki_characters_are_parsed_outside_the_clocks_thread(url, monkeypatch):
    threads = []
    with talking(url, cookie_of(url)) as talker:
        talker.say("hello")
        talker.hear("stage")
        talker.say("submit", event="consent", agrees=True)
        talker.hear("stage")
        monkeypatch.setattr(wire, "read", noting_threads(wire.read, threads))
        for size in (100, SMALL_FRAME, SMALL_FRAME + 1, ANSWERS_FRAME):
            talker.socket.send(padded(size))
            assert "the questions are" in talker.hear("error")["message"]
    clocks, last_small, *large = threads
    assert clocks == last_small
    assert len(large) == 2 and clocks not in large
    assert all(name.startswith("asyncio") for name in large)


@pytest.mark.usefixtures("minute")
def test_a_stranger_locks_out_nobody_but_themselves(tmp_path):
    tiny = small_study(("coordination_ring",))

    def login(client, password):
        return client.post(f"{url}/api/admin/login", json={"password": password}).status_code

    def browser(url, address):
        transport = httpx.HTTPTransport(local_address=address)
        return httpx.Client(headers={"Origin": url}, transport=transport, timeout=PATIENCE)

    with (
        closing(StudyStore.open(f"sqlite:///{tmp_path / 'tiny.db'}", tiny)) as store,
        serving(study_app(tiny, store, password=PASSWORD)) as url,
        browser(url, "127.0.0.1") as own,
        browser(url, "127.0.0.2") as stranger,
        browser(url, "127.0.0.2") as known,
    ):
        assert login(known, PASSWORD) == 204
        assert [login(stranger, str(number)) for number in range(12)][-2:] == [429, 429]
        assert login(stranger, PASSWORD) == 429
        assert login(own, PASSWORD) == 204
        assert login(known, PASSWORD) == 204  # has been in before, from the stranger's address


def test_made_up_identifiers_from_one_address_take_no_place_and_are_soon_too_many(tmp_path):
    tiny = small_study(("coordination_ring",), participants_per_layout=8, joins_per_address=20)
    strict = replace(tiny, prolific_id_form="[0-9a-f]{24}")
    with (
        closing(StudyStore.open(f"sqlite:///{tmp_path / 'tiny.db'}", strict)) as store,
        serving(study_app(strict, store, prolific=True)) as url,
        httpx.Client(base_url=url, timeout=PATIENCE) as client,
    ):
        assert client.get("/?PROLIFIC_PID=made-up").status_code == 404
        made_up = [client.get(f"/?PROLIFIC_PID={number:024x}").status_code for number in range(30)]
        assert made_up == [303] * 20 + [429] * 10
        assert client.get(f"/?PROLIFIC_PID={7:024x}").status_code == 303  # known: may come back
        assert len(store.participants()) == 20
        consenting(store, "somebody-else", 1e10)
