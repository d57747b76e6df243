"""Files read within a limit and written whole; directories that one process works in."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cochef import interrupts
from cochef.errors import InputError


def read_limited(path: Path, most: int, kind: str) -> bytes:
    """The content of a file of at most so many bytes; `kind` says what was expected."""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except (OSError, ValueError) as error:  # a ValueError is a path that no system allows
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({reason}); give the path of {kind}") from error
    if len(content) > most:
        raise InputError(f"{path}: larger than {most} bytes; not {kind}")
    return content


def read_table(path: Path, most: int, kind: str, remedy: str) -> dict[str, Any]:
    """The table in a file of JSON; `remedy` says what to do if it is damaged."""
    content = read_limited(path, most, kind)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: damaged ({error}); {remedy}") from error
    if not isinstance(found, dict):
        raise InputError(f"{path}: damaged (not a table); {remedy}")
    return found


def claim_file(path: Path) -> None:
    """Make sure that a file can be written to its directory, before any work goes into it."""
    with _named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        claim = path.with_name(f".{path.name}.{os.getpid()}.part")
        claim.open("wb").close()
        claim.unlink()


def claim_directory(directory: Path) -> None:
    """Make a directory that can be written to, before any work goes into what it will hold."""
    claim = directory / ".claim"

    def remove() -> None:
        claim.unlink(missing_ok=True)  # another process may have removed it

    with interrupts.cleaning_up(remove):
        write_whole(claim, b"")
        remove()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file and the directories above it; the file is there whole or not at all."""
    with interrupts.writing(), replaced_when_done(path) as partial, partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_json(path: Path, content: object) -> None:
    """Write a file of indented JSON."""
    write_whole(path, (json.dumps(content, indent=1) + "\n").encode())


@contextmanager
def replaced_when_done(path: Path) -> Iterator[Path]:
    """Another file to write to, which takes the place of `path` at the end if there is no error."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")

    def remove() -> None:
        with suppress(OSError, ValueError):
            partial.unlink()

    with interrupts.cleaning_up(remove):
        try:
            with _named(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                yield partial
                partial.replace(path)
        finally:
            remove()


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file in the error if writing fails."""
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be written ({reason}); give another place") from error


@contextmanager
def alone(directory: Path, what: str) -> Iterator[None]:
    """No other process is in here with the same directory; `what` says what it would be doing."""
    claim_directory(directory)
    path = directory / ".lock"
    try:
        lock = path.open("a")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); give another place"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"{directory}: another process {what} here; wait for it, or take another one"
            ) from error
        yield
