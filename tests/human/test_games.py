import json
import random
import re
import zipfile
from pathlib import Path

import jax
import numpy as np
import pytest

import cochef.human
from cochef.errors import InputError
from cochef.human.games import Split, games, read, replay, write
from cochef.kitchen.events import Event
from cochef.kitchen.state import start
from cochef.kitchen.text import to_json

SHIPPED = Path(cochef.human.__file__).parent / "data" / "games.npz"
DOCS = Path(__file__).parents[2] / "docs" / "human.md"
PLAYED = (
    "asymmetric_advantages",
    "coordination_ring",
    "counter_circuit",
    "cramped_room",
    "forced_coordination",
)


def columns_of(path):
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


def test_the_shipped_file_is_small_and_holds_no_pickles():
    assert SHIPPED.stat().st_size < 100_000
    with zipfile.ZipFile(SHIPPED) as archive:
        names = set(archive.namelist())
    columns = columns_of(SHIPPED)
    assert names == {f"{name}.npy" for name in columns}
    assert not any(column.dtype.hasobject for column in columns.values())


@pytest.mark.parametrize("layout", PLAYED)
@pytest.mark.parametrize("split", Split)
def test_the_games_are_those_that_the_documentation_lists(layout, split):
    chosen = games(layout, split)
    steps, score = sum(len(game.actions) for game in chosen), sum(game.score for game in chosen)
    scores = [game.score for game in chosen]
    stays = np.concatenate([game.actions for game in chosen]) == 4
    numbers = (len(chosen), steps, f"{score / len(chosen):.1f}", f"{score / steps * 400:.1f}")
    row = (layout, split.value, *numbers, min(scores), max(scores), f"{stays.mean():.0%}")
    assert f"| {' | '.join(map(str, row))} |" in DOCS.read_text("utf-8")


def test_the_documented_comparison_covers_every_game_and_step():
    rows = re.findall(
        r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \| 100\.00% \| (\d+) \| (\d+) \|$",
        DOCS.read_text(),
        re.M,
    )
    for name, count, steps, reproduced, recorded, replayed in rows:
        chosen = games(None if name == "all" else name)
        assert int(count) == len(chosen)
        assert int(steps) == int(reproduced) == sum(len(game.actions) for game in chosen)
        assert int(recorded) == int(replayed) == sum(game.score for game in chosen)
    assert {row[0] for row in rows} == {*PLAYED, "all"}


@pytest.mark.parametrize("layout", PLAYED)
def test_replaying_a_game_earns_the_recorded_score(layout):
    chosen = games(layout)
    for game, replayed in zip(chosen, replay(chosen), strict=True):
        assert replayed.score == game.score
        assert replayed.outcomes.reward.sum() == game.score
        assert replayed.outcomes.events[:, :, Event.DELIVERY].sum() * 20 == game.score
        assert replayed.states.time.tolist() == list(range(len(game.actions) + 1))


def test_a_pair_plays_a_layout_once_so_that_no_pair_is_in_both_splits_of_a_layout():
    played = [(game.layout_name, game.pair) for game in games()]
    assert len(played) == len(set(played)) == 76
    assert {pair for _, pair in played} == set(range(17))


def test_games_begin_as_our_layouts_do_except_on_counter_circuit():
    for game in games():
        begin = to_json(game.layout, game.start)
        if game.layout_name == "counter_circuit":
            assert begin == {
                "chefs": [[6, 3, "N", None], [1, 3, "N", None]],
                "pots": [],
                "counters": [],
                "t": 0,
            }
        else:
            assert begin == to_json(game.layout, start(game.layout))


def test_games_are_chosen_by_layout_and_split():
    assert len(games()) == len(games(split=Split.TRAIN)) + len(games(split=Split.TEST))
    assert {(game.layout_name, game.split) for game in games("cramped_room", Split.TEST)} == {
        ("cramped_room", Split.TEST)
    }


def test_a_layout_that_nobody_played_is_an_error_that_names_those_that_were_played():
    with pytest.raises(
        InputError, match=r"nobody played 'many_orders'; people played: asymmetric_advantages, .*"
    ):
        games("many_orders")


def test_written_games_read_back_and_writing_again_makes_the_same_bytes(tmp_path):
    write(tmp_path / "first.npz", games("forced_coordination"))
    back = read(tmp_path / "first.npz")
    write(tmp_path / "second.npz", back)
    assert (tmp_path / "first.npz").read_bytes() == (tmp_path / "second.npz").read_bytes()
    for ours, theirs in zip(games("forced_coordination"), back, strict=True):
        for field in ("layout_name", "split", "pair", "score"):
            assert getattr(ours, field) == getattr(theirs, field)
        assert np.array_equal(ours.actions, theirs.actions)
        assert jax.tree.all(jax.tree.map(np.array_equal, ours.start, theirs.start))


@pytest.mark.parametrize(
    ("name", "column", "message"),
    [
        ("actions", np.full((91102, 2), 6, np.int8), "actions reach from 6 to 6; allowed: 0 to 5"),
        ("actions", np.zeros((91101, 2), np.int8), "cannot share out actions of shape"),
        ("actions", np.zeros(91102, np.int8), "actions holds int8 in 1 axes"),
        ("score", np.zeros(76), "score holds float64"),
        ("score", np.zeros(75, int), "columns are of different lengths"),
        ("split", np.array(["validation"] * 76), "'validation' is not a valid Split"),
        ("layout", np.array(["cramped"] * 76), "unknown layout 'cramped'"),
        ("start", np.array(["{"] * 76), "Expecting property name"),
        ("start", np.array([json.dumps({"chefs": []})] * 76), "0 chefs; a kitchen has 2"),
        ("pair", np.array([None] * 76), "not a file of games .*allow_pickle=False"),
    ],
)
def test_a_file_with_a_wrong_column_is_an_error_that_says_what_is_wrong(
    tmp_path, name, column, message
):
    path = tmp_path / "games.npz"
    np.savez(path, **{**columns_of(SHIPPED), name: column})
    with pytest.raises(InputError, match=rf"games\.npz: .*{message}"):
        read(path)


def test_a_file_without_a_column_or_that_is_no_archive_or_absent_is_an_error(tmp_path):
    columns = columns_of(SHIPPED)
    del columns["end"]
    np.savez(tmp_path / "less.npz", **columns)
    np.save(tmp_path / "one.npy", np.zeros(3))
    for name in ("less.npz", "one.npy", "absent.npz"):
        with pytest.raises(InputError, match=f"{name}: not a file of games"):
            read(tmp_path / name)


def test_a_damaged_file_is_an_error_or_still_holds_the_same_games(tmp_path):
    content, path, chance = SHIPPED.read_bytes(), tmp_path / "games.npz", random.Random(0)
    whole = [game.score for game in games()]
    for _ in range(200):
        damaged = bytearray(
            content[: chance.choice([len(content), chance.randrange(len(content))])]
        )
        if damaged:
            damaged[chance.randrange(len(damaged))] ^= chance.randrange(1, 256)
        path.write_bytes(damaged)
        try:
            assert [game.score for game in read(path)] == whole
        except InputError as error:
            assert str(path) in str(error)
