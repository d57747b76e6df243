"""Simulated participants against a real server in a process of its own."""

import asyncio
import csv
from collections import Counter
from dataclasses import replace

import pytest

from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.web import rehearse, study
from cochef.web.bots import Bot, Transcript, _enter, bot_policies
from cochef.web.progress import StudyStage
from cochef.web.records import ParticipantIdentity, Phase
from cochef.web.store import StudyStore
from tests.web.serving import free_port
from tests.web.small_study import small_study
from tests.web.study_file import write_study

SHORT = {
    "participants_per_layout": 2,
    "repeats": 1,
    "ticks_per_second": 20,
    "game_ticks": 20,
    "warmup_ticks": 10,
    "warmup_ticks_least": 10,
    "tutorial_ticks": 2_000,
    "games_least": 4,
    "agent_acts_once_in": 2,
    "countdown_seconds": 0,
}


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory):
    """Four bots that have gone through a short study: its store and their transcripts."""
    place = tmp_path_factory.mktemp("rehearsal")
    file = write_study(place / "short.toml", **SHORT)
    database = f"sqlite:///{place / 'study.db'}"
    port = free_port()
    found = study.get(file)
    rehearse.compile_bots(found)
    with rehearse.server(file, database, port, capacity=8):
        address = f"http://127.0.0.1:{port}"
        transcripts = asyncio.run(rehearse.take_part(address, found, 4))
        with pytest.raises(InputError, match="let nobody in; is the study full"):
            _enter(address, "one-too-many")
    store = StudyStore.existing(database)
    yield store, transcripts
    store.close()


def test_bots_go_through_the_whole_study_and_nothing_is_wrong_with_what_is_stored(rehearsed):
    store, transcripts = rehearsed
    assert rehearse.problems(store, transcripts) == []
    assert [one.progress.stage for one in store.participants()] == [StudyStage.THANKS] * 4
    phases = Counter(game.start.phase for game in store.games())
    assert phases == {Phase.TUTORIAL: 4, Phase.WARMUP: 16, Phase.GAME: 32}
    for game in store.games():
        assert len(game.actions) == game.start.ticks or game.start.phase is Phase.TUTORIAL
        assert game.score > 0 or game.start.phase is not Phase.TUTORIAL


def test_bots_press_keys_and_their_page_says_when_it_drew_a_tick(rehearsed):
    store, _ = rehearsed
    games = list(store.games())
    own = [game.actions[:, game.start.seat] for game in games]
    assert sum((actions != 4).sum() for actions in own) > 100
    lags = [lag for game in games for lag in game.lags]
    assert len(lags) == sum(len(game.actions) for game in games)
    assert sum(lag >= 0 for lag in lags) > len(lags) / 2


def test_an_agent_acts_only_once_in_its_ticks(rehearsed):
    store, _ = rehearsed
    for game in store.games():
        agent = game.actions[:, 1 - game.start.seat]
        assert (agent[0::2] == 4).all()
        if game.start.loaded == "stay":
            assert (agent == 4).all()
    assert any((game.actions[1::2, 1 - game.start.seat] != 4).any() for game in store.games())


def test_problems_are_found_where_there_are_some(rehearsed):
    store, transcripts = rehearsed
    first = transcripts[0]
    game = next(iter(first.scores))
    wrong = replace(first, scores={**first.scores, game: 999.0})
    assert rehearse.problems(store, [wrong, *transcripts[1:]]) == [
        f"{first.name} was told the score 999.0 of game {game}, which is not stored so"
    ]
    boast = replace(first, stored={game: 1_000})
    assert "ticks of game" in rehearse.problems(store, [boast, *transcripts[1:]])[0]
    assert any("took part" in problem for problem in rehearse.problems(store, transcripts[1:]))


def test_a_study_runs_on_postgresql_too(postgres, tmp_path):
    file = write_study(tmp_path / "short.toml", **SHORT)
    database = postgres()
    port = free_port()
    found = study.get(file)
    rehearse.compile_bots(found)
    with rehearse.server(file, database, port, capacity=8):
        transcripts = asyncio.run(rehearse.take_part(f"http://127.0.0.1:{port}", found, 2))
    store = StudyStore.existing(database)
    assert rehearse.problems(store, transcripts) == []
    assert [one.progress.stage for one in store.participants()] == [StudyStage.THANKS] * 2
    store.close()


def test_a_store_in_which_nobody_has_finished_is_a_problem(tmp_path):
    store = StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", small_study())
    assert (
        rehearse.problems(store, [Transcript("bot")])[0] == "0 participants are stored, 1 took part"
    )
    store.close()


def test_bots_play_as_clones_of_people_only_on_the_layout_of_those_people(tmp_path):
    same = tmp_path / "mine.toml"
    other = tmp_path / "coordination_ring.toml"
    same.write_text(layouts.to_toml(layouts.get("coordination_ring")), "utf-8")
    other.write_text(layouts.to_toml(layouts.get("cramped_room")), "utf-8")
    assert "human-proxy:coordination_ring" in [
        mind.agent for mind in bot_policies(layouts.get(str(same)))
    ]
    assert not [
        mind.agent
        for mind in bot_policies(layouts.get(str(other)))
        if "coordination_ring" in mind.agent
    ]


def test_a_bot_gives_up_where_no_server_is():
    bot = Bot(f"http://127.0.0.1:{free_port()}", "lonely", [layouts.get("cramped_room")])
    with pytest.raises(InputError, match="lonely: no word from"):
        asyncio.run(bot.take_part(patience=0.5))


def test_the_command_line_analyses_and_exports(rehearsed, cochef, tmp_path):
    database = str(rehearsed[0].url)
    code, text = cochef("study", "analyse", "--database", database, "--out", tmp_path / "report")
    assert code == 0, text
    assert (tmp_path / "report" / "report.html").exists()
    code, text = cochef("study", "export", "--database", database, "--out", tmp_path / "data")
    assert code == 0, text
    assert "21 files" in text
    assert "Simulated participants: these are data of a rehearsal" in text
    for name in ("report.md", "report.html"):
        content = (tmp_path / "report" / name).read_text()
        assert "Simulated participants: Cooking with" in content.partition("</h1>")[0]
    first = (tmp_path / "report" / "report.md").read_text().splitlines()[0]
    assert first.startswith("# Simulated participants")
    assert "'MEP' names the method mep" in (tmp_path / "report" / "report.md").read_text()
    assert "'MEP' names the method mep" in (tmp_path / "data" / "notes.txt").read_text()


def test_people_do_not_join_the_simulated(rehearsed, tmp_path):
    store, _ = rehearsed
    with pytest.raises(InputError, match="4 participants in this database are simulated"):
        StudyStore.open(str(store.url), store.study)
    own = f"sqlite:///{tmp_path / 'people.db'}"
    people = StudyStore.open(own, small_study())
    people.join(ParticipantIdentity("prolific", "someone"), 1.0)
    assert not people.is_simulated
    people.close()
    with pytest.raises(InputError, match="1 participants in this database are people"):
        StudyStore.open(own, small_study(), simulated=True)


def test_the_command_line_lists_who_is_who_for_payment(rehearsed, cochef, tmp_path):
    store, transcripts = rehearsed
    table = tmp_path / "identities.csv"
    arguments = ("study", "identities", "--database", str(store.url), "--out", table)
    assert cochef(*arguments)[0] == 0
    assert table.stat().st_mode & 0o777 == 0o600
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    codes = {transcript.code for transcript in transcripts}
    assert {row["completion_code"] for row in rows} == codes
    assert {row["kind"] for row in rows} == {"prolific"}
    for row in rows:
        who = ParticipantIdentity("prolific", row["identifier"])
        found = store.join(who, 1.0, create=False)
        assert (str(found.number), found.completion_code) == (
            row["participant"],
            row["completion_code"],
        )
    assert cochef(*arguments)[0] == 2  # nothing is overwritten


def test_the_command_line_says_how_many_people_are_needed(rehearsed, cochef):
    database = str(rehearsed[0].url)
    options = ("--people", 4, 64, "--above", 0.8, "--simulations", 20)
    code, text = cochef("study", "power", "--database", database, *options)
    assert code == 0, text
    assert "power, scores" in text
    assert "100%" in text.splitlines()[-2]  # 128 people tell 0.8 from 0.5


def test_the_command_line_withdraws(cochef, tmp_path):
    database = f"sqlite:///{tmp_path / 'study.db'}"
    store = StudyStore.open(database, small_study())
    gone, kept = (
        store.join(ParticipantIdentity("prolific", who), 1.0).number for who in ("gone", "kept")
    )
    assert cochef("study", "withdraw", gone, "--database", database)[0] == 0
    assert [one.number for one in store.participants()] == [kept]
    assert cochef("study", "withdraw", gone, "--database", database)[0] == 2
    store.close()


def test_the_command_line_makes_links_that_let_one_in(cochef, tmp_path):
    database = f"sqlite:///{tmp_path / 'study.db'}"
    code, text = cochef(
        "study",
        "invite",
        "paper",
        "--number",
        3,
        "--database",
        database,
        "--address",
        "https://lab/",
    )
    links = text.split()
    assert code == 0
    assert len(set(links)) == 3
    store = StudyStore.existing(database)
    for link in links:
        assert link.startswith("https://lab/join/")
        store.join(
            ParticipantIdentity("link", link.removeprefix("https://lab/join/")), 1.0, create=False
        )
    assert len(store.participants()) == 3
    store.close()


def test_links_for_a_study_that_is_being_served_leave_it_as_it_is(cochef, tmp_path):
    database = f"sqlite:///{tmp_path / 'study.db'}"
    store = StudyStore.open(database, small_study())
    assert cochef("study", "invite", "paper", "--database", database)[0] == 0
    assert StudyStore.existing(database).study == store.study
    assert len(store.configurations()) == 1
    store.join(ParticipantIdentity("prolific", "someone"), 1.0)
    assert cochef("study", "invite", "paper", "--database", database)[0] == 0
    store.close()


def test_a_rehearsal_leaves_a_database_that_holds_a_study_as_it_is(cochef, tmp_path):
    database = f"sqlite:///{tmp_path / 'study.db'}"
    store = StudyStore.open(database, small_study())
    code, text = cochef("study", "rehearse", "paper", "--participants", 1, "--database", database)
    assert code == 2
    assert "holds a study already; give an empty database for a rehearsal" in text
    assert StudyStore.existing(database).study == store.study
    store.close()


@pytest.mark.long
def test_sixty_participants_complete_the_study_of_the_paper_in_exact_balance(cochef, url):
    code, text = cochef("study", "rehearse", "paper", "--database", url)
    print(text)
    assert code == 0
    assert "balanced, complete, and every game replays to its score" in text
    store = StudyStore.existing(url)
    counted = [game for game in store.games() if game.start.phase is Phase.GAME]
    assert len(counted) == 1_440
    assert Counter(one.layout for one in store.participants()) == dict.fromkeys(
        store.study.layouts, 12
    )
    positions = Counter(
        (game.start.layout, game.start.number, game.start.agent) for game in counted
    )
    assert set(positions.values()) == {3}
    assert sum(game.score for game in counted) > 0
    store.close()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("check", "nowhere.toml"), "cannot be read"),
        (("check", "paper"), "contact is empty; say who answers participants' questions"),
        (("serve", "paper"), "contact is empty"),
        (("new", "nowhere/mine.toml"), "cannot be written"),
        (("power", "--database", "sqlite:///EMPTY"), "holds no study"),
        (("serve", "paper", "--set", "game_ticks=0"), "numbers.game_ticks is 0"),
        (("serve", "paper", "--set", "speed=3"), "unknown key 'speed' in numbers"),
        (("serve", "paper", "--set", "fast"), "'fast' changes nothing; give NAME=NUMBER"),
        (
            ("serve", "paper", "--capacity", "0"),
            "capacity is 0; it takes a whole number from 1 to 1000",
        ),
        (
            ("rehearse", "paper", "--participants", "61"),
            "participants is 61; it takes a whole number from 1 to 60",
        ),
        (("analyse", "--database", "sqlite:////nowhere/study.db"), "cannot be used"),
        (("withdraw", "7", "--database", "sqlite:///EMPTY"), "holds no study"),
    ],
)
def test_bad_arguments_are_named(cochef, tmp_path, monkeypatch, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    code, text = cochef("study", *arguments)
    assert code == 2
    assert complaint in text
