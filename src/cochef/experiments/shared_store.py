"""A store that machines share: finished jobs as files under any URL that fsspec knows.

STORE/jobs/NAME/files/SHA256          files of a finished job, by their content
STORE/jobs/NAME/complete.json         the list of them, with names and checksums; written last
STORE/jobs/NAME/progress/NUMBER/...   the same of an unfinished attempt, for the one that resumes it
STORE/jobs/NAME/claims/NUMBER         who works at the job (see `claims.py`)

A file never changes once it is there, and none is read without the list that names it. So whatever
was cut short is never read: it is in no list, or its checksum does not match.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from cochef.errors import InputError, missing_extra, shown
from cochef.experiments.jobs import DONE
from cochef.files import write_whole

COMPLETE = "complete.json"
MAX_LIST_BYTES = 16 * 1024**2
LOCAL = ("file", "local")  # protocols of directories

FileList = Mapping[str, str]  # the checksums of files by their names


@dataclass(frozen=True)
class SharedStore:
    """Finished jobs by name, under a URL or in a directory."""

    url: str

    def __post_init__(self) -> None:
        """Refuse a URL with a secret in it: it is shown in messages, and given to every node."""
        parts = urlsplit(self.url)
        if "@" in parts.netloc or parts.query:
            raise InputError(
                f"the store's URL {parts.scheme}://... has a user, password or query in it; give "
                "credentials to the nodes, in their environment or files (docs/cluster.md)"
            )

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        """The file system, and the path in it."""
        try:
            import fsspec  # noqa: PLC0415  (an extra)
        except ImportError as error:
            raise InputError(missing_extra("fsspec", "cluster")) from error
        with self._access("opened"):
            filesystem, root = fsspec.core.url_to_fs(self.url, use_listings_cache=False)
        return filesystem, root.rstrip("/")

    @property
    def files(self) -> Any:  # noqa: ANN401
        """The file system of fsspec."""
        return self._opened[0]

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory, not object storage."""
        protocol = self.files.protocol
        return not set(LOCAL).isdisjoint([protocol] if isinstance(protocol, str) else protocol)

    def path(self, name: str, *parts: str) -> str:
        """The path of something that belongs to a job."""
        return "/".join((self._opened[1], "jobs", name, *parts))

    def is_complete(self, name: str) -> bool:
        """Whether a job is finished."""
        return self._file_list(name, COMPLETE) is not None

    def publish(self, name: str, directory: Path) -> None:
        """Store all files of a finished job; what the first one stored stays."""
        found = self._upload(name, "files", directory)
        if not self.is_complete(name):
            self._write_whole(self.path(name, COMPLETE), _list_bytes(found))
        # Only a finished job's list is read from now on.
        with suppress(FileNotFoundError), self._access("cleared"):
            self.files.rm(self.path(name, "progress"), recursive=True)

    def fetch(self, name: str, directory: Path) -> None:
        """Copy the files of a finished job into a directory."""
        found = self._file_list(name, COMPLETE)
        if found is None:
            raise InputError(f"{self.url}: {name} is not finished there")
        self._download(name, "files", found, directory)

    def save_progress(self, name: str, number: int, directory: Path) -> None:
        """Store the files of an unfinished attempt, in place of those that it stored before."""
        area = f"progress/{number:06}"
        found = self._upload(name, area, directory)
        self._write_whole(self.path(name, area, COMPLETE), _list_bytes(found))
        kept = {COMPLETE, *found.values()}
        for file_name in self.names(name, area):
            if file_name not in kept:
                with suppress(FileNotFoundError), self._access("cleared"):
                    self.files.rm_file(self.path(name, area, file_name))

    def resume(self, name: str, directory: Path) -> bool:
        """Copy the files of the last attempt that stored some; whether there were any."""
        for number in sorted(self.names(name, "progress"), reverse=True):
            area = f"progress/{number}"
            found = self._file_list(name, f"{area}/{COMPLETE}")
            with suppress(InputError):  # its owner may be deleting it
                if found:
                    self._download(name, area, found, directory)
                    return True
        return False

    def names(self, name: str, area: str) -> list[str]:
        """The names of what is stored in some part of a job."""
        try:
            with self._access("read"):
                paths = self.files.ls(self.path(name, area), detail=False)
        except FileNotFoundError:
            return []
        return [str(path).rstrip("/").rpartition("/")[2] for path in paths]

    def read(self, path: str, most: int = MAX_LIST_BYTES) -> bytes | None:
        """The content of a file, if it is there."""
        try:
            with self._access("read"), self.files.open(path, "rb") as file:
                content = file.read(most + 1)
        except FileNotFoundError:
            return None
        if len(content) > most:
            raise InputError(f"{path}: larger than {most} bytes, not a file of this store")
        return content

    def write(self, path: str, content: bytes) -> None:
        """Write a file; it is there whole or not at all."""
        if self.is_directory:
            write_whole(Path(path), content)
            return
        with self._access("written"):
            self.files.pipe_file(path, content)

    def create(self, path: str, content: bytes) -> bool:
        """Write a file that nobody has written before; False if it is there."""
        try:
            with self._access("written"):
                if self.is_directory:
                    Path(path).parent.mkdir(parents=True, exist_ok=True)
                    with Path(path).open("xb") as file:
                        file.write(content)
                else:
                    self.files.pipe_file(path, content, mode="create")
        except FileExistsError:
            return False
        return True

    def _upload(self, name: str, area: str, directory: Path) -> FileList:
        """Store the files of a directory by their content; their checksums by name."""
        found = {}
        for source in sorted(directory.rglob("*")):
            relative = source.relative_to(directory)
            # Hidden files are locks, and parts of files.
            if not source.is_file() or any(part.startswith(".") for part in relative.parts):
                continue
            content = source.read_bytes()
            checksum = hashlib.sha256(content).hexdigest()
            self._store(self.path(name, area, checksum), content)
            found[relative.as_posix()] = checksum
        return found

    def _store(self, path: str, content: bytes) -> None:
        """Store a file, unless it is there."""
        if self._size(path) != len(content):
            self._write_whole(path, content)

    def _write_whole(self, path: str, content: bytes) -> None:
        """Write a file; an error if less than all of it arrived."""
        self.write(path, content)
        size = self._size(path)
        if size != len(content):
            raise InputError(
                f"{self.url}: of {len(content)} bytes of {path} only {size or 0} are stored; "
                "make room, and run again to resume"
            )

    def _size(self, path: str) -> int | None:
        try:
            with self._access("read"):
                return self.files.size(path)
        except FileNotFoundError:
            return None

    def _download(self, name: str, area: str, found: FileList, directory: Path) -> None:
        """Copy the files of a list, each checked, into a directory."""
        # What says that a job is done comes last: a copy may be cut short, too.
        for file_name in sorted(found, key=_is_end):
            checksum = found[file_name]
            path = self.path(name, area, checksum)
            try:
                with self._access("read"):
                    content = self.files.cat_file(path)
            except FileNotFoundError:
                content = None
            if content is None or hashlib.sha256(content).hexdigest() != checksum:
                raise InputError(
                    f"{self.url}: {file_name} of {name} is missing or damaged; "
                    f"delete {self.path(name)}, and the job is done again"
                )
            write_whole(directory / file_name, content)

    def _file_list(self, name: str, list_name: str) -> FileList | None:
        """A list of files; None if it is not there, or not whole."""
        content = self.read(self.path(name, list_name))
        try:
            table = json.loads(content or b"")
            found, checksum = table["files"], table["sha256"]
            whole = checksum == _list_checksum(found)
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        if not whole:
            return None
        for file_name, checksum in found.items():
            _check_entry(file_name, checksum, self.path(name, list_name))
        return found

    @contextmanager
    def _access(self, verb: str) -> Iterator[None]:
        """Name the store in an error; a file that is there or missing is not one."""
        try:
            yield
        except (FileExistsError, InputError):
            raise
        except Exception as error:  # every kind of storage has errors of its own
            # Where nothing can be written there is no bucket, or no directory.
            if isinstance(error, FileNotFoundError) and verb != "written":
                raise
            reason = getattr(error, "strerror", None) or error
            raise InputError(
                f"{self.url}: the store cannot be {verb} ({type(error).__name__}: {reason}); "
                "mend it or give another one, and run again to resume"
            ) from error


def _is_end(file_name: str) -> bool:
    return file_name == DONE


def _list_bytes(found: FileList) -> bytes:
    table = {"files": found, "sha256": _list_checksum(found)}
    return (json.dumps(table, indent=1) + "\n").encode()


def _list_checksum(found: FileList) -> str:
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def _check_entry(file_name: object, checksum: object, where: str) -> None:
    """Refuse names that lead out of a directory: the store may be open to others."""
    if not (_is_relative(file_name) and _is_checksum(checksum)):
        raise InputError(f"{where}: {shown(file_name)} is no name of a job's file; delete the list")


def _is_relative(name: object) -> bool:
    if not isinstance(name, str) or "\\" in name:
        return False
    parts = PurePosixPath(name).parts
    return bool(parts) and parts[0] != "/" and ".." not in parts


def _is_checksum(text: object) -> bool:
    return isinstance(text, str) and len(text) == 64 and set(text) <= set("0123456789abcdef")
