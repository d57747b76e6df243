"""`cochef evaluate` and `cochef table`: records, tables and a picture, also made again."""

import csv
import json

import pytest

from cochef.cli.evaluate import Evaluate, ShowTables
from cochef.errors import InputError

PLAYERS = {"agents": ("stay", "mine=random;stay"), "partners": ("random",), "episodes": 3}


@pytest.fixture(scope="module")
def out(narrow, tmp_path_factory):
    out = tmp_path_factory.mktemp("evaluation") / "new"
    assert Evaluate(narrow, **PLAYERS, out=out).run() == 0
    return out


def test_records_tables_and_picture_are_written(out):
    found = sorted(path.name for path in out.iterdir())
    assert found == ["crossplay.png", "episodes.csv", "manifest.json", "tables.md"]
    with (out / "episodes.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 2 * 3  # players, seats, episodes
    assert {(row["agent"], row["agent_seed"]) for row in rows} == {
        ("stay", "0"),
        ("mine", "0"),
        ("mine", "1"),
    }


def test_the_manifest_says_what_was_evaluated(out):
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["layout"] == "narrow"
    assert manifest["horizon"] == 30
    assert manifest["agents"][1] == {"label": "mine", "name": "random", "seed": 0}
    assert (manifest["episodes_per_pair_and_seat"], manifest["seed"], manifest["greedy"]) == (
        3,
        0,
        False,
    )


def test_tables_can_be_made_again_from_the_records_alone(out, capsys):
    before = (out / "tables.md").read_text()
    (out / "tables.md").unlink()
    assert ShowTables(out, details=True).run() == 0
    assert (out / "tables.md").read_text() == before
    assert "| stay | random | both | 0.0 |" in before
    printed = capsys.readouterr().out
    assert "narrow: score" in printed
    assert "narrow: details" in printed


def test_evaluating_again_writes_the_same_records(narrow, out, tmp_path):
    Evaluate(narrow, **PLAYERS, out=tmp_path).run()
    assert (tmp_path / "episodes.csv").read_bytes() == (out / "episodes.csv").read_bytes()


def test_without_a_directory_nothing_is_written(narrow, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert Evaluate(narrow, **PLAYERS).run() == 0
    assert not list(tmp_path.iterdir())
    assert "mine" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"layout": "nowhere"}, "unknown layout 'nowhere'"),
        ({"agents": ()}, "no agents; give at least one"),
        ({"agents": ("nobody",)}, "unknown agent 'nobody'"),
        ({"agents": ("stay", "stay")}, "label 'stay' is given twice"),
        (
            {"partners": ("script:tomato_placement",)},
            "script 'tomato_placement' makes no sense in narrow",
        ),
        (
            {"partners": ("human-proxy:cramped_room",)},
            "this agent was made for cramped_room, not for narrow",
        ),
        ({"episodes": 0}, "episodes is 0; it takes a number from 1 to 100000"),
        ({"seed": -1}, "seed -1; allowed: 0 to 4294967295"),
    ],
)
def test_what_cannot_be_evaluated_is_an_error_that_says_why(narrow, wrong, complaint):
    with pytest.raises(InputError, match=complaint):
        Evaluate(**{"layout": narrow, "agents": ("stay",), "partners": ("random",), **wrong}).run()


def test_a_directory_that_cannot_be_made_is_an_error(narrow, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        Evaluate(narrow, **PLAYERS, out=tmp_path / "file").run()


def test_a_table_of_no_records_or_damaged_ones_is_an_error(out, tmp_path):
    with pytest.raises(InputError, match="no records there"):
        ShowTables(tmp_path).run()
    (tmp_path / "episodes.csv").write_bytes((out / "episodes.csv").read_bytes()[:-9])
    (tmp_path / "manifest.json").write_bytes((out / "manifest.json").read_bytes())
    with pytest.raises(InputError, match=r"episodes\.csv is damaged"):
        ShowTables(tmp_path).run()
