"""Metrics writers: where a run logs its metrics: a file, TensorBoard, or any other logger.

Reading them back needs no JAX, so that `cochef status` is quick.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import fmean
from typing import IO, Any, Protocol, runtime_checkable

from cochef.errors import InputError, missing_extra
from cochef.files import read_limited, write_whole

CONFIG = "config.json"  # of a run
METRICS = "metrics.jsonl"
SHARD = "shard"  # in the configuration of a run of some members: the first, and how many
MAX_BYTES = 1024**3

MetricsLine = Mapping[str, Any]
Log = Callable[[str], None]  # takes messages for a person


@runtime_checkable
class MetricsWriter(Protocol):
    """Takes the metrics of every iteration (see `runs.metrics_line`)."""

    def begin(self, run_config: Mapping[str, Any]) -> None:
        """Get ready for a run with this configuration."""
        ...

    def write(self, line: MetricsLine) -> None:
        """Take the metrics of an iteration."""
        ...

    def end(self) -> None:
        """Close: the run has finished or was interrupted."""
        ...


class JsonLinesWriter:
    """A file with a JSON line per iteration; a resumed run keeps the lines `before`."""

    def __init__(self, path: Path, before: Sequence[str] = ()) -> None:
        """Remember the file; `begin` opens it."""
        self._path = path
        self._before = before
        self._file: IO[str] | None = None

    def begin(self, run_config: Mapping[str, Any]) -> None:
        """Open the file, with just the lines from before in it."""
        write_whole(self._path, "".join(self._before).encode())
        with _writing(self._path):
            self._file = self._path.open("a", encoding="utf-8")

    def write(self, line: MetricsLine) -> None:
        """Add a line."""
        assert self._file is not None
        with _writing(self._path):
            self._file.write(json.dumps(line, allow_nan=False, separators=(",", ":")) + "\n")
            self._file.flush()

    def sync(self) -> None:
        """Make all lines so far survive a loss of power."""
        assert self._file is not None
        with _writing(self._path):
            os.fsync(self._file.fileno())

    def end(self) -> None:
        """Close the file."""
        assert self._file is not None
        with suppress(OSError):  # what could not be written has raised an error before
            self._file.close()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Name the file in the error if writing fails."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); make room, then run again to resume"
        ) from error


class TensorBoardWriter:
    """Event files for TensorBoard, by environment steps of a policy."""

    def __init__(self, directory: Path) -> None:
        """Raise an error if tensorboardX is not installed."""
        try:
            import tensorboardX  # noqa: PLC0415  (an extra)
        except ImportError as error:
            raise InputError(missing_extra("tensorboardX", "tensorboard")) from error
        self._summary_writer = tensorboardX.SummaryWriter
        self._directory = directory
        self._writer: Any = None

    def begin(self, run_config: Mapping[str, Any]) -> None:
        """Wait for the first line: only then it is known where the run continues."""
        self._writer = None

    def write(self, line: MetricsLine) -> None:
        """Add the metrics of an iteration."""
        step = line["steps"]
        if self._writer is None:
            # What an interrupted run wrote beyond its last checkpoint is not shown any more.
            self._writer = self._summary_writer(str(self._directory), purge_step=step)
        for name, value in scalars(line).items():
            self._writer.add_scalar(name, value, step)

    def end(self) -> None:
        """Close the files."""
        if self._writer is not None:
            self._writer.close()


@runtime_checkable
class ExternalRun(Protocol):
    """A run of Weights & Biases, or of another tracker with the same `log`."""

    def log(self, data: dict[str, Any], step: int | None = None) -> object:
        """Take some numbers."""
        ...


class ExternalRunWriter:
    """Logs to a run of an experiment tracker; its owner begins and ends that."""

    def __init__(self, run: ExternalRun) -> None:
        """Log to this run."""
        self._run = run

    def begin(self, run_config: Mapping[str, Any]) -> None:
        """The run has begun elsewhere."""

    def write(self, line: MetricsLine) -> None:
        """Log the metrics of an iteration."""
        self._run.log(scalars(line), step=line["steps"])

    def end(self) -> None:
        """The run ends elsewhere."""


def scalars(line: MetricsLine) -> dict[str, float]:
    """The numbers of a line by name: returns of the population and of members, and the update."""
    returns: Sequence[float] = line["task_return"]
    overall = {
        "task_return/mean": fmean(returns),
        "task_return/best": max(returns),
        "task_return/worst": min(returns),
        "seconds": line["seconds"],
    }
    members = {f"task_return/member_{number:02}": value for number, value in enumerate(returns)}
    return overall | members | {f"update/{name}": value for name, value in line["update"].items()}


def read_metrics(directory: Path) -> list[dict[str, Any]]:
    """The metrics of the run in a directory, a table per iteration."""
    return [json.loads(line) for line in metrics_lines(directory / METRICS)]


def metrics_lines(path: Path) -> list[str]:
    """The whole lines of a metrics file, if it is there, up to the first that is damaged."""
    if not path.exists():
        return []
    good = []
    text = read_limited(path, MAX_BYTES, "the metrics of a run").decode(errors="replace")
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        try:
            whole = line.endswith("\n") and json.loads(line)["iteration"] == number
        except (ValueError, KeyError, TypeError, RecursionError):
            whole = False
        if not whole:
            break
        good.append(line)
    return good
