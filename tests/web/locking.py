"""A database that somebody else keeps busy."""

import contextlib
import sqlite3

import psycopg
import sqlalchemy as sql


def lose_servers_connection(url):
    """End the connection by which a server keeps others off a PostgreSQL database."""
    address = sql.make_url(url).set(drivername="postgresql")
    own = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    where = f"locktype = 'advisory' AND {own}"
    with psycopg.connect(address.render_as_string(hide_password=False), autocommit=True) as other:
        ended = other.execute(f"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE {where}")
        assert ended.fetchall() == [(True,)]


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
