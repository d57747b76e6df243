"""A database that somebody else keeps busy."""

import contextlib
import sqlite3

import psycopg
import sqlalchemy as sql


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
