"""The tables of a study, and opening the database that holds them.

Who participants are outside stands in `identities` alone; all other tables know them by number.
"""

from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from cochef.errors import InputError

VERSION = "4"
_WRITERS = 0x636F6B65  # the lock that a writer of a PostgreSQL database holds
_PATIENCE = 10_000  # milliseconds that a writer waits for others
_SILENCE = 10_000  # milliseconds after which a network that does not answer counts as lost
_SQLITE_SETTINGS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    f"busy_timeout={_PATIENCE}",
    "secure_delete=ON",
)

METADATA = sql.MetaData()
_Text = sql.Text
_Whole = sql.BigInteger().with_variant(sql.Integer, "sqlite")  # only Integer counts up there
_Real = sql.Double


def _participant(*, key: bool = False, empty: bool = False) -> sql.Column[int]:
    number = sql.ForeignKey("participants.number")
    return sql.Column("participant", _Whole, number, index=True, primary_key=key, nullable=empty)


META = sql.Table(
    "meta",
    METADATA,
    sql.Column("key", _Text, primary_key=True),
    sql.Column("value", _Text),
)

CONFIGURATIONS = sql.Table(
    "configurations",
    METADATA,
    sql.Column("hash", _Text, primary_key=True),
    sql.Column("text", _Text, nullable=False),
)

PARTICIPANTS = sql.Table(
    "participants",
    METADATA,
    sql.Column("number", _Whole, primary_key=True, autoincrement=True),
    sql.Column("layout", _Text, nullable=False),
    sql.Column("place", _Whole, nullable=False),
    sql.Column("seed", _Whole, nullable=False),
    sql.Column("stage", _Text, nullable=False),
    sql.Column("tried", _Text, nullable=False),  # free games with each partner, as a JSON list
    sql.Column("games", _Whole, nullable=False),
    sql.Column("completion_code", _Text, nullable=False),
    sql.Column("joined", _Real, nullable=False),
    sql.Column("seen", _Real, nullable=False),
    # When they came to their stage, or ended the last of the games that count.
    sql.Column("advanced", _Real, nullable=False),
    sql.Column("finished", _Real),
    sqlite_autoincrement=True,  # a number is never given again
)

IDENTITIES = sql.Table(
    "identities",
    METADATA,
    sql.Column("kind", _Text, primary_key=True),
    sql.Column("value", _Text, primary_key=True),
    _participant(empty=True),  # empty while an invitation has not been used
)

ANSWERS = sql.Table(
    "answers",
    METADATA,
    _participant(key=True),
    sql.Column("question", _Text, primary_key=True),
    sql.Column("answer", _Text),  # as JSON; null: declined
)

RANKINGS = sql.Table(
    "rankings",
    METADATA,
    _participant(key=True),
    sql.Column("agent", _Text, primary_key=True),
    sql.Column("rank", _Whole, nullable=False),  # 1: assisted most
)

COMMENTS = sql.Table(
    "comments",
    METADATA,
    _participant(key=True),
    sql.Column("agent", _Text, primary_key=True),
    sql.Column("question", _Whole, primary_key=True),
    sql.Column("comment", _Text, nullable=False),
)

GAMES = sql.Table(
    "games",
    METADATA,
    sql.Column("number", _Whole, primary_key=True, autoincrement=True),
    _participant(),
    sql.Column("phase", _Text, nullable=False),
    sql.Column("nth", _Whole, nullable=False),
    sql.Column("agent", _Text, nullable=False),
    sql.Column("loaded", _Text, nullable=False),
    sql.Column("seat", _Whole, nullable=False),
    sql.Column("layout", _Text, nullable=False),
    sql.Column("seed", _Whole, nullable=False),
    sql.Column("ticks", _Whole, nullable=False),
    sql.Column("ticks_per_second", _Real, nullable=False),
    sql.Column("agent_acts_once_in", _Whole, nullable=False),
    sql.Column("configuration", _Text, sql.ForeignKey("configurations.hash"), nullable=False),
    sql.Column("began", _Real, nullable=False),
    sql.Column("finished", _Real),
    sql.Column("ended", _Text),
    sql.Column("score", _Real),
    sqlite_autoincrement=True,
)

STEPS = sql.Table(
    "steps",
    METADATA,
    sql.Column("game", _Whole, sql.ForeignKey("games.number"), primary_key=True),
    sql.Column("first", _Whole, primary_key=True),
    # A byte a tick: 6 * action of seat 0 + action of seat 1.
    sql.Column("actions", sql.LargeBinary, nullable=False),
    # [[tick, milliseconds], ...] as JSON: reported since the last batch, of any ticks.
    sql.Column("lags", _Text, nullable=False),
)

INTERRUPTIONS = sql.Table(
    "interruptions",
    METADATA,
    sql.Column("number", _Whole, primary_key=True, autoincrement=True),
    sql.Column("game", _Whole, sql.ForeignKey("games.number"), index=True, nullable=False),
    sql.Column("tick", _Whole, nullable=False),
    sql.Column("reason", _Text, nullable=False),
    sql.Column("paused", sql.Boolean, nullable=False),
    sql.Column("undrawn", _Whole, nullable=False),
    sql.Column("began", _Real),
    sql.Column("seconds", _Real),
    sql.Column("is_over", sql.Boolean, nullable=False),
    sqlite_autoincrement=True,
)

OF_GAME = (STEPS, INTERRUPTIONS)
# In an order that foreign keys allow to delete.
OF_PARTICIPANT = (IDENTITIES, ANSWERS, RANKINGS, COMMENTS, GAMES, PARTICIPANTS)


def connect(url: str) -> sql.Engine:
    """An engine on a database that holds the tables of this version."""
    try:
        is_file = url.startswith("sqlite")
        options: dict[str, Any] = {}
        if not is_file:
            options = {"options": f"-c lock_timeout={_PATIENCE}", "tcp_user_timeout": _SILENCE}
        engine = sql.create_engine(url, pool_pre_ping=not is_file, connect_args=options)
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise InputError(
            f"database {url!r} ({error}); "
            "give sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME"
        ) from error
    if engine.dialect.name == "sqlite":
        _keep_private(engine.url)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        event.listen(engine, "begin", _begin_postgresql)
    try:
        _check_version(engine)
    except DBAPIError as error:
        engine.dispose()
        raise InputError(f"database {engine.url!r} cannot be used: {error.orig}") from error
    except InputError:
        engine.dispose()
        raise
    return engine


def _keep_private(url: sql.URL) -> None:
    path = file_of(url)
    if path is not None:
        try:
            make_private(path)
        except OSError as error:
            raise InputError(
                f"database {url!r} cannot be used: {error.strerror}; "
                "it has to be a file of the user who runs this"
            ) from error


def file_of(url: sql.URL) -> Path | None:
    """The file of an SQLite database; None where it is in memory or on a server."""
    name = url.database or ""
    if url.get_backend_name() != "sqlite" or name in ("", ":memory:") or name.startswith("file:"):
        return None
    return Path(name)


def make_private(path: Path) -> None:
    """Make a file that only its owner can read, or an existing one so; its logs, too."""
    path.touch(0o600)
    for part in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
        if part.exists() and part.stat().st_mode & 0o077:
            part.chmod(0o600)


def _prepare_sqlite(connection: Any, _: object) -> None:  # noqa: ANN401  (a driver's connection)
    """A commit is on the disk when it returns; what is deleted is overwritten."""
    connection.isolation_level = None  # transactions begin where we say so, not the driver
    for setting in _SQLITE_SETTINGS:
        connection.execute(f"PRAGMA {setting}")


def _begin_sqlite(connection: sql.Connection) -> None:
    """Begin as a writer where we are going to write.

    A reader that turned writer could find the database changed.
    """
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _begin_postgresql(connection: sql.Connection) -> None:
    """Begin as with SQLite: one writer at a time, and a reader sees one moment."""
    if connection.get_execution_options().get("writes", False):
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITERS})")
    else:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")


def _check_version(engine: sql.Engine) -> None:
    with engine.execution_options(writes=True).begin() as connection:
        there = set(sql.inspect(connection).get_table_names())
        if not there:
            METADATA.create_all(connection)
            connection.execute(META.insert().values(key="schema", value=VERSION))
        elif META.name not in there:
            raise InputError(
                f"database {engine.url!r} holds something else; "
                "give an empty one or that of a study"
            )
        found = connection.scalar(sql.select(META.c.value).where(META.c.key == "schema"))
        if found != VERSION:
            raise InputError(
                f"database {engine.url!r} has tables of version {found}; this CoChef uses {VERSION}"
            )
