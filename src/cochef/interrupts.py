"""Ctrl-C: a command leaves at once with a sentence, and a training saves before it leaves.

Python turns Ctrl-C into an exception wherever the main thread is. Inside of JAX that may be lost,
crash the interpreter, or wait until a program is compiled. So the command line watches for it in a
thread of its own, which ends the process: what is on disk is whole at any time (`files.py`).
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EXIT_CODE = 130  # what shells expect after Ctrl-C

_SHOW_CURSOR = "\x1b[?25h"  # progress bars hide it
_DRAIN = 0  # no signal has this number
_MOST_SECONDS = 10.0  # that leaving waits for a file that is being written


class _Watch:
    """What Ctrl-C does now."""

    def __init__(self) -> None:
        self.installed = False
        self.sentence = "interrupted"
        self.deferrals = 0
        self.requested = False
        self.instead: Callable[[], object] | None = None
        self.cleanups: list[Callable[[], object]] = []
        self.pipe = -1  # what the watching thread reads
        self.drained = threading.Event()
        # Held while a file is written, and for ever by whoever ends the process.
        self.writing = threading.RLock()


_WATCH = _Watch()


def install() -> None:
    """Watch for Ctrl-C from now on; for the entry point of a program, in its main thread."""
    if _WATCH.installed:
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, _do_nothing)
    _WATCH.installed = True
    _WATCH.pipe = writing
    threading.Thread(target=_watch, args=(reading,), name="ctrl-c", daemon=True).start()


def stop_watching() -> None:
    """Let a command whose work is done end by itself: Ctrl-C has no effect any more.

    Otherwise Python's own end, which restores the system's handler, would be cut off by the signal.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def explain(sentence: str) -> None:
    """Say what leaving means from now on, such as how to resume."""
    _WATCH.sentence = sentence


def sentence() -> str:
    """What is said when Ctrl-C ends the command."""
    return _WATCH.sentence


@contextmanager
def writing() -> Iterator[None]:
    """A file is written here: the process is not left in between."""
    with _WATCH.writing:
        yield


@contextmanager
def cleaning_up(action: Callable[[], object]) -> Iterator[None]:
    """Do this if Ctrl-C ends the process in here, such as ending another process."""
    _WATCH.cleanups.append(action)
    try:
        yield
    finally:
        _WATCH.cleanups.remove(action)


@contextmanager
def stopping_by(action: Callable[[], object]) -> Iterator[None]:
    """Ctrl-C in here only does this, which makes the block end, such as a server's stop.

    If the block installs a handler of its own, that one is in charge.
    """
    before = _WATCH.instead
    _WATCH.instead = action
    try:
        yield
    finally:
        _drain()
        _WATCH.instead = before


def _drain() -> None:
    """Wait until what was pressed is dealt with: servers raise Ctrl-C again at their end."""
    if _WATCH.installed:
        _WATCH.drained.clear()
        os.write(_WATCH.pipe, bytes([_DRAIN]))
        _WATCH.drained.wait(_MOST_SECONDS)


@contextmanager
def as_exception() -> Iterator[None]:
    """Ctrl-C in here raises a KeyboardInterrupt, as in any Python program; for code without JAX."""
    if not _WATCH.installed:
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


class Deferral:
    """Whether Ctrl-C was pressed while it was deferred."""

    @property
    def requested(self) -> bool:
        """Whether somebody wants to leave."""
        return _WATCH.requested


@contextmanager
def deferred() -> Iterator[Deferral]:
    """The first Ctrl-C in here only asks to leave; the second one is as usual.

    Whoever defers looks at `requested` where it is safe, and raises a KeyboardInterrupt. Outside of
    the main thread nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield Deferral()
        return
    handler = None
    if not _WATCH.installed:
        handler = signal.signal(signal.SIGINT, _ask_first)
    _WATCH.deferrals += 1
    try:
        yield Deferral()
    finally:
        _WATCH.deferrals -= 1
        _WATCH.requested = False
        if handler is not None:
            signal.signal(signal.SIGINT, handler)


def _do_nothing(number: int, frame: object) -> None:
    """The watching thread does it all."""


def _ask_first(number: int, frame: object) -> None:
    """Ctrl-C while it is deferred, where nobody watches for it: in a program of somebody else."""
    if _WATCH.requested:
        raise KeyboardInterrupt
    _request()


def _request() -> None:
    _WATCH.requested = True
    _say("saving, then leaving; Ctrl-C again leaves at once")


def _watch(reading: int) -> None:
    while True:
        for number in os.read(reading, 1):
            if number == _DRAIN:
                _WATCH.drained.set()
            # Whoever has installed another handler, such as a web server, handles it.
            if number != signal.SIGINT or signal.getsignal(signal.SIGINT) is not _do_nothing:
                continue
            if _WATCH.instead is not None:
                _WATCH.instead()
            elif _WATCH.deferrals and not _WATCH.requested:
                _request()
            else:
                _leave()


def _leave() -> None:
    """End the process, but not within a file that is being written."""
    _WATCH.writing.acquire(timeout=_MOST_SECONDS)
    for action in reversed(_WATCH.cleanups):
        action()
    _say(_WATCH.sentence)
    os._exit(EXIT_CODE)


def _say(text: str) -> None:
    """Write a line to standard error, whatever its buffer and the main thread are doing."""
    start = f"{_SHOW_CURSOR}\n" if sys.stderr is not None and os.isatty(2) else ""
    try:
        os.write(2, f"{start}{text}\n".encode())
    except OSError:  # nobody reads it
        return
