"""A database that somebody else keeps busy."""

import contextlib
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import sqlalchemy as sql

_SERVERS_LOCK = (
    "FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database())"
)


def lose_servers_connection(url):
    """End the connection by which a server keeps others off a PostgreSQL database."""
    with _connected(url) as other:
        ended = other.execute(f"SELECT pg_terminate_backend(pid) {_SERVERS_LOCK}")
        assert ended.fetchall() == [(True,)]


@contextlib.contextmanager
def another_server(url):
    """Another server has been waiting for the connection of the first one to be lost."""
    with _connected(url) as other, ThreadPoolExecutor(1) as thread:
        ((key,),) = other.execute(f"SELECT objid {_SERVERS_LOCK}").fetchall()
        taken = thread.submit(other.execute, f"SELECT pg_advisory_lock({key})")
        with _connected(url) as watching:
            waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            while watching.execute(waits).fetchone() == (0,):
                time.sleep(0.01)
        lose_servers_connection(url)
        taken.result()
        yield


def _connected(url):
    address = sql.make_url(url).set(drivername="postgresql")
    return psycopg.connect(address.render_as_string(hide_password=False), autocommit=True)


@contextlib.contextmanager
def locked(url):
    """Nobody else can write to the database."""
    address = sql.make_url(url)
    if address.get_backend_name() == "sqlite":
        with contextlib.closing(sqlite3.connect(address.database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")
    else:
        plain = address.set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(plain) as other:
            other.execute("LOCK TABLE steps IN SHARE ROW EXCLUSIVE MODE")
            yield
            other.rollback()
