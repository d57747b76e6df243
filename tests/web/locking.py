"""A database that somebody else keeps busy."""

import contextlib
import socket
import sqlite3
import tempfile
import threading
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


@contextlib.contextmanager
def relay(url):
    """Another address of a PostgreSQL database, and a function that cuts all connections to it.

    PostgreSQL does not notice that, as after a cable was pulled.
    """
    address = sql.make_url(url)
    name = ".s.PGSQL.5432"
    clients, servers = [], []

    def copy(source, sink):
        with contextlib.suppress(OSError):
            while content := source.recv(65536):
                sink.sendall(content)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(f"{address.query['host']}/{name}")
                clients.append(client)
                servers.append(server)
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=copy, args=ends, daemon=True).start()

    def cut():
        for client in clients:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    with (
        tempfile.TemporaryDirectory(prefix="cochef") as place,  # a socket's path must be short
        socket.socket(socket.AF_UNIX) as listener,
    ):
        listener.bind(f"{place}/{name}")
        listener.listen()
        threading.Thread(target=accept, daemon=True).start()
        other = address.update_query_dict({"host": place})
        yield other.render_as_string(hide_password=False), cut
        cut()
        for server in servers:
            server.close()


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
