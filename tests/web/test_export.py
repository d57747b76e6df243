"""Exports and replays of a small study that has been run."""

import csv
import io
import json
import zipfile
from contextlib import closing
from dataclasses import replace

import pytest
import sqlalchemy as sql
from pyarrow import parquet

from cochef.kitchen import layouts
from cochef.web import export
from cochef.web.overview import overview
from cochef.web.progress import Consent
from cochef.web.records import Interruption, InterruptionReason, ParticipantIdentity, Steps
from cochef.web.replays import measure, mismatches, stored_layouts
from cochef.web.schema import COMMENTS, GAMES
from cochef.web.store import StudyStore
from tests.web.small_study import at_the_games, begun, finish_study, played_games, small_study

HIDDEN = Interruption(3, InterruptionReason.HIDDEN, True, 2, 1_000.0, 7.5, is_over=True)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Three have finished, one is at the games and plays, one has declined."""
    store = StudyStore.open(
        f"sqlite:///{tmp_path_factory.mktemp('study') / 'study.db'}", small_study()
    )
    games = played_games(store.study.layouts, ticks=120)
    for number in range(3):
        finish_study(store, f"secret-person-{number}", games)
    game = begun(store, at_the_games(store, "secret-person-3"))
    store.append([Steps(game, 0, (), (), (HIDDEN,))])
    store.act(
        store.join(ParticipantIdentity("link", "secret-person-4"), 1.0).number, Consent(False), 2.0
    )
    yield store
    store.close()


def rows_of(files, name):
    return list(csv.DictReader(io.StringIO(files[f"{name}.csv"].decode(), newline="")))


def test_every_stored_game_replays_to_its_stored_score(store):
    games = list(store.games())
    assert sum(game.score or 0.0 for game in games) > 0
    assert mismatches(store, games) == []


def test_a_wrong_score_is_found(store):
    games = [game for game in store.games() if game.score]
    object.__setattr__(games[5], "score", games[5].score + 20.0)
    assert [(found.game, found.stored - found.replayed) for found in mismatches(store, games)] == [
        (games[5].number, 20.0)
    ]


def test_a_game_is_seen_only_up_to_its_last_tick(store):
    seen = {game.number: behaviour for game, behaviour in measure(store, list(store.games()))}
    for game in store.games():
        assert seen[game.number].idle.max() <= len(game.actions)
        assert seen[game.number].totals.events.sum() > 0 or not len(game.actions)


def test_a_layout_of_ones_own_is_called_in_a_replay_as_on_the_pages(tmp_path):
    own = tmp_path / "mine.toml"
    own.write_text(layouts.to_toml(layouts.get("cramped_room")), "utf-8")
    small = replace(small_study(), layouts={str(own): dict.fromkeys(small_study().agents, "stay")})
    with closing(StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", small)) as store:
        found = stored_layouts(store)[small.configuration_hash, str(own)]
    assert found == layouts.get(str(own))


def test_row_counts_are_exact_and_the_same_in_every_format(store):
    files = export.files(store)
    wanted = {"participants": 5, "rankings": 16, "comments": 32, "games": 25, "ticks": 24 * 120}
    wanted["interruptions"] = 1
    for name, number in wanted.items():
        assert len(rows_of(files, name)) == number
        assert len(files[f"{name}.jsonl"].splitlines()) == number
        assert parquet.read_table(io.BytesIO(files[f"{name}.parquet"])).num_rows == number


def test_every_column_is_in_the_dictionary_and_the_other_way_round(store):
    files = export.files(store)
    described = {(row["table"], row["column"]) for row in rows_of(files, "dictionary")}
    there = {
        (name, column)
        for name in export.columns(store.study)
        for column in parquet.read_table(io.BytesIO(files[f"{name}.parquet"])).column_names
    }
    assert described == there
    assert ("participants", "answer_age") in there


def test_the_formats_agree(store):
    files = export.files(store)
    lines = [json.loads(line) for line in files["games.jsonl"].splitlines()]
    assert lines == parquet.read_table(io.BytesIO(files["games.parquet"])).to_pylist()
    assert [str(line["game"]) for line in lines] == [row["game"] for row in rows_of(files, "games")]
    first = json.loads(files["ticks.jsonl"].splitlines()[0])
    assert first.keys() == {"game", "tick", "action_0", "action_1", "lag"}
    assert first["lag"] == 17


def test_interruptions_are_exported_and_summed_up_for_each_game(store):
    files = export.files(store)
    (row,) = rows_of(files, "interruptions")
    assert (row["tick"], row["reason"], row["paused"], row["undrawn"], row["seconds"]) == (
        "3",
        "hidden",
        "1",
        "2",
        "7.5",
    )
    game = next(one for one in rows_of(files, "games") if one["game"] == row["game"])
    assert (game["pauses"], game["paused_seconds"], game["undrawn_ticks"]) == ("1", "7.5", "2")


def test_an_export_has_the_letters_that_people_saw(store):
    files = export.files(store)
    plans = {str(one.number): one.plan for one in store.participants()}
    for name in ("rankings", "comments", "games"):
        for row in rows_of(files, name):
            plan = plans[row["participant"]]
            letters = {partner.agent: partner.label for partner in plan.partners}
            assert row["letter"] == letters[row["agent"]]


def test_an_export_says_which_agents_stand_in(store):
    files = export.files(store)
    stand_ins = {row["agent"]: row["stand_in"] for row in rows_of(files, "games")}
    assert stand_ins == {"HSP": "0", "FCP": "0", "MEP": "1", "TrajDiv": "1"}
    notes = files["notes.txt"].decode()
    assert "'MEP' names the method mep, which did not make 'script:" in notes
    assert "(in counter_circuit, many_orders)" in notes


def test_nothing_in_an_export_tells_who_a_participant_is(store):
    with zipfile.ZipFile(io.BytesIO(export.archive(store))) as packed:
        for name in packed.namelist():
            assert b"secret-person" not in packed.read(name)
    for table in export.tables(store).values():
        assert "secret-person" not in str(table)


def test_no_completion_code_is_in_an_export(tmp_path):
    coded = replace(small_study(), completion_code="C0DE-F0R-ALL")
    with closing(StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", coded)) as store:
        at_the_games(store)
        assert not [
            name for name, content in export.files(store).items() if b"C0DE-F0R-ALL" in content
        ]
        (configuration,) = json.loads(export.files(store)["configurations.json"]).values()
        assert configuration["study"]["completion_code"] == ""
        assert configuration["study"]["title"] == store.study.title


def test_a_comment_that_looks_like_a_formula_is_text_in_a_spreadsheet(tmp_path):
    store = StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", small_study())
    at_the_games(store)
    formulas = [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        '=HYPERLINK("http://x")',
        "plain",
        "5 = 4 + 1",
    ]
    with store._writing() as connection:
        for row, text in zip(connection.execute(sql.select(COMMENTS)).all(), formulas, strict=True):
            same = (COMMENTS.c.agent == row.agent) & (COMMENTS.c.question == row.question)
            connection.execute(COMMENTS.update().where(same).values(comment=text))
    files = export.files(store)
    assert {row["comment"] for row in rows_of(files, "comments")} == {
        *(f"'{text}" for text in formulas[:6]),
        *formulas[6:],
    }
    assert {json.loads(line)["comment"] for line in files["comments.jsonl"].splitlines()} == set(
        formulas
    )
    store.close()


def test_files_are_written_where_asked(store, tmp_path):
    names = export.write(store, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
    assert len(names) == 21


def test_the_overview_counts_people_and_scores(store):
    seen = overview(store, now=1_020.0)
    assert (seen["participants"], seen["finished"], seen["here"]) == (5, 3, 4)
    stages = [group["stages"] for group in seen["groups"].values()]
    assert sum(sum(stage.values()) for stage in stages) == 5
    assert sum(stage["games"] for stage in stages) == 1
    assert seen["groups"][""]["stages"]["declined"] == 1  # without a layout
    assert sum(row["games"] for row in seen["scores"]) == 24
    with store.reading() as connection:
        total = connection.scalar(sql.select(sql.func.sum(GAMES.c.score)))
    assert sum(row["mean"] * row["games"] for row in seen["scores"]) == pytest.approx(total)
    assert json.dumps(seen)
