"""The command line as a user meets it: arguments in, text and exit code out."""

import gzip
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np
import pytest

from cochef import methods
from cochef.agents.names import load
from cochef.cli import doctor
from cochef.cli.main import COMMANDS, CommandGroup
from cochef.kitchen import episodes, layouts
from cochef.rollout import record

ROOT = Path(__file__).parents[2]


def groups():
    return [
        (name, command) for name, command in COMMANDS.items() if isinstance(command, CommandGroup)
    ]


def every_command():
    """The words that start each command and subcommand."""
    below = [[name, sub] for name, group in groups() for sub in group.subcommands]
    return [[name] for name in COMMANDS] + below


@pytest.fixture(scope="module")
def episode():
    """A recorded episode as a line of text."""
    layout = layouts.get("cramped_room")
    pair = (load("script:onion_placement", layout), load("script:delivery", layout))
    played = jax.device_get(record(layout, pair, jax.random.key(0), 2))
    one = jax.tree.map(lambda leaf: leaf[:, 0], played)
    return episodes.write_line(layout, one, seed=0)


def test_help_names_every_command_and_says_what_it_does(cochef):
    code, text = cochef("--help")
    assert code == 0
    assert set(COMMANDS) == set(re.findall(r"^  ([a-z]\S+) +\S", text, re.MULTILINE))
    assert "\nMore\n" not in text  # every command is in a section
    assert cochef() == (2, text)


def test_the_version_is_that_of_the_package(cochef):
    code, text = cochef("--version")
    assert code == 0
    assert text.startswith(f"cochef {version('cochef')}")


def test_the_module_is_the_program():
    program = [sys.executable, "-m", "cochef", "--version"]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("cochef ")


def test_completion_for_a_shell_knows_the_commands():
    program = [sys.executable, "-m", "cochef", "--tyro-print-completion", "bash"]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert "human-likeness" in done.stdout


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (("layouts",), "name", "cramped_room"),
        (("partners",), "name", "script:onion_placement_and_delivery"),
        (("human",), "layout", "cramped_room"),
        (("doctor",), "what", "jax"),
        (("presets",), "name", "first_stage.kitchens"),
    ],
)
def test_what_a_table_shows_is_also_there_as_json(cochef, words, name, value):
    code, text = cochef(*words, "--json")
    assert code == 0
    assert value in [row[name] for row in json.loads(text)]


@pytest.mark.parametrize("columns", ["30", "80"])
def test_names_are_whole_where_the_output_is_piped_and_where_a_terminal_is_narrow(
    monkeypatch, cochef, columns
):
    name = "script:onion_placement_and_delivery"
    assert name in cochef("partners")[1]
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", columns)
    _, text = cochef("partners")
    assert "…" not in text
    cells = [re.split("[│┃]", line)[1].strip() for line in text.splitlines() if "│" in line]
    assert name in "".join(cells)


@pytest.mark.parametrize("name", [name for name, _ in groups()])
def test_help_of_a_group_names_every_subcommand(cochef, name):
    code, text = cochef(name, "--help")
    assert code == 0
    assert set(COMMANDS[name].subcommands) == set(re.findall(r"• (\S+) +\S", text))


@pytest.mark.parametrize("command", ["run", "train", "ship"])
def test_help_names_every_method(cochef, command):
    _, text = cochef(command, "--help")
    assert "{" + ",".join(methods.names()) + "}" in text


def test_where_agents_begin_is_an_option_that_reaches_the_plan(cochef, tmp_path):
    words = ("run", "--layout", "cramped_room", "--preset", "paper", "--out", tmp_path, "--from")
    code, text = cochef(*words, "nowhere")
    assert code == 2
    assert "'scratch'" in text
    assert "'transfer'" in text
    code, text = cochef(*words, "transfer")
    assert code == 2
    assert "begin from scratch" in text  # the paper's agents have a GRU
    assert not [*tmp_path.iterdir()]


def test_help_that_nobody_reads_to_the_end_is_no_crash():
    reading, writing = os.pipe()
    os.close(reading)
    program = [sys.executable, "-c", "from cochef.cli.main import main; main()", "train", "--help"]
    done = subprocess.run(program, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_layouts_draws_all_layouts(cochef):
    code, text = cochef("layouts")
    assert code == 0
    assert all(name in text for name in layouts.names())


def test_checking_a_good_layout_says_so_and_a_bad_one_what_is_wrong(cochef, tmp_path):
    good = tmp_path / "good.toml"
    bad = tmp_path / "bad.toml"
    grid = "XXPXX\nO1 2O\nX   X\nXDXSX"
    good.write_text(f"grid = '''\n{grid}\n'''\n[orders]\nooo = {{ value = 20, time = 20 }}\n")
    bad.write_text(good.read_text().replace("P", "X"))
    assert cochef("layouts", "check", good)[0] == 0
    code, text = cochef("layouts", "check", good, bad)
    assert code == 2
    assert "no pot ('P') to cook in; add one to the grid" in text


def test_checking_a_layout_shows_all_its_orders(cochef, tmp_path):
    path = tmp_path / "many.toml"
    path.write_text(layouts.to_toml(layouts.get("counter_circuit_multi")))
    code, text = cochef("layouts", "check", path)
    assert code == 0
    words = " ".join(text.replace("│", " ").split())
    for order in ("ooo 20 in 20", "oot 20 in 20", "ott 20 in 20", "oo 10 in 10", "ot 10 in 10"):
        assert order in words


def test_a_layout_of_overcooked_ai_is_printed_or_written_as_ours(cochef, tmp_path):
    path = tmp_path / "room.layout"
    out = tmp_path / "room.toml"
    grid = "'''XXPXX\n O1 2O\n X   X\n XDXSX'''"
    path.write_text(f"{{'grid': {grid}, 'start_all_orders': [], 'cook_time': 10}}")
    code, text = cochef("layouts", "import", path)
    assert code == 0
    assert "ooo = { value = 20, time = 10 }" in text
    assert 'cooking = "manual"' in text
    assert cochef("layouts", "import", path, "--out", out, "--cooking", "automatic")[0] == 0
    assert cochef("layouts", "check", out)[0] == 0
    code, text = cochef("layouts", "import", path, "--out", out)
    assert (code, "exists; remove it, or choose another name" in text) == (2, True)


def test_doctor_finds_everything_in_the_test_environment(cochef):
    code, text = cochef("doctor")
    assert code == 0
    assert "jax" in text


def test_doctor_names_the_extra_that_brings_what_is_missing(cochef, monkeypatch):
    monkeypatch.setitem(doctor.EXTRAS, "envs", ("numpy", "no-such-package"))
    code, text = cochef("doctor", "--json")
    assert code == 0  # it is optional
    envs = next(finding for finding in json.loads(text) if finding["what"] == "extra envs")
    assert (envs["well"], envs["found"]) == (False, "no no-such-package")
    assert 'pip install ".[envs]" in CoChef\'s source directory' in envs["remedy"]


def test_doctor_fails_if_something_needed_is_missing(cochef, monkeypatch):
    monkeypatch.setattr(doctor, "REQUIRED", ("no-such-package",))
    code, text = cochef("doctor")
    assert code == 1
    assert "missing" in text


def test_doctor_knows_all_extras_and_their_packages():
    written = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra, requirements in written["optional-dependencies"].items():
        names = {re.split(r"[\[>=]", requirement)[0] for requirement in requirements}
        assert set(doctor.EXTRAS[extra]) == names - {"cochef"}
    assert doctor.EXTRAS.keys() == written["optional-dependencies"].keys()


def test_partners_of_an_onion_layout_leave_tomatoes_alone(cochef):
    code, text = cochef("partners", "--layout", "cramped_room")
    assert code == 0
    assert "onion_placement" in text
    assert "tomato" not in text


def test_an_unknown_layout_is_an_error_that_names_the_known_ones(cochef):
    code, text = cochef("evaluate", "--layout", "cramped", "--agents", "random")
    assert code == 2
    assert (
        "unknown layout 'cramped'; did you mean cramped_room? known: asymmetric_advantages" in text
    )


def test_a_recorded_episode_replays_without_difference(cochef, episode, tmp_path):
    plain = tmp_path / "a.jsonl"
    packed = tmp_path / "b.jsonl.gz"
    plain.write_text(episode + "\n")
    packed.write_bytes(gzip.compress(episode.encode()))
    code, text = cochef("replay", plain, packed)
    assert code == 0
    assert "no difference" in text


def test_a_changed_step_is_found_and_named(cochef, episode, tmp_path):
    record = json.loads(episode)
    record["steps"][41]["chefs"][0][2] = "?"
    path = tmp_path / "changed.jsonl"
    path.write_text(json.dumps(record))
    code, text = cochef("replay", path)
    assert code == 1
    assert "step 41: chefs recorded" in text


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda r: r.pop("actions"), "'actions' is missing"),
        (
            lambda r: r["actions"].__setitem__(3, [0, 6]),
            "joint action 3 is [0, 6]; it takes two numbers from 0 to 5",
        ),
        (lambda r: r["steps"].pop(), "steps is no list of 400 steps"),
        (lambda r: r.update(layout="nowhere"), "unknown layout 'nowhere'"),
        (lambda r: r.update(score="high"), "score is 'high'; it takes a number"),
        (lambda r: r.update(known_events=["sneezing"]), "known_events is ['sneezing']"),
        (lambda r: r.update(start={"chefs": []}), "0 chefs; a kitchen has 2"),
    ],
)
def test_a_malformed_episode_is_an_error_with_its_place(
    cochef, episode, tmp_path, change, complaint
):
    record = json.loads(episode)
    change(record)
    path = tmp_path / "bad.jsonl"
    path.write_text("\n" + json.dumps(record))
    code, text = cochef("replay", path)
    assert code == 2
    assert "line 2" in text
    assert complaint in text


def test_a_file_that_is_no_recording_is_an_error(cochef, tmp_path):
    noise = tmp_path / "noise.jsonl.gz"
    noise.write_bytes(np.random.default_rng(0).bytes(500))
    (tmp_path / "text.jsonl").write_text("not json")
    for path in (noise, tmp_path / "text.jsonl", tmp_path / "missing.jsonl", tmp_path):
        assert cochef("replay", path)[0] == 2


def test_an_episode_of_an_own_layout_can_be_recorded_and_replayed(cochef, tmp_path):
    mine = tmp_path / "mine.toml"
    episode = tmp_path / "episode.jsonl"
    grid = "XXPXX\nO1 2T\nX   X\nXDXSX"
    mine.write_text(
        f"cooking = 'manual'\ngrid = '''\n{grid}\n'''\n[orders]\not = {{ value = 5, time = 3 }}\n"
    )
    assert cochef("watch", "--layout", mine, "--out", episode)[0] == 0
    mine.unlink()
    code, text = cochef("replay", episode)
    assert code == 0
    assert "1 episodes, 400 steps replayed" in text


WITHOUT_JAX = """
import contextlib, io, json, sys
from cochef.cli.main import main

for words in json.loads(sys.argv.pop()):
    sys.argv[1:] = words
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise
    if not printed.getvalue():
        sys.exit(f"{words} printed nothing")
    for module in ("jax", "PIL", "matplotlib"):
        if module in sys.modules:
            sys.exit(f"{words} loads {module}")
"""


def assert_answered_without_jax(*commands):
    program = [sys.executable, "-c", WITHOUT_JAX, json.dumps(commands)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_of_every_command_loads_no_jax():
    assert_answered_without_jax(["--help"], *([*words, "--help"] for words in every_command()))


def test_status_loads_no_jax(tmp_path):
    directory = tmp_path / "jobs" / "population-narrow-0123456789ab"
    directory.mkdir(parents=True)
    job = {"kind": "population", "version": 1, "config": {}, "inputs": {}}
    (directory / "job.json").write_text(json.dumps(job))
    (directory / "config.json").write_text(json.dumps({"training": {"total_steps": 640}}))
    (directory / "metrics.jsonl").write_text(json.dumps({"steps": 320, "seconds": 1.0}) + "\n")
    assert_answered_without_jax(["status", "--out", str(tmp_path)])
