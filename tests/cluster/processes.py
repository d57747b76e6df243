"""Processes of tests, none of which is waited for without end."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-c", "from cochef.cli.main import main; main()"]
RUN_SECONDS = 300.0  # far more than any of these needs, also on a busy machine


def start(command, stderr=subprocess.STDOUT, **more):
    return subprocess.Popen(
        [*map(str, command)],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        cwd=REPOSITORY,
        **more,
    )


def output(process, seconds=RUN_SECONDS):
    """What a process printed; one that does not end is killed, and the test fails."""
    try:
        return process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        printed = process.communicate(timeout=seconds)
    pytest.fail(f"no end after {seconds:.0f} seconds; it printed {printed}")


def wait_until(found, process, what, seconds=RUN_SECONDS):
    """Wait for what a running process brings about; return it."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        result = found()
        if result:
            return result
        if process.poll() is not None:
            pytest.fail(f"the process ended before {what}; it printed {output(process)}")
        time.sleep(0.05)
    process.kill()
    pytest.fail(f"not {what} after {seconds:.0f} seconds; it printed {output(process)}")


class Drivers:
    """A process that is one driver after the other, of small jobs or by a command; a context."""

    def __enter__(self):
        self._process = start(
            [sys.executable, "-m", "tests.cluster.driver"], stderr=None, stdin=subprocess.PIPE
        )
        self.pid = self._process.pid
        return self

    def __exit__(self, *_):
        self._process.communicate(timeout=RUN_SECONDS)

    def drive(self, settings, **changes):
        """What the last job wrote, or an error, and the log."""
        return self._ask(settings | changes)

    def smoke(self, narrow, out, *more, address=None):
        """Train, evaluate and report on a method, here or on a cluster; what it logged."""
        words = smoke_words(narrow, out, *more)
        if address is not None:
            words += ["--engine", "ray", "--address", address]
        code, printed = self.command(words, address)
        assert code == 0, printed
        return printed

    def command(self, words, address=None):
        """Run a command, connected to a cluster: its exit code and all it printed."""
        found = self._ask({"words": [*map(str, words)], "address": address})
        return found["code"], found["printed"]

    def _ask(self, question):
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        timer = threading.Timer(RUN_SECONDS, self._process.kill)
        timer.start()
        line = self._process.stdout.readline()
        timer.cancel()
        return json.loads(line)


def driver(settings, **changes):
    """A driver of small jobs in a process of its own."""
    return start([sys.executable, "-m", "tests.cluster.driver", json.dumps(settings | changes)])


def finish(settings, **changes):
    """Run a driver to its end: its last line, and those before."""
    printed = output(driver(settings, **changes))[0].splitlines()
    return printed[-1], printed[:-1]


def smoke_words(narrow, out, *more):
    """Train, evaluate and report on a method, populations in shards of one member."""
    words = ["run", "--layout", narrow, "--method", "fcp", "--preset", "smoke"]
    return [*words, "--shard-members", 1, "--out", out, *more]


def smoke_process(narrow, out, *more):
    """A process that does so."""
    return start([*PROGRAM, *smoke_words(narrow, out, *more)], stderr=subprocess.PIPE)


def smoke(narrow, out, *more):
    """Do so to the end; what it logged."""
    process = smoke_process(narrow, out, *more)
    logged = output(process)[1]
    assert process.returncode == 0, logged
    return logged
