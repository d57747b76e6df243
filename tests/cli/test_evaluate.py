"""`cochef evaluate` and `cochef table`: records, tables and a picture, also made again."""

import csv
import json
import shutil
from importlib.metadata import version

import pytest

from cochef.agents import names
from cochef.cli.evaluate import Evaluate, ShowTables
from cochef.errors import InputError

OWN = "tests.agents.own_agents"
ENDINGS = ("pdf", "svg")
PLAYERS = {"agents": ("stay", "mine=random;stay"), "partners": ("random",), "episodes": 3}


@pytest.fixture(scope="module")
def out(narrow, tmp_path_factory):
    out = tmp_path_factory.mktemp("evaluation") / "new"
    assert Evaluate(narrow, **PLAYERS, out=out).run() == 0
    return out


def test_records_tables_and_picture_are_written(out):
    found = sorted(path.name for path in out.iterdir())
    figures = [
        f"{name}.{end}" for name in ("crossplay", "differences", "scores") for end in ENDINGS
    ]
    tables = ["differences.csv", "summary.csv", "tables.md", "tables.tex"]
    assert found == sorted([*figures, *tables, "episodes.csv", "manifest.json"])
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
    mine = {"label": "mine", "name": "random", "seed": 0, "population": 0, "sha256": []}
    assert manifest["agents"][1] == mine
    assert manifest["versions"]["cochef"] == version("cochef")
    assert "commit" in manifest
    assert (manifest["episodes_per_pair_and_seat"], manifest["seed"], manifest["greedy"]) == (
        3,
        0,
        False,
    )


def test_tables_can_be_made_again_from_the_records_alone(out, capsys):
    before = (out / "tables.md").read_text()
    (out / "tables.md").unlink()
    assert ShowTables((out,), details=True, figures=()).run() == 0
    assert (out / "tables.md").read_text() == before
    assert "| stay | random | both | 0.0 |" in before
    printed = capsys.readouterr().out
    assert "narrow: mean score" in printed
    assert "narrow: details" in printed


def test_evaluating_again_writes_the_same_records(narrow, out, tmp_path):
    Evaluate(narrow, **PLAYERS, out=tmp_path, figures=()).run()
    assert (tmp_path / "episodes.csv").read_bytes() == (out / "episodes.csv").read_bytes()


def test_the_records_of_another_evaluation_are_not_overwritten_unless_told(narrow, out, tmp_path):
    directory = shutil.copytree(out, tmp_path / "there")
    before = (directory / "episodes.csv").read_bytes()
    other = {**PLAYERS, "episodes": 2}
    with pytest.raises(InputError, match=r"episodes_per_pair_and_seat is 3; .*--overwrite"):
        Evaluate(narrow, **other, out=directory).run()
    assert (directory / "episodes.csv").read_bytes() == before
    assert Evaluate(narrow, **PLAYERS, out=directory, figures=()).run() == 0  # the same again
    assert Evaluate(narrow, **other, out=directory, overwrite=True, figures=()).run() == 0
    assert (directory / "episodes.csv").read_bytes() != before
    assert not list(directory.glob("*.svg"))  # those of the evaluation before are gone
    alone = {**other, "agents": ("stay",)}
    assert Evaluate(narrow, **alone, out=directory, overwrite=True, figures=()).run() == 0
    assert not (directory / "differences.csv").exists()
    (directory / "manifest.json").write_text("damaged")
    with pytest.raises(InputError, match=r"records that cannot be read; .*--overwrite"):
        Evaluate(narrow, **PLAYERS, out=directory).run()


@pytest.mark.parametrize("name", ["tables.md", "summary.csv", "scores.pdf"])
def test_files_of_somebody_else_are_not_overwritten_unless_told(narrow, tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=f"has {name}, but no records; .*--overwrite"):
        Evaluate(narrow, **PLAYERS, out=tmp_path).run()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_an_own_agent_is_called_by_its_name_even_if_that_is_also_a_sign(narrow, tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text("from tests.agents.own_agents import Walker as robot\n")
    assert Evaluate(narrow, (f"{file}:robot",), ("random",), episodes=1).run() == 0
    printed = capsys.readouterr()
    assert "mine.py:robot: " in printed.err
    assert "mine.py:robot scores" in printed.out


def test_a_single_agent_has_no_error_in_table_and_figure(narrow, tmp_path):
    single = {"agents": ("stay", "random"), "partners": ("random",), "episodes": 2}
    Evaluate(narrow, **single, out=tmp_path, figures=("svg",)).run()
    latex = (tmp_path / "tables.tex").read_text()
    assert r"\pm" not in latex
    assert "A single agent each, so no error over training is shown." in latex
    assert "so no error" in (tmp_path / "scores.svg").read_text()
    assert "so no interval" in (tmp_path / "differences.svg").read_text()


def test_records_say_which_files_their_agents_were(narrow, tmp_path):
    proxy = "human-proxy:cramped_room"
    Evaluate("cramped_room", (proxy,), ("stay",), episodes=1, out=tmp_path, figures=()).run()
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["agents"][0]["sha256"] == names.checksums(proxy)
    assert len(manifest["agents"][0]["sha256"][0]) == 64


def test_what_came_out_is_also_there_as_json(out, capsys):
    assert ShowTables((out,), figures=(), json=True).run() == 0
    found = json.loads(capsys.readouterr().out)
    assert found["layout"] == "narrow"
    assert found["finding"].startswith("stay scores as much as mine")
    assert {row["seat"] for row in found["scores"]} == {None, 0, 1}
    assert found["differences"][0]["partner"] == "random"


def test_records_of_several_evaluations_are_shown_together_but_not_twice(narrow, out, tmp_path):
    idle = tmp_path / "idle"
    Evaluate(narrow, ("idle=stay",), ("random",), episodes=2, out=idle, figures=()).run()
    assert ShowTables((out, idle), out=tmp_path / "both", figures=()).run() == 0
    assert "| partner | stay | mine | idle |" in (tmp_path / "both" / "tables.md").read_text()
    with pytest.raises(InputError, match=r"of population 0, number ., is in .*, too"):
        ShowTables((out, out)).run()


def test_an_own_agent_is_evaluated_and_json_stays_json(narrow, capsys):
    agents = (f"mine={OWN}:Walker", "stay")
    assert Evaluate(narrow, agents, ("random",), episodes=2, json=True).run() == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert {row["agent"] for row in found["scores"]} == {"mine", "stay"}
    calls = 2 * 30 + 1  # either seat, all steps; and one when it was loaded
    assert f"{OWN}:Walker: {calls} calls" in printed.err
    assert "actions/s" in printed.err


def test_an_own_agent_that_fails_is_named_and_the_others_are_recorded(narrow, tmp_path, capsys):
    agents = (f"{OWN}:Faulty", "stay")
    code = Evaluate(
        narrow, agents, ("random",), episodes=2, out=tmp_path, figures=(), json=True
    ).run()
    assert code == 1
    printed = capsys.readouterr()
    assert {row["agent"] for row in json.loads(printed.out)["scores"]} == {"stay"}
    assert "Faulty raised KeyError: 'no onion' (own_agents.py, line" in printed.err
    assert "its episodes are left out" in printed.err
    with (tmp_path / "episodes.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["agent"] for row in rows] == ["stay"] * 2 * 2  # seats, episodes
    (failed,) = json.loads((tmp_path / "manifest.json").read_text())["failed"].items()
    assert failed[0] == f"{OWN}:Faulty"
    assert "no onion" in failed[1]


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
        ({"seed": -1}, "seed is -1; it takes a whole number from 0 to 4294967295"),
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
        ShowTables((tmp_path,)).run()
    (tmp_path / "episodes.csv").write_bytes((out / "episodes.csv").read_bytes()[:-9])
    (tmp_path / "manifest.json").write_bytes((out / "manifest.json").read_bytes())
    with pytest.raises(InputError, match=r"episodes\.csv is damaged"):
        ShowTables((tmp_path,)).run()
