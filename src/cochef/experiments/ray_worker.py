"""What happens on a node of a Ray cluster: one job, in a directory of its own, into the store."""

import fcntl
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from cochef.errors import InputError
from cochef.experiments.claims import ClaimLostError, JobClaim, acquire
from cochef.experiments.jobs import Job, JobStore
from cochef.experiments.shared_store import SharedStore
from cochef.learning.writers import MetricsLine, MetricsWriter
from cochef.runtime import keep_compiled_programs, use_cores

MESSAGE_SECONDS = 0.5  # between two messages about a training
CHECKPOINT_SECONDS = 30.0  # at most, between two checkpoints of a training
PROGRESS_SECONDS = 120.0  # between two copies of an unfinished training in the store

Send = Callable[["Message"], None]


class MessageKind(Enum):
    """What a node tells the driver about a job."""

    STARTED = "started"
    LOG = "log"
    BEGIN = "begin"
    WRITE = "write"
    END = "end"


@dataclass(frozen=True)
class Message:
    """Something that a node tells the driver about a job."""

    job: str
    kind: MessageKind
    content: Any = None


@dataclass(frozen=True)
class JobRequest:
    """A job for a node, and where its inputs and its result are. It holds no secrets."""

    job: Job
    store: SharedStore
    driver: str
    home: Path
    """Where the driver has its own copies of jobs."""
    cpus: int
    lease: float
    scratch: Path | None
    """Where nodes work; a temporary directory if not given."""
    progress_seconds: float = PROGRESS_SECONDS
    stale: bytes | None = None
    """The content of somebody's claim that has not changed for the time of a lease."""


class OutcomeKind(Enum):
    """How an attempt at a job ended."""

    DONE = "done"
    BUSY = "busy"  # somebody else works at it
    FAILED = "failed"


@dataclass(frozen=True)
class JobOutcome:
    """How an attempt at a job ended, where, and why."""

    kind: OutcomeKind
    node: str
    reason: str = ""


def perform(request: JobRequest, send: Send) -> JobOutcome:
    """Do a job that is not done and that nobody else does; store its result."""
    keep_compiled_programs()
    use_cores(request.cpus)
    node = platform.node()
    name = request.job.name
    try:
        if request.store.is_complete(name):
            return JobOutcome(OutcomeKind.DONE, node)
        claim = acquire(request.store, name, request.driver, request.stale, request.lease)
        if claim is None:
            return JobOutcome(OutcomeKind.BUSY, node)
        send(Message(name, MessageKind.STARTED, node))
        with claim, _scratch(request.scratch) as root:
            _perform_claimed(request, claim, root, send)
    except ClaimLostError:
        return JobOutcome(OutcomeKind.BUSY, node)
    except InputError as error:
        return JobOutcome(OutcomeKind.FAILED, node, str(error))
    return JobOutcome(OutcomeKind.DONE, node)


def _perform_claimed(request: JobRequest, claim: JobClaim, root: Path, send: Send) -> None:
    job, shared = request.job, request.store
    local = JobStore(root)
    for job_input in job.inputs.values():
        shared.fetch(job_input.name, local.directory(job_input))
    directory = local.directory(job)
    shared.resume(job.name, directory)
    local.plan([job])

    def log(text: str) -> None:
        send(Message(job.name, MessageKind.LOG, text))

    writers: Sequence[MetricsWriter] = (
        MessageWriter(job.name, send),
        Safekeeping(claim, directory, request.progress_seconds),
    )
    # What is copied should be recent.
    checkpoint_seconds = min(CHECKPOINT_SECONDS, request.progress_seconds)
    local.perform(job, writers, log, request.home, checkpoint_seconds)
    claim.check()
    shared.publish(job.name, directory)


class MessageWriter:
    """Tells the driver about a training, some times a second at most."""

    def __init__(self, name: str, send: Send) -> None:
        """Nothing is sent yet."""
        self._name = name
        self._send = send
        self._sent = 0.0
        self._unsent: MetricsLine | None = None

    def begin(self, run_config: Mapping[str, Any]) -> None:
        """Send what a display needs."""
        self._send(Message(self._name, MessageKind.BEGIN, run_config))

    def write(self, line: MetricsLine) -> None:
        """Send the metrics of an iteration, or keep them for now."""
        self._unsent = line
        if time.monotonic() - self._sent >= MESSAGE_SECONDS:
            self._flush()

    def end(self) -> None:
        """Send what is left."""
        self._flush()
        self._send(Message(self._name, MessageKind.END))

    def _flush(self) -> None:
        if self._unsent is not None:
            self._send(Message(self._name, MessageKind.WRITE, self._unsent))
        self._unsent = None
        self._sent = time.monotonic()


class Safekeeping:
    """Copies an unfinished training to the store now and then, and stops it if its claim is lost.

    It is called between iterations, when no file of the run is being written.
    """

    def __init__(self, claim: JobClaim, directory: Path, seconds: float) -> None:
        """Nothing is copied yet; `seconds` lie between two copies."""
        self._claim = claim
        self._directory = directory
        self._seconds = seconds
        self._copied = time.monotonic()

    def begin(self, run_config: Mapping[str, Any]) -> None:
        """Count the time from here."""
        self._copied = time.monotonic()

    def write(self, line: MetricsLine) -> None:
        """Copy, if it is time."""
        self._claim.check()
        if time.monotonic() - self._copied >= self._seconds:
            claim = self._claim
            claim.store.save_progress(claim.name, claim.number, self._directory)
            self._copied = time.monotonic()

    def end(self) -> None:
        """The result is stored by whoever runs the job."""


@contextmanager
def _scratch(parent: Path | None) -> Iterator[Path]:
    """A directory to work in; those that killed processes left are deleted first."""
    root = parent or Path(tempfile.gettempdir()) / f"cochef-{Path.home().name}"
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise InputError(
            f"{root}: cannot be written ({error.strerror}); give another --scratch"
        ) from error
    with ExitStack() as stack:
        with (root / ".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for path in root.iterdir():
                if path.is_dir() and _is_abandoned(path):
                    shutil.rmtree(path, ignore_errors=True)
            directory = Path(tempfile.mkdtemp(dir=root))
            own = stack.enter_context((directory / ".lock").open("a"))
            fcntl.flock(own, fcntl.LOCK_EX)
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)


def _is_abandoned(directory: Path) -> bool:
    """Whether the process that worked in a directory is gone."""
    try:
        with (directory / ".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # not one of ours
        return False
    return True
