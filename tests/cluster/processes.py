"""Processes of tests, none of which is waited for without end."""

import json
import subprocess
import sys
import threading
import time

import pytest

from tests.cluster.conftest import REPOSITORY

PROGRAM = [sys.executable, "-c", "from cochef.cli.main import main; main()"]
RUN_SECONDS = 300.0  # far more than any of these needs, also on a busy machine


def start(command, stderr=subprocess.STDOUT):
    return subprocess.Popen(
        [*map(str, command)], stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=REPOSITORY
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


def first_line(process, seconds=RUN_SECONDS):
    """The first line that a process prints; it is killed then, or after some time."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    line = process.stdout.readline()
    timer.cancel()
    process.kill()
    output(process)
    return line


def driver(settings, **changes):
    """A driver of small jobs in a process of its own."""
    return start([sys.executable, "-m", "tests.cluster.driver", json.dumps(settings | changes)])


def finish(settings, **changes):
    """Run a driver to its end: its last line, and those before."""
    printed = output(driver(settings, **changes))[0].splitlines()
    return printed[-1], printed[:-1]


def smoke_process(narrow, out, *more):
    """Train, evaluate and report on a method, populations in shards of one member."""
    words = ["run", "--layout", narrow, "--method", "fcp", "--preset", "smoke"]
    words += ["--shard-members", 1, "--out", out, *more]
    return start([*PROGRAM, *words], stderr=subprocess.PIPE)


def smoke(narrow, out, *more):
    """Do so to the end; what it logged."""
    process = smoke_process(narrow, out, *more)
    logged = output(process)[1]
    assert process.returncode == 0, logged
    return logged
