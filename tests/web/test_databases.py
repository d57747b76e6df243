"""A study's database as a whole: private, served once, backed up while it is in use."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from cochef.errors import InputError
from cochef.web import rehearse, schema
from cochef.web.records import Steps
from cochef.web.store import StudyStore
from tests.web.locking import another_server, lose_servers_connection, relay
from tests.web.serving import PATIENCE, free_port
from tests.web.small_study import at_the_games, begun, small_study
from tests.web.study_file import write_study

DOCS = Path(__file__).parents[2] / "docs" / "study.md"


def mode(path):
    return Path(path).stat().st_mode & 0o777


def test_only_its_owner_can_read_a_database_and_its_log(tmp_path):
    with closing(StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", small_study())) as store:
        at_the_games(store)
        # The database, its two logs, and the file by which a server keeps others out.
        assert [mode(path) for path in sorted(tmp_path.glob("study.db*"))] == [0o600] * 4


def test_a_database_that_others_could_read_is_closed_to_them(tmp_path):
    path = tmp_path / "study.db"
    StudyStore.open(f"sqlite:///{path}", small_study()).close()
    path.chmod(0o644)
    StudyStore.existing(f"sqlite:///{path}").close()
    assert mode(path) == 0o600


def test_a_backup_of_a_database_in_use_holds_everything_that_was_stored(url, tmp_path):
    with closing(StudyStore.open(url, small_study())) as store:
        game = begun(store, at_the_games(store))
        store.append([Steps(game, 0, ((1, 2), (3, 4)))])
        people = store.participants()
        secret = store.secret
        store.back_up(tmp_path / "copy.db")
        store.append([Steps(game, 2, ((5, 5),))])
    copy = tmp_path / "copy.db"
    assert mode(copy) == 0o600
    with closing(StudyStore.existing(f"sqlite:///{copy}")) as again:
        assert again.participants() == people
        assert again.secret == secret
        assert again.study == small_study()
        assert again.game(game).actions.tolist() == [[1, 2], [3, 4]]


def test_a_backup_is_written_over_nothing_and_leaves_nothing_half_done(tmp_path):
    (tmp_path / "there.db").write_text("precious")
    with closing(StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", small_study())) as store:
        with pytest.raises(InputError, match="is there already"):
            store.back_up(tmp_path / "there.db")
        with pytest.raises(InputError, match="cannot be written"):
            store.back_up(tmp_path / "there.db" / "copy.db")
    assert (tmp_path / "there.db").read_text() == "precious"
    assert not list(tmp_path.glob(".*.part*"))


def documented_steps():
    """The commands by which the docs go back to a backup."""
    after = DOCS.read_text("utf-8").split("To go back to a backup", 1)[1]
    return after.split("```sh\n", 1)[1].split("```")[0]


def killed(store, place, folder):
    """What a server that is killed leaves of its database: the files as they are, with the log."""
    folder.mkdir()
    for file in place.glob("study.db*"):
        shutil.copy(file, folder)
    store.close()
    assert (folder / "study.db-wal").stat().st_size > 0


def test_a_backup_is_restored_next_to_the_log_of_the_database_that_it_replaces(tmp_path):
    place, left = tmp_path / "served", tmp_path / "left"
    place.mkdir()
    store = StudyStore.open(f"sqlite:///{place / 'study.db'}", small_study())
    at_the_games(store, "before")
    people = store.participants()
    store.back_up(tmp_path / "copy.db")
    at_the_games(store, "after")
    killed(store, place, left)
    (tmp_path / "copy.db").rename(left / "copy.db")
    subprocess.run(["sh", "-ec", documented_steps()], cwd=left, check=True)
    with closing(StudyStore.existing(f"sqlite:///{left / 'study.db'}")) as restored:
        assert restored.participants() == people
        assert at_the_games(restored, "later").number == len(people) + 1
    with closing(sqlite3.connect(left / "study.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert mode(left / "study.db") == 0o600


def test_the_command_line_backs_up(cochef, tmp_path):
    database = f"sqlite:///{tmp_path / 'study.db'}"
    with closing(StudyStore.open(database, small_study())) as store:
        at_the_games(store)
        code, text = cochef("study", "backup", "--database", database, "--out", tmp_path / "b.db")
    assert code == 0
    assert "1 participants and 0 games are in" in text


def test_a_second_server_on_one_database_is_refused(url):
    with (
        closing(StudyStore.open(url, small_study())) as first,
        closing(StudyStore.existing(url)) as second,
        first.served_alone(),
    ):
        with (
            pytest.raises(InputError, match="another server is running on database"),
            second.served_alone(),
        ):
            pytest.fail("it was let in")
        assert second.participants() == []  # reading is allowed
    with closing(StudyStore.existing(url)) as third, third.served_alone():
        pass


def test_the_command_line_refuses_a_second_server(tmp_path):
    file = write_study(tmp_path / "study.toml")
    database = f"sqlite:///{tmp_path / 'study.db'}"
    command = [sys.executable, "-c", "from cochef.cli.main import main; main()", "study", "serve"]
    with closing(StudyStore.open(database, small_study())) as first, first.served_alone():
        second = subprocess.run(
            [*command, file, "--database", database, "--port", "0", "--simulated"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        with closing(StudyStore.existing(database)) as left:
            assert left.study == first.study  # the second one has changed nothing
    assert second.returncode == 2
    assert "another server is running" in second.stdout + second.stderr


def test_a_server_knows_whether_it_is_still_alone(url):
    with closing(StudyStore.open(url, small_study())) as store, store.served_alone() as is_alone:
        assert is_alone()
        assert is_alone()


def test_a_server_knows_that_it_is_not_alone_any_more(postgres):
    url = postgres()
    with (
        closing(StudyStore.open(url, small_study())) as first,
        closing(StudyStore.existing(url)) as second,
    ):
        with first.served_alone() as is_alone:
            assert is_alone()
            lose_servers_connection(url)
            with second.served_alone() as second_is_alone:
                assert second_is_alone()
                assert not is_alone()
        with first.served_alone() as is_alone:
            assert is_alone()


def test_a_server_whose_connection_was_lost_keeps_others_off_anew(postgres):
    url = postgres()
    with (
        closing(StudyStore.open(url, small_study())) as first,
        closing(StudyStore.existing(url)) as second,
        first.served_alone() as is_alone,
    ):
        lose_servers_connection(url)
        assert is_alone()
        with pytest.raises(InputError, match="another server is running"):
            second.served_alone().__enter__()
        assert is_alone()


def test_a_server_keeps_its_database_if_postgresql_does_not_notice_that_the_connection_was_lost(
    postgres,
):
    url = postgres()
    with (
        relay(url) as (relayed, cut),
        closing(StudyStore.open(relayed, small_study())) as first,
        closing(StudyStore.existing(url)) as second,
        first.served_alone() as is_alone,
    ):
        cut()
        assert is_alone()
        with pytest.raises(InputError, match="another server is running"):
            second.served_alone().__enter__()


def test_a_server_that_is_not_alone_any_more_stops_and_says_why(postgres, tmp_path):
    url = postgres()
    port = free_port()
    command = [sys.executable, "-c", "from cochef.cli.main import main; main()", "study", "serve"]
    command += [write_study(tmp_path / "study.toml"), "--database", url, "--port", str(port)]
    command += ["--simulated"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            rehearse.await_answer(f"http://127.0.0.1:{port}", server)
            with another_server(url):
                _, said = server.communicate(timeout=PATIENCE)
        finally:
            server.kill()
    assert server.returncode == 2
    assert "and another one is on it now, so this one has stopped" in said


def test_a_database_in_memory_has_no_file():
    assert schema.file_of(schema.sql.make_url("sqlite://")) is None
