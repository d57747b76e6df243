"""Wrong inputs, each with its message: what was wrong, the value, and what is allowed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOM = ("--layout", "cramped_room")
EVALUATE = ("evaluate", *ROOM, "--agents")
LAYOUTS = "known: asymmetric_advantages, coordination_ring"

# These are refused before JAX is loaded, which takes seconds. EMPTY is an empty directory.
AT_ONCE = [
    (("evalute",), "unknown command 'evalute'; did you mean evaluate? known: "),
    (("trian", "hsp"), "unknown command 'trian'; did you mean train?"),
    (("layout",), "did you mean layouts?"),
    (("Watch",), "did you mean watch?"),
    (("xyz",), "unknown command 'xyz'; known: "),
    (("pool", "lst"), "unknown pool command 'lst'; did you mean list? known: show, list"),
    (("study", "serv"), "unknown study command 'serv'; did you mean serve?"),
    (("bench", "kitchn"), "unknown bench command 'kitchn'; did you mean kitchen?"),
    (("layouts", "chek", "a.toml"), "did you mean check? known: list, check"),
    (("pool",), "Expected one of {show, list, make, train"),
    (("study",), "Expected one of {"),
    (("--verison",), "option before a command '--verison'; did you mean --version? known: -h, --h"),
    (("--layout", "cramped_room", "watch"), "before a command '--layout'; known: -h"),
    (("watch", "--layuot", "cramped_room"), "--layout"),
    (("watch", "--layout"), "Missing value for argument '--layout'"),
    (("watch", "--layout", "cramped"), f"'cramped'; did you mean cramped_room? {LAYOUTS}"),
    (("watch", "--layout", "Coordination_Ring"), "did you mean coordination_ring?"),
    (("watch", "--layout", "missing.toml"), "missing.toml: no such file; give the path of a"),
    (("watch", "--layout", ""), "unknown layout ''; known: "),
    (("watch", "--seed", "-1"), "seed is -1; it takes a whole number from 0 to 4294967295"),
    (
        ("watch", "--seed", "4294967296"),
        "seed is 4294967296; it takes a whole number from 0 to 4294967295",
    ),
    (("watch", "--seed", "zero"), "Error parsing --seed: 'zero' is no whole number"),
    (("watch", "--steps", "0"), "steps is 0; it takes a whole number from 1"),
    (("watch", "--speed", "0"), "speed is 0.0; it takes a number above 0, up to 60 steps a second"),
    (("watch", "--speed", "nan"), "speed is nan; it takes a number above 0"),
    (("watch", "--speed", "fast"), "Error parsing --speed: 'fast' is no number"),
    (("watch", "--out", "film.avi"), "unknown ending of 'film.avi'; known: .gif, .mp4"),
    (("watch", "--agents", "random"), "Missing value for argument '--agents'. Expected 2"),
    (("evaluate", "--layout", "ring", "--agents", "stay"), "did you mean coordination_ring?"),
    (("evaluate", "--agents", "random"), "Missing from cochef evaluate: --layout"),
    (("evaluate", *ROOM), "Missing from cochef evaluate: --agents"),
    ((*EVALUATE,), "no agents; give at least one, such as --agents script:delivery"),
    ((*EVALUATE, "stay", "--episodes", "0"), "episodes is 0; it takes a number from 1 to 100000"),
    ((*EVALUATE, "stay", "--episodes", "1.5"), "--episodes: '1.5' is no whole number"),
    ((*EVALUATE, "stay", "--episodes", "1000000"), "it takes a number from 1 to 100000"),
    ((*EVALUATE, "stay", "--figures", "gif"), "invalid choice 'gif' for argument '--figures'"),
    (("table",), "no directory; give what was given to `cochef evaluate --out`"),
    (("run",), "Missing from cochef run: --layout"),
    (("run", "--layout", "counter-circuit"), "did you mean counter_circuit?"),
    (("run", *ROOM, "--method", "hps"), "invalid choice 'hps' for argument '--method'"),
    (("run", *ROOM, "--preset", "huge"), "Expected one of ('smoke', 'quick'"),
    (("run", *ROOM, "--from", "nowhere"), "invalid choice 'nowhere' for argument '--from'"),
    (("run", *ROOM, "--seed", "-5"), "seed is -5; it takes a whole number from 0 to 4294967295"),
    (("run", *ROOM, "--steps", "many"), "Error parsing --steps: 'many' is no whole number"),
    (("train", *ROOM), "Missing from cochef train: {hsp"),
    (("train", "nobody", *ROOM), "invalid choice 'nobody' for argument 'method'"),
    (("train", "sp", "--layout", "cramped_roomy"), "did you mean cramped_room?"),
    (("train", "sp", *ROOM, "--members", "many"), "--members: 'many' is no whole number"),
    (("status", "--out", "EMPTY"), "no jobs in it; give what was given to `cochef run --out`"),
    (("ship", "--layout", "cramped_rom"), "did you mean cramped_room?"),
    (("human-likeness", "--out", "a.jpg"), "unknown ending of 'a.jpg'; known: .png, .svg, .pdf"),
    (("human-likeness", "--episodes", "0"), "episodes is 0; it takes a number from 1 to 10000"),
    (("human-likeness", "--layouts"), "no layouts; give at least one that people played"),
    (("play", "--capacity", "0"), "capacity is 0; it takes a whole number from 1 to 1000"),
    (("play", "--port", "abc"), "Error parsing --port: 'abc' is no whole number"),
    (("study", "withdraw", "one"), "'one' is no whole number"),
    (("replay",), "no files; give files of recorded episodes"),
    (("layouts", "check"), "no files; give layout files (.toml)"),
    (("pool", "train", "EMPTY"), "Missing from cochef pool train: --out"),
]

WITH_JAX = [
    (("table", "EMPTY"), "no records there"),
    (("partners", "--layout", "cramped"), "did you mean cramped_room?"),
    (
        (*EVALUATE, "scrip:delivery"),
        "'scrip:delivery'; did you mean script:delivery?",
    ),
    ((*EVALUATE, "hsp"), "write hsp:LAYOUT; there are: asymmetric_advantages"),
    ((*EVALUATE, "hsp:cramped_room"), "no hsp for 'cramped_room' ships; there are: "),
    ((*EVALUATE, "human-proxy:cramped"), "did you mean cramped_room?"),
    ((*EVALUATE, "stay", "--partners", "script:delivry"), "'delivry'; did you mean delivery?"),
    (
        (*EVALUATE, "stay", "--partners", "script:tomato_placement"),
        "makes no sense in cramped",
    ),
    ((*EVALUATE, "random@noise=2"), "noise is '2'; it takes a number from 0 to 1"),
    ((*EVALUATE, "random@speed=1"), "unknown change 'speed=1' of an agent; allowed: noise"),
    ((*EVALUATE, "0.5*random+stay"), "'stay' has no weight; a mixture is 0.3*NAME+0.7*NAME"),
    ((*EVALUATE, "a=random;stay", "a=stay"), "label 'a' is given twice"),
    (("pool", "list", "EMPTY"), "no pools below it; `cochef run` makes them"),
    (("pool", "show", "EMPTY"), "give the path of a pool (see `cochef pool list`)"),
    (("preferences", "EMPTY"), "no biased policies in it"),
    (("run", *ROOM, "--steps", "0"), "steps is 0; it takes a whole number from 1"),
    (("run", *ROOM, "--episodes", "0"), "episodes is 0; it takes a whole number from 1 to 100000"),
    (("run", *ROOM, "--kept", "99"), "kept is 99; of 36 biased it takes up to 36"),
    (("run", *ROOM, "--pool", "nothing"), "unknown pool 'nothing'; known: double, no-filter"),
    (("run", *ROOM, "--method", "hsp", "hsp"), "it takes some of hsp, fcp"),
    (("replay", "EMPTY/missing.jsonl"), "give a file of recorded episodes"),
    (("layouts", "check", "EMPTY/missing.toml"), "give the path of a layout file"),
    (("human", "convert", "EMPTY/missing.tar.gz"), "give the path of overcooked_ai-1.1.0.tar.gz"),
    (("train", "sp", *ROOM, "--members", "0"), "members is 0; it takes a whole number from 1"),
    (("train", "hsp", *ROOM, "--biased-shaping", "never"), "allowed: none, annealed, constant"),
    (("clone", "--layouts", "many_orders", "--out", "EMPTY"), "nobody played 'many_orders'"),
]

CASES = [*AT_ONCE, *WITH_JAX]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What each of these commands answers, by its words; all run in one process, in order."""
    empty = tmp_path_factory.mktemp("empty")
    commands = [[word.replace("EMPTY", str(empty)) for word in words] for words, _ in CASES]
    # A wide terminal, so that no message is folded.
    environment = os.environ | {"COLUMNS": "300", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.answering"],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env=environment,
    )
    return dict(zip([words for words, _ in CASES], json.loads(done.stdout), strict=True))


@pytest.mark.parametrize(("words", "message"), CASES, ids=[" ".join(words) for words, _ in CASES])
def test_a_wrong_input_is_answered_by_what_is_wrong_and_what_is_allowed(answers, words, message):
    answer = answers[words]
    text = " ".join(re.sub("[│─╭╮╰╯]", " ", answer["text"]).split())
    assert answer["code"] == 2, text
    assert message in text
    assert "Traceback" not in text


def test_most_wrong_inputs_are_answered_before_jax_is_loaded(answers):
    assert len(CASES) > 60
    late = [" ".join(words) for words, _ in AT_ONCE if answers[words]["jax"]]
    assert not late
