"""Ctrl-C at any moment of any command: a sentence, exit code 130, and nothing stored is lost."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from tests.web.serving import free_port

PATIENCE = 600.0  # seconds within which a command must have begun, or ended; machines are busy
_STARTED = []


@pytest.fixture(autouse=True)
def _nothing_is_left_running():
    yield
    while _STARTED:
        with _STARTED.pop() as process:
            process.kill()


def start(*words, cwd):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "cochef", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=environment,
    )
    _STARTED.append(process)
    return process


def interrupt(process):
    """Press Ctrl-C: exit code, all that it printed, and how long it took to leave."""
    process.send_signal(signal.SIGINT)
    pressed = time.monotonic()
    printed = "".join(process.communicate(timeout=PATIENCE))
    return process.returncode, printed, time.monotonic() - pressed


def lasts(words, place, at_most=40.0):
    """How long a command that nobody interrupts goes on after it watches for Ctrl-C.

    It runs elsewhere, so that nothing that it would make is there already.
    """
    with tempfile.TemporaryDirectory(dir=place) as elsewhere:
        moved = [Path(elsewhere, "runs") if word == place / "runs" else word for word in words]
        process = start(*moved, cwd=elsewhere)
        while process.poll() is None and not watches(process):
            time.sleep(0.01)
        began = time.monotonic()
        try:
            process.communicate(timeout=at_most)
            assert process.returncode == 0, words
        except subprocess.TimeoutExpired:
            process.kill()  # a server does not end by itself
            process.communicate()
        return time.monotonic() - began


def interrupted_after(seconds, *words, cwd):
    """A command after Ctrl-C so long after it watches for it, or None if it had ended before."""
    process = start(*words, cwd=cwd)
    while process.poll() is None and not watches(process):
        time.sleep(0.01)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        found = interrupt(process)
        # Its work was done, and it was only leaving: as if nobody had interrupted.
        return None if found[0] == 0 else found
    assert process.returncode == 0, process.communicate()[1]
    process.communicate()
    return None


def wait_for(process, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end, "the command does not come that far"
        time.sleep(0.01)


def metrics(directory):
    path = directory / "metrics.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def checkpoints(directory):
    return sorted(int(path.name.split(".")[0]) for path in (directory / "checkpoints").iterdir())


def answers(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def watches(process, out=None):
    """Whether the command watches for Ctrl-C, which it does in a second thread."""
    return len([*Path(f"/proc/{process.pid}/task").iterdir()]) > 1


def loads_jax(process, out):
    """Whether the command has begun to load JAX."""
    return "jaxlib" in Path(f"/proc/{process.pid}/maps").read_text()


def plays(process, out):
    """Whether the command has come to the episodes, which begin with compiling."""
    return out.exists()


@pytest.mark.parametrize("moment", [watches, loads_jax, plays])
def test_an_evaluation_ends_at_once_and_writes_nothing(narrow, tmp_path, moment):
    words = ("evaluate", "--layout", narrow, "--agents", "random", "script:delivery")
    out = tmp_path / "results"
    process = start(*words, "--out", out, cwd=tmp_path)
    wait_for(process, lambda: moment(process, out))
    code, printed, seconds = interrupt(process)
    assert code == 130
    last = printed.splitlines()[-1]
    assert last in ("interrupted", "interrupted; nothing of this evaluation was written")
    assert "Traceback" not in printed
    assert seconds < 60.0  # also while a program is compiled; the machine may be busy
    assert not out.exists() or not [*out.iterdir()]


def test_a_training_saves_before_it_leaves(narrow, tmp_path):
    out = tmp_path / "run"
    words = ("train", "sp", "--layout", narrow, "--preset", "smoke", "--members", "1")
    words += ("--steps", 320 * 2000, "--out", out)
    process = start(*words, cwd=tmp_path)
    wait_for(process, lambda: len(metrics(out)) > 2)
    code, printed, _ = interrupt(process)
    assert code == 130
    assert "saving, then leaving" in printed
    assert printed.endswith("interrupted; the same command resumes from the last checkpoint\n")
    assert checkpoints(out)[-1] == len(metrics(out))  # the very last iteration is saved


def test_a_server_stops_in_order(tmp_path):
    port = free_port()
    words = ("play", "--layouts", "cramped_room", "--port", port, "--no-browser")
    process = start(*words, cwd=tmp_path)
    wait_for(process, lambda: answers(port))
    code, printed, _ = interrupt(process)
    assert (code, printed.splitlines()[-1]) == (130, "stopped")
    assert "Traceback" not in printed


def stored(root):
    """All that must not change: finished jobs and records, by path."""
    found = {}
    for sign in (*root.rglob("done.json"), *root.rglob("manifest.json")):
        for path in sign.parent.rglob("*"):
            if path.is_file() and path.suffix not in (".pdf", ".svg", ".md", ".tex", ".lock"):
                found[path] = path.read_bytes()
    return found


@pytest.mark.long
def test_thirty_interruptions_at_random_moments_lose_nothing(narrow, tmp_path, capsys):
    run = ("run", "--layout", narrow, "--method", "hsp", "fcp", "--preset", "smoke", "--out")
    records = tmp_path / "records"
    evaluate = ("evaluate", "--layout", narrow, "--agents", "stay", "random", "--episodes", "3")
    done = start(*evaluate, "--out", records, cwd=tmp_path)
    assert done.wait(PATIENCE) == 0
    commands = [
        (*run, tmp_path / "runs"),
        (*run, tmp_path / "runs"),
        ("train", "hsp", "--layout", narrow, "--preset", "smoke", "--steps", "64000"),
        (*evaluate, "--out", records),
        ("table", records),
        ("watch", "--layout", narrow, "--agents", "random", "stay", "--out", "film.gif"),
        ("watch", "--layout", narrow, "--agents", "random", "stay", "--out", "film.mp4"),
        ("play", "--port", free_port(), "--no-browser"),
        # Simulated: without people, nobody has to be named whom they can contact.
        ("study", "serve", "paper", "--simulated", "--port", free_port()),
        ("partners",),
        ("human-likeness", "--layouts", "cramped_room", "--episodes", "2"),
        ("clone", "--layouts", "cramped_room"),
        ("bench", "kitchen", "--quick"),
        ("--help",),
        ("doctor",),
    ]
    durations = {words: lasts(words, tmp_path) for words in dict.fromkeys(commands)}
    with capsys.disabled():
        print({" ".join(map(str, words)): round(found, 1) for words, found in durations.items()})
    moments = np.random.default_rng(20)
    codes = []
    for number in range(30):
        words = commands[number % len(commands)]
        before = stored(tmp_path)
        moment = moments.uniform(0.0, durations[words])
        found = interrupted_after(moment, *words, cwd=tmp_path)
        for path, content in before.items():
            assert path.read_bytes() == content, path
        assert not [*tmp_path.rglob(".*.part")]
        codes.append((words[0], round(moment, 1), None if found is None else found[0]))
        if found is not None:
            code, printed, _ = found
            assert code == 130, (words, moment, code, printed)
            assert "Traceback" not in printed, (words, moment, printed)
            assert printed.splitlines()[-1].startswith(("interrupted", "stopped")), printed
    with capsys.disabled():
        print(json.dumps(codes))
    assert sum(code == 130 for *_, code in codes) > 20
    # The interrupted run ends as one that nobody disturbed.
    for root in (tmp_path / "runs", tmp_path / "undisturbed"):
        process = start(*run, root, cwd=tmp_path)
        process.communicate(timeout=3 * PATIENCE)  # all of its jobs, one after the other
        assert process.returncode == 0
    names = sorted(path.parent.name for path in tmp_path.glob("runs/jobs/*/episodes.csv"))
    assert len(names) == 2
    for name in names:
        there = tmp_path / "runs" / "jobs" / name / "episodes.csv"
        undisturbed = tmp_path / "undisturbed" / "jobs" / name / "episodes.csv"
        assert there.read_bytes() == undisturbed.read_bytes()
