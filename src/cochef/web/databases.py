"""A study's database as a whole: private, served by one server at a time, and backed up."""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import sqlalchemy as sql
from sqlalchemy.exc import SQLAlchemyError

from cochef.errors import InputError
from cochef.web import schema

_SERVER = 0x636F6B66  # the lock that the server of a PostgreSQL database holds
_PATIENCE = 5_000  # milliseconds for a session of our own to end
_HOLDS_LOCK = sql.text(
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted "
    f"AND objid = {_SERVER} AND pid = pg_backend_pid()"
)
_END_SESSION = sql.text(
    f"SELECT pg_terminate_backend(pid, {_PATIENCE}) FROM pg_locks "
    "WHERE locktype = 'advisory' AND granted "
    f"AND objid = {_SERVER} AND pid = :session"
)

IsAlone = Callable[[], bool]


@contextlib.contextmanager
def served_alone(engine: sql.Engine) -> Iterator[IsAlone]:
    """No other server uses the database meanwhile; a process that ends in any way lets go of it.

    Gives a function that asks whether it is still so, to be called regularly: PostgreSQL lets
    others in as soon as the connection is lost that holds its lock.
    """
    refusal = InputError(
        f"another server is running on database {engine.url!r}; two would play the same games. "
        "Stop it first, or give another database"
    )
    path = schema.file_of(engine.url)
    if engine.dialect.name != "sqlite":
        with contextlib.closing(_ServerLock(engine)) as lock:
            if not lock.take():
                raise refusal
            yield lock.is_ours
    elif path is None:  # in memory
        yield lambda: True
    else:
        file = path.with_name(f"{path.name}.serving")
        schema.make_private(file)
        with file.open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise refusal from None
            yield lambda: True  # the system keeps it as long as the file is open


class _ServerLock:
    """The lock of a PostgreSQL database that its server holds, by a connection of its own."""

    def __init__(self, engine: sql.Engine) -> None:
        """Nothing is connected yet."""
        self._engine = engine
        self._connection: sql.Connection | None = None
        self._session: int | None = None  # of the last connection that held it

    def take(self) -> bool:
        """Take it by a new connection; false if another server has it."""
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        # PostgreSQL may not know yet that our own connection before was lost.
        connection.execute(_END_SESSION, {"session": self._session})
        if not connection.scalar(sql.text(f"SELECT pg_try_advisory_lock({_SERVER})")):
            connection.close()
            return False
        self._connection = connection
        self._session = connection.scalar(sql.text("SELECT pg_backend_pid()"))
        return True

    def is_ours(self) -> bool:
        """False if another server has it; if the connection was lost, it is taken anew.

        A database that does not answer lets nobody store anything, and is asked again later.
        """
        if self._connection is not None:
            with contextlib.suppress(SQLAlchemyError):
                if self._connection.scalar(_HOLDS_LOCK) == 1:
                    return True
            self._drop()
        try:
            return self.take()
        except SQLAlchemyError:
            return True

    def close(self) -> None:
        """Let go of it."""
        if self._connection is None:
            return
        with contextlib.suppress(SQLAlchemyError):
            self._connection.execute(sql.text(f"SELECT pg_advisory_unlock({_SERVER})"))
        self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(SQLAlchemyError):
                self._connection.invalidate()  # the pool does not get it back
                self._connection.close()
            self._connection = None


def back_up(engine: sql.Engine, path: Path) -> None:
    """Write one moment of a database, which may be in use, to a new SQLite file."""
    if path.exists():
        raise InputError(f"{path} is there already; give another file for the backup")
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        schema.make_private(partial)
        if engine.dialect.name == "sqlite":
            _copy_file(engine, partial)
        else:
            _copy_tables(engine, partial)
        _check(partial)
        partial.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error
    except sqlite3.Error as error:
        raise InputError(f"{path}: the backup failed ({error})") from error
    finally:
        for left in path.parent.glob(f"{partial.name}*"):
            left.unlink()


def _copy_file(engine: sql.Engine, path: Path) -> None:
    with (
        contextlib.closing(engine.raw_connection()) as source,
        contextlib.closing(sqlite3.connect(path)) as target,
    ):
        driver = source.driver_connection
        if driver is not None:
            driver.backup(target)


def _copy_tables(engine: sql.Engine, path: Path) -> None:
    target = schema.connect(f"sqlite:///{path}")
    try:
        with engine.begin() as source, target.begin() as copy:
            for table in schema.METADATA.sorted_tables:
                copy.execute(table.delete())
                rows = [dict(row) for row in source.execute(sql.select(table)).mappings()]
                if rows:
                    copy.execute(table.insert(), rows)
    finally:
        target.dispose()


def _check(path: Path) -> None:
    """Check a copy, and leave it as one file without a log beside it."""
    with contextlib.closing(sqlite3.connect(path)) as copy:
        copy.execute("PRAGMA journal_mode=DELETE")
        found = copy.execute("PRAGMA integrity_check").fetchone()[0]
    if found != "ok":
        raise InputError(f"{path}: the copy is damaged ({found}); try again")
