"""Records on disk: they are read as they were written, and damage is a clear error."""

import csv
import json
import random

import numpy as np
import pytest
from rich.console import Console

from cochef.errors import InputError
from cochef.evaluation import plots, tables
from cochef.evaluation.records import Records, read, write

MANIFEST = {
    "layout": "cramped_room",
    "seed": 3,
    "compared_events": ["delivery", "placement_in_pot"],
}


def make(scores):
    """Records by the scores of each agent and partner, in alternating seats, two seeds an agent."""
    rows = [(a, p, n, s) for (a, p), found in scores.items() for n, s in enumerate(found)]
    numbers = np.array([n for *_, n, _ in rows])
    return Records(
        {
            "agent": np.array([a for a, *_ in rows]),
            "population_seed": np.zeros(len(rows), int),
            "agent_seed": numbers // 2 % 2,
            "partner": np.array([p for _, p, *_ in rows]),
            "partner_seed": np.zeros(len(rows), int),
            "seat": numbers % 2,
            "episode": numbers,
            "score": np.array([s for *_, s in rows], float),
            "agent_shaped": np.array([s / 3 for *_, s in rows]),
            "agent_placement_in_pot": np.array([s // 10 for *_, s in rows]),
            "partner_placement_in_pot": np.full(len(rows), 2),
            "agent_delivery": np.zeros(len(rows), int),
            "partner_delivery": np.array([len(p) % 3 for _, p, *_ in rows]),
            "partner_potting_onion": numbers % 2,
            "partner_potting_tomato": np.zeros(len(rows), int),
        }
    )


RECORDS = make(
    {
        ("me", 'script:"a", b'): [20, 40, 60, 80],
        ("me", "[/b]|c"): [0, 0, 0, 0],
        ("you", 'script:"a", b'): [48, 47, 46, 45],
        ("you", "[/b]|c"): [1, 2, 3, 4],
    }
)


def test_written_records_read_back_with_their_manifest(tmp_path):
    write(tmp_path / "new" / "place", RECORDS, MANIFEST)
    back, manifest = read(tmp_path / "new" / "place")
    assert {key: manifest[key] for key in MANIFEST} == MANIFEST
    assert manifest["episodes"] == len(back) == 16
    assert list(back.columns) == list(RECORDS.columns)
    assert all(np.array_equal(back[name], column) for name, column in RECORDS.columns.items())
    assert [back[name].dtype.kind for name in ("agent", "seat", "episode", "score")] == [
        "U",
        "i",
        "i",
        "f",
    ]


def test_records_are_a_plain_table_and_nothing_is_left_behind(tmp_path):
    write(tmp_path, RECORDS, MANIFEST)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["episodes.csv", "manifest.json"]
    with (tmp_path / "episodes.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["agent"] == "me"
    assert rows[0]["partner"] == 'script:"a", b'
    assert [float(row["score"]) for row in rows] == RECORDS["score"].tolist()


def test_a_directory_without_records_is_an_error(tmp_path):
    for place in (tmp_path, tmp_path / "missing"):
        with pytest.raises(
            InputError, match=r"no records there .* `cochef evaluate --out` makes them"
        ):
            read(place)


def test_a_place_that_cannot_be_written_to_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write(tmp_path / "file", RECORDS, MANIFEST)


@pytest.mark.parametrize("name", ["episodes.csv", "manifest.json"])
def test_damaged_records_are_an_error_or_still_the_same(tmp_path, name):
    write(tmp_path, RECORDS, MANIFEST)
    path, chance, refused = tmp_path / name, random.Random(name), 0
    content = path.read_bytes()
    for _ in range(300):
        damaged = bytearray(
            content[: chance.choice([len(content), chance.randrange(len(content))])]
        )
        for _ in range(chance.randrange(3)):
            if damaged:
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        try:
            back, _ = read(tmp_path)
            assert all(np.array_equal(back[column], RECORDS[column]) for column in RECORDS.columns)
        except InputError as error:
            assert str(tmp_path) in str(error)
            refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    "manifest", ["[]", "{}", "null", '{"layout": 7}', '{"layout": "x"}', "[" * 100_000, ""]
)
def test_a_manifest_that_is_none_is_an_error(tmp_path, manifest):
    write(tmp_path, RECORDS, MANIFEST)
    (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(InputError, match=r"manifest\.json is damaged"):
        read(tmp_path)


def test_an_edited_score_is_noticed(tmp_path):
    write(tmp_path, RECORDS, MANIFEST)
    path = tmp_path / "episodes.csv"
    path.write_bytes(path.read_bytes().replace(b"80.0", b"90.0"))
    with pytest.raises(
        InputError, match=r"episodes\.csv is damaged \(its checksum does not match\)"
    ):
        read(tmp_path)
    assert json.loads((tmp_path / "manifest.json").read_text())["episodes"] == 16


def test_records_without_a_column_that_tables_need_are_an_error(tmp_path):
    for gone in ("agent_shaped", "partner_delivery"):
        write(
            tmp_path,
            Records({name: c for name, c in RECORDS.columns.items() if name != gone}),
            MANIFEST,
        )
        with pytest.raises(InputError, match=f"has no column '{gone}'; evaluate again"):
            read(tmp_path)


def test_scores_within_five_of_the_best_of_their_row_are_bold():
    table = tables.scores(RECORDS, "scores")
    assert table.header == ("partner", "me", "you")
    assert table.rows[0] == ('script:"a", b', "50.0 ± 28.3", "46.5 ± 1.4")
    assert table.bold == {(0, 1), (0, 2), (1, 1), (1, 2)}
    better = tables.scores(make({("me", "a"): [50] * 4, ("you", "a"): [44.9] * 4}), "scores")
    assert better.bold == {(0, 1)}


def test_details_have_a_row_for_both_seats_and_one_for_each():
    table = tables.details(RECORDS, "details")
    rows = [
        dict(zip(table.header, row, strict=True))
        for row in table.rows
        if row[:2] == ("me", 'script:"a", b')
    ]
    assert [(row["seat"], row["mean"], row["episodes"]) for row in rows] == [
        ("both", "50.0", "4"),
        ("0", "40.0", "2"),
        ("1", "60.0", "2"),
    ]
    assert rows[0]["sd of seeds"] == "28.3"
    assert rows[0]["shaped"] == "16.7"


def test_partners_are_compared_by_events_and_by_how_the_work_was_shared():
    table = tables.partners(RECORDS, MANIFEST["compared_events"], "partners")
    rows = {row[:2]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    with_a, with_b = rows["me", 'script:"a", b'], rows["me", "[/b]|c"]
    assert (
        with_a["event difference"] == with_b["event difference"] == "1.00"
    )  # one delivers, the other never does
    assert with_a["own share of cooking"] == f"{np.mean([2 / 4, 4 / 6, 6 / 8, 8 / 10]):.2f}"
    assert with_b["own share of cooking"] == "0.00"
    assert (with_a["of deliveries"], with_b["of deliveries"]) == ("0.00", "-")
    assert (
        with_a["onion-preferred score"] == "60.0"
    )  # of the two episodes in which the partner potted an onion


def test_tables_show_any_label_as_it_is(capsys):
    table = tables.behaviour(RECORDS, "[per] episode", ["agent_shaped"])
    assert "| me | [/b]\\|c | 0.00 |" in table.markdown()
    Console(width=100).print(table.rich())
    printed = capsys.readouterr().out
    assert "[/b]|c" in printed
    assert "[per] episode" in printed


def test_the_heat_map_is_written_as_a_picture(tmp_path):
    path = tmp_path / "new" / "map.png"
    plots.save(plots.heat_map(RECORDS, "$cross_play$"), path)
    assert path.read_bytes().startswith(b"\x89PNG")
