"""Object storage in an SQLite file, as a file system of fsspec that all processes see.

Keys are flat, an object is there whole or not at all, and one that must be new is created once:
what object storage promises. Its file is named by the environment variable BUCKET. A file of this
name with the ending .failure says what is wrong with the storage.
"""

import errno
import io
import os
import sqlite3
from pathlib import Path

from fsspec import AbstractFileSystem

FITS = 200  # bytes of an object that a full bucket still takes: claims, and no results


class BucketFileSystem(AbstractFileSystem):
    protocol = "bucket"

    def _connect(self):
        connection = sqlite3.connect(os.environ["BUCKET"], timeout=60, isolation_level=None)
        connection.execute("CREATE TABLE IF NOT EXISTS objects (key TEXT PRIMARY KEY, value BLOB)")
        return connection

    def _query(self, statement, *values):
        connection = self._connect()
        try:
            return connection.execute(statement, values).fetchall()
        finally:
            connection.close()

    def _failure(self):
        path = Path(f"{os.environ['BUCKET']}.failure")
        return path.read_text() if path.exists() else None

    def pipe_file(self, path, value, mode="overwrite", **kwargs):
        failure = self._failure()
        if failure == "read-only":
            raise PermissionError(path)
        if failure == "full" and len(value) > FITS:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if failure == "cut short":
            value = value[:FITS]
        verb = "INSERT" if mode == "create" else "REPLACE"
        try:
            self._query(f"{verb} INTO objects VALUES (?, ?)", path, value)
        except sqlite3.IntegrityError as error:
            raise FileExistsError(path) from error

    def cat_file(self, path, start=None, end=None, **kwargs):
        rows = self._query("SELECT value FROM objects WHERE key = ?", path)
        if not rows:
            raise FileNotFoundError(path)
        return rows[0][0][start:end]

    def _open(self, path, mode="rb", **kwargs):
        assert mode == "rb"
        return io.BytesIO(self.cat_file(path))

    def ls(self, path, detail=True, **kwargs):
        start = path.rstrip("/") + "/"
        rows = self._query(
            "SELECT key, length(value) FROM objects WHERE substr(key, 1, ?) = ?", len(start), start
        )
        found = {}
        for key, size in rows:
            child, inner, _ = key.removeprefix(start).partition("/")
            kind = "directory" if inner else "file"
            found[start + child] = {"name": start + child, "size": size, "type": kind}
        if not found:
            raise FileNotFoundError(path)
        return list(found.values()) if detail else list(found)

    def info(self, path, **kwargs):
        rows = self._query("SELECT length(value) FROM objects WHERE key = ?", path)
        if rows:
            return {"name": path, "size": rows[0][0], "type": "file"}
        self.ls(path)
        return {"name": path, "size": 0, "type": "directory"}

    def rm_file(self, path):
        self._query("DELETE FROM objects WHERE key = ?", path)

    def _rm(self, path):
        self.rm_file(path)
