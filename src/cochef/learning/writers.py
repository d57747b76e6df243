"""Where the numbers of a run go while it learns: files, TensorBoard, or whatever takes a mapping and a step."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import fmean
from typing import IO, Any, Protocol, runtime_checkable

from cochef.errors import InputError
from cochef.files import write_whole

Line = Mapping[str, Any]


@runtime_checkable
class MetricsWriter(Protocol):
    """Takes a line of numbers an iteration (see `runs.describe`)."""

    def begin(self, about: Mapping[str, Any]) -> None:
        """Get ready for a run that is described by its configuration."""
        ...

    def write(self, line: Line) -> None:
        """Take the numbers of an iteration."""
        ...

    def end(self) -> None:
        """Nothing comes any more, be the run finished or stopped."""
        ...


class JsonLinesWriter:
    """A file with a line an iteration, after some lines that are there already."""

    def __init__(self, path: Path, before: Sequence[str] = ()) -> None:
        """Nothing is written yet."""
        self._path, self._before = path, before
        self._file: IO[str] | None = None

    def begin(self, about: Mapping[str, Any]) -> None:
        """Leave just the lines from before in the file."""
        write_whole(self._path, "".join(self._before).encode())
        with writing(self._path):
            self._file = self._path.open("a", encoding="utf-8")

    def write(self, line: Line) -> None:
        """Add a line."""
        assert self._file is not None
        with writing(self._path):
            self._file.write(json.dumps(line, allow_nan=False, separators=(",", ":")) + "\n")
            self._file.flush()

    def keep(self) -> None:
        """All lines so far survive a loss of power."""
        assert self._file is not None
        with writing(self._path):
            os.fsync(self._file.fileno())

    def end(self) -> None:
        """Close the file."""
        assert self._file is not None
        with suppress(OSError):  # what could not be written was complained about when it was
            self._file.close()


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Complain about a file that cannot be written any more."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); make room, then go on") from error


class TensorBoardWriter:
    """Files that TensorBoard shows, by steps of a policy."""

    def __init__(self, directory: Path) -> None:
        """Complain if what writes them is not installed."""
        try:
            from tensorboardX import SummaryWriter  # noqa: PLC0415  (an extra)
        except ImportError as error:
            raise InputError('tensorboardX is not installed; pip install "cochef[tensorboard]"') from error
        self._open = lambda step: SummaryWriter(str(directory), purge_step=step)
        self._writer: Any = None

    def begin(self, about: Mapping[str, Any]) -> None:
        """Wait for the first line: what an earlier attempt wrote from there on is not shown any more."""
        self._writer = None

    def write(self, line: Line) -> None:
        """Add the numbers of an iteration."""
        if self._writer is None:
            self._writer = self._open(line["steps"])
        for name, value in scalars(line).items():
            self._writer.add_scalar(name, value, line["steps"])

    def end(self) -> None:
        """Close the files."""
        if self._writer is not None:
            self._writer.close()


@runtime_checkable
class Run(Protocol):
    """What Weights & Biases gives for a run, and others give too."""

    def log(self, data: dict[str, Any], step: int | None = None) -> object:
        """Take some numbers."""
        ...


class Logging:
    """Any object that logs a mapping at a step; beginning and ending it is up to its owner."""

    def __init__(self, run: Run) -> None:
        """Log to this run."""
        self._run = run

    def begin(self, about: Mapping[str, Any]) -> None:
        """The run has begun elsewhere."""

    def write(self, line: Line) -> None:
        """Log the numbers of an iteration."""
        self._run.log(scalars(line), step=line["steps"])

    def end(self) -> None:
        """The run ends elsewhere."""


def scalars(line: Line) -> dict[str, float]:
    """The numbers of a line by name: returns of members and of the population, and how the update went."""
    task: Sequence[float] = line["task"]
    overall = {"task/mean": fmean(task), "task/best": max(task), "task/worst": min(task), "seconds": line["seconds"]}
    members = {f"task/member_{number:02}": value for number, value in enumerate(task)}
    return overall | members | {f"update/{name}": value for name, value in line["update"].items()}
