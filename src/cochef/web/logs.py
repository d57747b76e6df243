"""The server's log: on stderr, and bounded, so that nobody can fill the disk with it."""

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable

_WINDOW = 60.0  # seconds
_OF_A_KIND = 10  # records of one kind in a window
_OF_ALL = 200


class RepeatLimit(logging.Filter):
    """Lets a few records of each kind through in a minute, and says how many it held back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing has been logged yet."""
        super().__init__()
        self._clock = clock
        self._began = clock()
        self._seen: Counter[tuple[str, str, str]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is written."""
        now = self._clock()
        held = 0
        if now - self._began >= _WINDOW:
            held = sum(max(0, number - _OF_A_KIND) for number in self._seen.values())
            self._began = now
            self._seen.clear()
        error = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        kind = (record.name, str(record.msg)[:200], error)
        if self._seen.total() >= 2 * _OF_ALL and kind not in self._seen:
            kind = ("", "", "")  # kinds that somebody makes up are counted as one
        self._seen[kind] += 1
        if held:
            record.msg = f"{record.getMessage()} ({held} records like earlier ones were left out)"
            record.args = ()
        return self._seen[kind] <= _OF_A_KIND and len(self._seen) <= _OF_ALL


def install() -> None:
    """Write warnings and errors of all loggers to stderr, with a limit on repetitions."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(RepeatLimit())
    logging.getLogger().addHandler(handler)
