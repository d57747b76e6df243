"""Kill -9 at random moments: a run resumes, and ends as if nothing had happened."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.learning.small_runs import outcome
from tests.narrow_layout import NARROW

PROGRAM = """
import sys
from pathlib import Path
from cochef.runtime import use_all_cores
use_all_cores()
from cochef.experiments.pipeline import population
from cochef.kitchen import layouts
from cochef.learning import runs
method, directory, iterations = sys.argv[1:]
layout = layouts.read(Path(directory).parent / "narrow.toml")
stage = population(method, layout, "smoke", steps=320 * int(iterations))
runs.train(stage.trainer, Path(directory), stage.config, checkpoint_seconds=0.05)
"""
START_SECONDS = 8.0  # about what a process takes to begin learning


def worker(method, directory, iterations):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, method, str(directory), str(iterations)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(method, directory, iterations):
    process = worker(method, directory, iterations)
    complaint = process.communicate()[1]
    assert process.returncode == 0, complaint


def lines(directory):
    path = directory / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def kill(method, directory, iterations, moments):
    """Start a process and kill it at a random moment; whether it was still alive.

    Mostly that is after some more iterations.
    """
    process = worker(method, directory, iterations)
    if moments.random() < 0.2:
        time.sleep(moments.uniform(0.0, START_SECONDS))
    else:
        wait_for_lines(process, directory / "metrics.jsonl", moments.integers(1, 12))
        time.sleep(moments.uniform(0.0, 0.05))
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return alive


def wait_for_lines(process, path, count):
    """Wait until a process has written so many lines, as far as one sees, or is no more."""
    written = 0
    changed = path.stat().st_mtime_ns if path.exists() else None
    while written < count and process.poll() is None:
        time.sleep(0.002)
        now = path.stat().st_mtime_ns if path.exists() else None
        written += now != changed
        changed = now


def check(method, directory, iterations, kills, seed):
    """Kill runs so often in all, let them finish, and compare them to one left alone.

    Returns after which iteration each kill came.
    """
    (directory / "narrow.toml").write_text(NARROW)
    finish(method, directory / "undisturbed", iterations)
    moments = np.random.default_rng(seed)
    reached = []
    run = directory / "killed"
    while len(reached) < kills:
        if kill(method, run, iterations, moments):
            reached.append(lines(run))
        else:  # it was quicker
            assert outcome(run) == outcome(directory / "undisturbed")
            run = directory / f"killed-{len(reached)}"
    finish(method, run, iterations)
    assert outcome(run) == outcome(directory / "undisturbed")
    return reached


def test_a_run_that_is_killed_ends_as_if_nothing_had_happened(tmp_path):
    (reached,) = check("hsp", tmp_path, iterations=60, kills=1, seed=0)
    assert reached > 0  # it had begun to learn


@pytest.mark.long
@pytest.mark.parametrize("method", ["sp", "mep", "trajdiv", "hsp"])
def test_thirteen_kills_change_nothing(method, tmp_path):
    reached = check(method, tmp_path, iterations=300, kills=13, seed=1)
    print(
        f"\n{method}: killed {len(reached)} times, after iterations {reached}; same bits in the end"
    )
