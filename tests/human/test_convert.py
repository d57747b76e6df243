import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

import cochef.human
from cochef.cli.human import ConvertGames, ListGames, publish
from cochef.errors import InputError
from cochef.human import report
from cochef.human.convert import (
    ARCHIVE_BYTES,
    ARCHIVE_SHA256,
    DATA_DIRECTORY,
    ReplayCheck,
    convert,
    file_name,
    read_archive,
)
from cochef.human.games import Split, games, read, write
from cochef.kitchen.episodes import ReplayDifference

SHIPPED = Path(cochef.human.__file__).parent / "data" / "games.npz"
DOCS = Path(__file__).parents[2] / "docs" / "human.md"


@pytest.fixture(scope="module")
def pickles():
    """The recorded tables, from the archive in COCHEF_HUMAN_ARCHIVE or the reference engine."""
    if "COCHEF_HUMAN_ARCHIVE" in os.environ:
        return read_archive(Path(os.environ["COCHEF_HUMAN_ARCHIVE"]))
    found = importlib.util.find_spec("overcooked_ai_py")
    assert found, (
        "overcooked-ai 1.1.0 is not in this environment: "
        "use make test-long, or set COCHEF_HUMAN_ARCHIVE"
    )
    directory = Path(found.origin).parents[1] / DATA_DIRECTORY
    return {split: (directory / file_name(split)).read_bytes() for split in Split}


@pytest.mark.long
def test_converting_anew_reproduces_every_step_and_gives_the_shipped_file(pickles, tmp_path):
    checks = convert(pickles)
    assert not list(report.differences(checks))
    assert report.markdown(checks) in DOCS.read_text("utf-8")
    write(tmp_path / "games.npz", [check.game for check in checks])
    with np.load(tmp_path / "games.npz") as anew, np.load(SHIPPED) as shipped:
        assert set(anew) == set(shipped)
        assert all(np.array_equal(anew[name], shipped[name]) for name in shipped)


@pytest.mark.long
def test_a_record_that_our_rules_do_not_give_is_reported_with_its_first_step(pickles):
    altered = {Split.TEST: pickles[Split.TEST].replace(b"[[0, 0], [1, 0]]", b"[[0, 0], [0, 1]]")}
    checks = convert(altered)
    assert any(check.exact < len(check.game.actions) for check in checks)
    sentence = next(report.differences(checks))
    assert "steps differ, first step" in sentence
    assert sentence in report.markdown(checks)


@pytest.mark.long
@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (b"cur_gameloop\x94", b"cur_gameloo!\x94", "has no column 'cur_gameloop'"),
        (b"[[0, 0], [1, 0]]", b"[[0, 0], [7, 0]]", "a state or an action cannot be understood"),
        (
            b"'orientation': [0, -1]",
            b"'orientation': [0, -9]",
            "a state or an action cannot be understood",
        ),
        (b"random3", b"random9", "unknown layout 'random9'"),
    ],
)
def test_a_table_with_something_else_in_it_is_a_clear_error(pickles, before, after, message):
    altered = {Split.TRAIN: pickles[Split.TRAIN].replace(before, after)}
    with pytest.raises(InputError, match=message):
        convert(altered)


def test_a_truncated_archive_is_a_clear_error(tmp_path):
    path = tmp_path / "archive.tar.gz"
    path.write_bytes(b"\x1f\x8b" + bytes(1000))
    with pytest.raises(
        InputError,
        match=rf"has 1002 bytes; it takes overcooked_ai-1.1.0\.tar\.gz .* {ARCHIVE_BYTES}",
    ):
        read_archive(path)


def test_an_altered_archive_is_a_clear_error_and_nothing_is_written(tmp_path):
    path, output = tmp_path / "archive.tar.gz", tmp_path / "games.npz"
    path.write_bytes(b"\x1f\x8b" + bytes(ARCHIVE_BYTES - 2))
    with pytest.raises(InputError, match=rf"has sha256 [0-9a-f]{{64}}; .* sha256 {ARCHIVE_SHA256}"):
        ConvertGames(archive=path, output=output).run()
    assert not output.exists()


def test_an_absent_archive_is_a_clear_error(tmp_path):
    with pytest.raises(
        InputError, match=r"absent\.tar\.gz: cannot be read \(No such file or directory\)"
    ):
        read_archive(tmp_path / "absent.tar.gz")


def reproduced(layout):
    return [ReplayCheck(game, len(game.actions), game.score, None) for game in games(layout)]


def test_games_that_are_reproduced_are_written_and_reported(tmp_path):
    output, written_report = tmp_path / "games.npz", tmp_path / "report.md"
    assert publish(reproduced("cramped_room"), output, written_report) == 0
    assert [game.pair for game in read(output)] == [game.pair for game in games("cramped_room")]
    assert (
        "| cramped_room | 16 | 19190 | 19190 | 100.00% | 5680 | 5680 |\n"
        in written_report.read_text("utf-8")
    )


def test_a_game_that_is_not_reproduced_is_named_with_its_first_step_and_nothing_is_written(
    tmp_path, capsys
):
    output, written_report = tmp_path / "games.npz", tmp_path / "report.md"
    first, *others = reproduced("cramped_room")
    difference = ReplayDifference(7, "state and reward", {"reward": 20}, {"reward": 0})
    other = ReplayCheck(first.game, 1201, first.replayed_score - 20, difference)
    assert publish([other, *others], output, written_report) == 1
    assert not output.exists()
    sentence = "cramped_room, train, pair 0: 3 of 1204 steps differ, first step 7: "
    sentence += "recorded {'reward': 20}, replayed {'reward': 0}"
    assert sentence in capsys.readouterr().out
    assert (
        f"| all | 16 | 19190 | 19187 | 99.98% | 5680 | 5660 |\n\n- {sentence}"
        in written_report.read_text("utf-8")
    )


def test_a_place_that_cannot_be_written_to_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/games\.npz: cannot be written \(.*\)"):
        publish(reproduced("cramped_room"), tmp_path / "file" / "games.npz", None)


def test_the_command_lists_the_games_by_layout_and_split(capsys):
    assert ListGames().run() == 0
    listed = capsys.readouterr().out
    assert "asymmetric_advantages" in listed
    assert "83.4" in listed
