"""The study on disk: what comes back, what is refused, and that what is gone is gone."""

import json
import sqlite3
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sql

from cochef.errors import InputError
from cochef.web.places import PlaceGivenError, StudyFullError
from cochef.web.progress import Answers, Consent, GamePlayed, StudyStage, WarmupPlayed
from cochef.web.records import (
    GameEnd,
    ParticipantIdentity,
    Phase,
    Steps,
    counted_game,
    tutorial_game,
    warmup_game,
)
from cochef.web.schema import PARTICIPANTS
from cochef.web.store import StudyStore, UnknownLinkError
from tests.web.small_study import (
    at_the_games,
    begun,
    consenting,
    events_before_the_games,
    small_study,
)

MINUTE = 60.0
HOUR = 3600.0
ANSWERS = Answers({"age": 33, "gender": None, "experience": "never"})


IN_A_FILE = pytest.mark.parametrize("url", ["sqlite"], indirect=True)


@pytest.fixture
def store(url):
    store = StudyStore.open(url, small_study())
    yield store
    store.close()


def somebody(number):
    return ParticipantIdentity("prolific", f"person-{number}")


def joined(store, who):
    """Somebody who has joined before."""
    return store.join(ParticipantIdentity("prolific", who), 1.0, create=False)


def test_the_same_identity_is_the_same_participant_and_another_one_is_not(store):
    first = store.join(somebody(1), 10.0)
    second = store.join(somebody(2), 11.0)
    assert store.join(somebody(1), 12.0) == first
    assert first.number != second.number
    assert store.join(ParticipantIdentity("link", "person-1"), 13.0).number not in (
        first.number,
        second.number,
    )


def test_participants_spread_evenly_over_layouts_until_the_study_is_full(store):
    people = [consenting(store, f"person-{number}", 10.0) for number in range(8)]
    for layout in store.study.layouts:
        assert sorted(one.place for one in people if one.layout == layout) == [0, 1, 2, 3]
    with pytest.raises(StudyFullError, match="all places of this study are taken"):
        store.join(somebody(8), 10.0)
    assert store.join(somebody(3), 10.0) == people[3]


def place_of(participant):
    return participant.layout, participant.place


def test_nobody_has_a_place_before_they_consent(store):
    curious = [store.join(somebody(number), 10.0) for number in range(100)]
    assert {place_of(one) for one in curious} == {("", -1)}
    store.act(curious[0].number, Consent(False), 11.0)
    taken = {place_of(consenting(store, f"person-{number}", 11.0)) for number in range(1, 9)}
    assert len(taken) == 8 and ("", -1) not in taken
    with pytest.raises(StudyFullError):
        store.act(curious[9].number, Consent(True), 12.0)
    assert store.participant(curious[9].number) == curious[9]


def test_who_did_not_consent_is_forgotten_in_bulk_and_their_link_can_be_used_again(store):
    (link,) = store.invite(1)
    invited = ParticipantIdentity("link", link)
    before = store.join(invited, 10.0, create=False)
    for number in range(20):
        store.join(somebody(number), 10.0)
    store.join(somebody(20), 25 * HOUR)
    assert len(store.participants()) == 1
    assert store.join(invited, 25 * HOUR, create=False).number != before.number
    with pytest.raises(UnknownLinkError):
        store.join(somebody(3), 25 * HOUR, create=False)


def test_a_place_is_given_away_an_hour_after_consent_or_a_day_after_the_warmup_began(store):
    early = [consenting(store, f"person-{number}", 10.0) for number in range(7)]
    late = at_the_games(store, "late", 10.0)
    taken = [place_of(consenting(store, f"new-{number}", 2 * HOUR)) for number in range(7)]
    assert sorted(taken) == sorted(place_of(one) for one in early)
    with pytest.raises(StudyFullError):
        consenting(store, "one-too-many", 20 * HOUR / 10)
    for number in range(7):
        store.act(joined(store, f"new-{number}").number, ANSWERS, 25 * HOUR)
    assert place_of(consenting(store, "last", 25 * HOUR)) == place_of(late)


def test_nobody_holds_a_place_by_saying_hello_without_end(store):
    squatter = consenting(store, "squatter", 0.0)
    others = [at_the_games(store, f"other-{number}", 0.0) for number in range(7)]
    for minute in range(0, 60, 5):
        store.note_seen(squatter.number, minute * MINUTE)
    with pytest.raises(StudyFullError):
        consenting(store, "too-early", 59 * MINUTE)
    store.note_seen(squatter.number, 61 * MINUTE)
    assert place_of(consenting(store, "newcomer", 61 * MINUTE)) == place_of(squatter)
    with pytest.raises(StudyFullError):
        store.note_seen(squatter.number, 62 * MINUTE)
    assert place_of(squatter) not in map(place_of, others)


def test_whoever_reads_slowly_keeps_their_place_while_they_get_further(store):
    slow = store.join(somebody(0), 0.0)
    for step, event in enumerate(events_before_the_games(store.study)[:4]):
        now = step * 55 * MINUTE
        slow = store.act(slow.number, event, now)
        others = [consenting(store, f"other-{step}-{n}", now + 54 * MINUTE) for n in range(7)]
        assert place_of(slow) not in map(place_of, others)
        for other in others:
            store.withdraw(other.number)
    assert slow.progress.stage is StudyStage.WARMUP


def test_who_has_met_the_partners_may_come_back_for_a_week_without_getting_further(store):
    late = at_the_games(store, "late", 0.0)
    for day in range(1, 8):
        store.note_seen(late.number, 24 * HOUR * day - HOUR)
        others = [consenting(store, f"day-{day}-{n}", 24 * HOUR * day - HOUR) for n in range(7)]
        assert place_of(late) not in map(place_of, others)
        for other in others:
            store.withdraw(other.number)
    store.note_seen(late.number, 24 * HOUR * 7 + HOUR)
    others = [consenting(store, f"late-{n}", 24 * HOUR * 7 + HOUR) for n in range(8)]
    assert place_of(late) in map(place_of, others)


def test_every_game_that_counts_keeps_the_place_for_another_week(store):
    late = at_the_games(store, "late", 0.0)
    store.act(late.number, GamePlayed(0), 24 * HOUR * 6)
    store.note_seen(late.number, 24 * HOUR * 8)
    others = [consenting(store, f"other-{n}", 24 * HOUR * 8) for n in range(7)]
    assert place_of(late) not in map(place_of, others)


def test_two_people_are_never_in_one_place_when_somebody_returns(store):
    early = consenting(store, "early", 10.0)
    late = at_the_games(store, "late", 10.0)
    taken = [place_of(consenting(store, f"new-{number}", 30 * HOUR)) for number in range(7)]
    assert place_of(early) in taken
    assert place_of(late) in taken
    with pytest.raises(PlaceGivenError, match="given to somebody else"):
        store.note_seen(late.number, 30 * HOUR)
    with pytest.raises(PlaceGivenError, match="given to somebody else"):
        store.act(late.number, GamePlayed(0), 30 * HOUR)
    store.note_seen(early.number, 30 * HOUR)  # has not met the partners, so any place will do
    assert place_of(store.participant(early.number)) not in taken


def test_somebody_who_returns_late_to_a_place_that_is_free_has_it_again(store):
    late = at_the_games(store, "late", 10.0)
    store.note_seen(late.number, 100 * HOUR)
    others = [place_of(consenting(store, f"new-{number}", 100 * HOUR)) for number in range(7)]
    assert place_of(late) not in others
    assert store.act(late.number, GamePlayed(0), 100 * HOUR).place == late.place


def test_only_invited_links_are_let_in_where_newcomers_are_not(store):
    link = store.invite(3)[1]
    with pytest.raises(UnknownLinkError, match="not one that was given to anybody"):
        store.join(ParticipantIdentity("link", "made-up"), 10.0, create=False)
    participant = store.join(ParticipantIdentity("link", link), 10.0, create=False)
    assert store.join(ParticipantIdentity("link", link), 11.0, create=False) == participant
    assert len(store.participants()) == 1


@pytest.mark.parametrize(
    ("kind", "value"), [("name", "x"), ("link", ""), ("link", "a b"), ("prolific", "é" * 3)]
)
def test_an_identifier_is_letters_and_digits_of_a_known_kind(kind, value):
    with pytest.raises(InputError, match=r"allowed: link, prolific|it takes 1 to 64 letters"):
        ParticipantIdentity(kind, value)


def test_progress_and_plan_are_there_again_after_opening_the_database_anew(store, url):
    participant = at_the_games(store)
    store.close()
    again = StudyStore.existing(url)
    assert again.study == store.study
    assert again.participant(participant.number) == participant
    assert participant.progress.stage is StudyStage.GAMES
    again.close()


def test_an_event_that_is_not_allowed_changes_nothing(store):
    participant = store.join(somebody(1), 10.0)
    with pytest.raises(InputError, match="belongs to games"):
        store.act(participant.number, GamePlayed(0), 11.0)
    assert store.participant(participant.number) == participant


def test_a_game_comes_back_as_it_was_stored(store):
    participant = at_the_games(store)
    start = counted_game(store.study, participant)
    game = store.begin_game(start, 100.0)
    actions = [(int(a), int(b)) for a, b in np.random.default_rng(0).integers(6, size=(40, 2))]
    store.append(
        [Steps(game, 0, tuple(actions[:13]), tuple((tick, 10 * tick) for tick in range(9)))]
    )
    store.append([Steps(game, 13, ()), Steps(game, 13, tuple(actions[13:]), ((11, 900), (13, 20)))])
    store.finish_game(game, 20.0, 105.0, event=GamePlayed(0))
    stored = store.game(game)
    assert stored.start == start
    assert stored.actions.tolist() == [list(joint) for joint in actions]
    assert stored.lags == (*range(0, 90, 10), -1, -1, 900, -1, 20, *[-1] * 26)
    assert (stored.began, stored.finished, stored.ended, stored.score) == (
        100.0,
        105.0,
        GameEnd.COMPLETE,
        20.0,
    )
    assert stored.configuration == store.study.configuration_hash
    assert store.participant(participant.number).progress.games == 1


def test_a_game_that_was_interrupted_goes_on_after_opening_the_database_anew(store, url):
    game = begun(store, at_the_games(store))
    store.append([Steps(game, 0, ((1, 2), (3, 4)))])
    store.close()
    again = StudyStore.existing(url)
    running = again.unfinished_game(1)
    assert (running.number, running.actions.tolist(), running.ended) == (
        game,
        [[1, 2], [3, 4]],
        None,
    )
    again.append([Steps(game, 2, ((5, 5),))])
    assert len(again.game(game).actions) == 3
    again.close()


def test_steps_that_do_not_follow_on_are_refused_and_nothing_of_their_batch_is_stored(store):
    first, second = (begun(store, at_the_games(store, who)) for who in ("ann", "bob"))
    with pytest.raises(InputError, match=f"game {second} goes on with tick 1; the next one is 0"):
        store.append([Steps(first, 0, ((0, 0),)), Steps(second, 1, ((0, 0),))])
    assert len(store.game(first).actions) == 0
    store.append([Steps(first, 0, ((0, 0),)), Steps(second, 0, ((0, 0),))])
    with pytest.raises(InputError, match="goes on with tick 0; the next one is 1"):
        store.append([Steps(first, 0, ((0, 0),))])


def test_a_game_ends_once_and_with_the_progress_it_means_or_not_at_all(store):
    participant = at_the_games(store)
    game = begun(store, participant)
    with pytest.raises(InputError, match="the next one to play is 0"):
        store.finish_game(game, 20.0, 5.0, event=GamePlayed(1))
    assert store.game(game).ended is None
    store.finish_game(game, 20.0, 5.0, event=GamePlayed(0))
    with pytest.raises(InputError, match=f"game {game} is not running"):
        store.finish_game(game, 20.0, 5.0)


def test_beginning_a_game_stops_the_one_left_open(store):
    participant = at_the_games(store)
    left = begun(store, participant)
    new = begun(store, participant)
    assert store.game(left).ended is GameEnd.STOPPED
    assert store.unfinished_game(participant.number).number == new


def test_what_to_play_next_follows_from_the_plan(store):
    participant = at_the_games(store)
    start = counted_game(store.study, participant)
    planned = participant.plan.games[0]
    agent = participant.plan.partners[planned.partner].agent
    assert (start.phase, start.agent, start.seat, start.ticks) == (
        Phase.GAME,
        agent,
        planned.seat,
        40,
    )
    assert start.loaded == store.study.layouts[participant.layout][agent]
    alone = tutorial_game(store.study, participant, 0)
    assert (alone.agent, alone.loaded, alone.layout, alone.ticks) == (
        "",
        "stay",
        "cramped_room",
        4_000,
    )
    newcomer = consenting(store, "newcomer", 5.0)
    free = warmup_game(store.study, newcomer, 3, 0)
    assert free.agent == newcomer.plan.partners[3].agent
    assert len({one.seed for one in (start, alone, free)}) == 3


@IN_A_FILE
def test_a_withdrawn_participant_leaves_no_byte_behind(store, tmp_path):
    kept = at_the_games(store, "stays")
    gone = at_the_games(store, "leaves-Xq7")
    games = [begun(store, participant) for participant in (kept, gone)]
    store.append([Steps(game, 0, ((1, 2),) * 20) for game in games])
    store.withdraw(gone.number)
    with pytest.raises(InputError, match=f"there is no participant {gone.number}"):
        store.participant(gone.number)
    with pytest.raises(InputError, match=f"there is no game {games[1]}"):
        store.game(games[1])
    assert store.append([Steps(game, 20, ((0, 0),)) for game in games]) == (games[1],)
    assert len(store.game(games[0]).actions) == 21
    everything = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"leaves-Xq7" not in everything
    assert b"stays" in everything
    with sqlite3.connect(tmp_path / "study.db") as database:
        for table in ("identities", "answers", "rankings", "comments", "games"):
            assert database.execute(f"select distinct participant from {table}").fetchall() == [
                (kept.number,)
            ]
    database.close()
    assert store.join(ParticipantIdentity("prolific", "leaves-Xq7"), 5.0).number > gone.number


def test_games_go_on_when_another_process_withdraws_somebody(store, url):
    games = [begun(store, at_the_games(store, who)) for who in ("ann", "bob")]
    other = StudyStore.existing(url)
    other.withdraw(store.game(games[0]).start.participant)
    other.close()
    assert store.append([Steps(game, 0, ((1, 1),)) for game in games]) == (games[0],)
    assert len(store.game(games[1]).actions) == 1


def test_whoever_reads_sees_one_moment_while_another_process_writes(store, url):
    participant = at_the_games(store)
    with store.reading() as connection:
        count = sql.select(sql.func.count()).select_from(PARTICIPANTS)
        assert connection.scalar(count) == 1
        other = StudyStore.existing(url)
        other.withdraw(participant.number)
        other.close()
        assert connection.scalar(count) == 1
    assert store.participants() == []


def test_two_processes_that_let_people_in_at_once_give_every_place_once(store, url):
    stores = [store, StudyStore.existing(url)]
    with ThreadPoolExecutor(2) as pool:
        joined = list(pool.map(lambda n: consenting(stores[n % 2], f"person-{n}", 10.0), range(8)))
    assert len({(one.layout, one.place) for one in joined}) == 8
    stores[1].close()


def test_participants_go_on_with_new_words_but_not_with_another_design(store, url):
    store.join(somebody(1), 10.0)
    store.close()
    reworded = replace(store.study, title="Another title")
    again = StudyStore.open(url, reworded)
    assert again.study.title == "Another title"
    again.close()
    with pytest.raises(InputError, match="1 participants have joined another design"):
        StudyStore.open(url, small_study(repeats=2))


@IN_A_FILE
def test_a_database_of_another_version_or_of_something_else_is_refused(store, url, tmp_path):
    store.close()
    with sqlite3.connect(tmp_path / "study.db") as database:
        database.execute("update meta set value = '99' where key = 'schema'")
    database.close()
    with pytest.raises(InputError, match="tables of version 99; this CoChef uses 4"):
        StudyStore.existing(url)
    with sqlite3.connect(tmp_path / "other.db") as database:
        database.execute("create table songs (name text)")
    database.close()
    with pytest.raises(InputError, match="holds something else"):
        StudyStore.open(f"sqlite:///{tmp_path / 'other.db'}", small_study())
    (tmp_path / "noise.db").write_bytes(bytes(range(256)) * 32)
    with pytest.raises(InputError, match="cannot be used"):
        StudyStore.open(f"sqlite:///{tmp_path / 'noise.db'}", small_study())
    with pytest.raises(InputError, match="give sqlite:///FILE or postgresql"):
        StudyStore.open("no url at all", small_study())


@IN_A_FILE
def test_every_connection_writes_ahead_and_waits_for_the_disk(store):
    with store.reading() as connection:
        found = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous")
        ]
    assert found == ["wal", 2]


WRITER = """
    import sys
    from cochef.web.records import Steps
    from cochef.web.store import StudyStore
    store = StudyStore.existing(sys.argv[1])
    game, tick = store.unfinished_game(1).number, 0
    while True:
        store.append([Steps(game, tick, ((tick % 6, 5),))])
        tick += 1
        print(tick, flush=True)
"""


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(store, url):
    game = begun(store, at_the_games(store))
    store.close()
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER), url], stdout=subprocess.PIPE, text=True
    ) as writer:
        acknowledged = [int(writer.stdout.readline()) for _ in range(50)][-1]
        writer.kill()
        acknowledged = max([acknowledged, *map(int, writer.stdout.read().split())])
    again = StudyStore.existing(url)
    stored = again.game(game).actions[:, 0].tolist()
    assert acknowledged <= len(stored) <= acknowledged + 1
    assert stored == [tick % 6 for tick in range(len(stored))]
    if url.startswith("sqlite"):
        with again.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    again.close()


@IN_A_FILE
def test_answers_are_stored_with_what_was_declined(store, tmp_path):
    participant = at_the_games(store)
    with sqlite3.connect(tmp_path / "study.db") as database:
        answers = dict(database.execute("select question, answer from answers").fetchall())
        ranks = dict(database.execute("select agent, rank from rankings").fetchall())
    database.close()
    assert {key: value and json.loads(value) for key, value in answers.items()} == {
        "age": 33,
        "gender": None,
        "experience": "never",
    }
    agents = [partner.agent for partner in participant.plan.partners]
    assert [ranks[agents[partner]] for partner in (2, 0, 1, 3)] == [1, 2, 3, 4]


def test_free_games_are_counted_for_their_partner_however_they_end(store):
    participant = store.join(somebody(1), 1.0)
    with pytest.raises(InputError, match="belongs to warm-up"):
        store.act(participant.number, WarmupPlayed(0), 2.0)
