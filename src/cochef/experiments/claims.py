"""Claims: who works at a job in a shared store, so that nobody does it twice.

A claim is a file with a number. Whoever creates the file with the next number holds the job, and
creating a file is atomic; no claim is ever deleted. The holder changes the content of its claim
again and again. A claim whose content has not changed for LEASE seconds, by the clock of the one
who looks, is stale: its holder is gone, and the next number may be created. A holder who was only
slow sees the higher number and gives up. So clocks need not agree, and where all this is not
enough, a job is done twice with the same result, and the first one counts.
"""

import json
import os
import platform
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

from cochef.errors import InputError
from cochef.experiments.shared_store import SharedStore

LEASE = 30.0  # seconds
BEATS = 6  # how often a claim is renewed in this time


class ClaimLostError(Exception):
    """Somebody else has claimed the job, because this process was silent for too long."""


@dataclass(frozen=True)
class SeenClaim:
    """A claim as it was seen in the store."""

    number: int
    content: bytes

    @property
    def driver(self) -> str | None:
        """The driver that works at the job; None if it has given up."""
        with suppress(ValueError, KeyError, TypeError):
            return json.loads(self.content)["driver"]
        return ""  # just being written


def latest(store: SharedStore, name: str) -> SeenClaim | None:
    """The claim of whoever works at a job, or did."""
    numbers = [int(text) for text in store.names(name, "claims") if text.isdecimal()]
    if not numbers:
        return None
    number = max(numbers)
    return SeenClaim(number, store.read(_path(store, name, number)) or b"")


def attempts(store: SharedStore, name: str) -> int:
    """How often somebody has begun to work at a job."""
    return len(store.names(name, "claims"))


@dataclass
class JobClaim:
    """A job that this process holds; use it as a context."""

    store: SharedStore
    name: str
    number: int
    driver: str
    lease: float = LEASE
    _lost: threading.Event = field(default_factory=threading.Event)
    _ended: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "JobClaim":
        """Renew the claim from now on."""
        threading.Thread(target=self._renew, daemon=True).start()
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        """End it; after an error others may try at once."""
        self._ended.set()
        if kind is not None and not self._lost.is_set():
            with suppress(InputError):
                self._write(None, 0)

    def check(self) -> None:
        """Raise an error if somebody else holds the job by now."""
        if self._lost.is_set():
            raise ClaimLostError(self.name)

    def _renew(self) -> None:
        beat = 0
        while not self._ended.wait(self.lease / BEATS):
            beat += 1
            try:
                seen = latest(self.store, self.name)
                if seen is not None and seen.number > self.number:
                    self._lost.set()
                    return
                self._write(self.driver, beat)
            except InputError:  # perhaps it works again in a moment; if not, others take over
                continue

    def _write(self, driver: str | None, beat: int) -> None:
        content = claim_content(driver, beat)
        self.store.write(_path(self.store, self.name, self.number), content)


def claim_content(driver: str | None, beat: int) -> bytes:
    """The content of a claim; for people it also says where its holder runs."""
    table = {"driver": driver, "host": platform.node(), "process": os.getpid(), "beat": beat}
    return json.dumps(table).encode()


def acquire(
    store: SharedStore, name: str, driver: str, stale: bytes | None = None, lease: float = LEASE
) -> JobClaim | None:
    """Claim a job; None if somebody else works at it.

    A claim of the same `driver` is of an attempt that died: a driver has one at a time. `stale` is
    the content of a claim that the driver has not seen changing for the time of a lease.
    """
    seen = latest(store, name)
    if seen is not None and seen.driver not in (None, driver) and seen.content != stale:
        return None
    number = 1 if seen is None else seen.number + 1
    if not store.create(_path(store, name, number), claim_content(driver, 0)):
        return None
    return JobClaim(store, name, number, driver, lease)


@dataclass
class StaleWatch:
    """Watches the claims of others, and tells when one is stale."""

    store: SharedStore
    lease: float = LEASE
    _seen: dict[str, tuple[bytes, float]] = field(default_factory=dict)

    def stale(self, name: str) -> bytes | None:
        """The content of a job's claim, if it has not changed for the time of a lease."""
        claim = latest(self.store, name)
        content = b"" if claim is None else claim.content
        before, since = self._seen.get(name, (None, 0.0))
        if content != before:
            self._seen[name] = (content, time.monotonic())
            return None
        return content if time.monotonic() - since >= self.lease else None

    def is_free(self, name: str) -> bool:
        """Whether nobody works at a job any more: its holder has given up."""
        claim = latest(self.store, name)
        return claim is None or claim.driver is None


def _path(store: SharedStore, name: str, number: int) -> str:
    return store.path(name, "claims", f"{number:06}")
