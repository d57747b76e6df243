"""Wheel and source archive are whole, and work where nothing else of this repository is."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import cochef

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.long


def run(*command, cwd=None, code=0):
    """Run a program without what points Python to this repository; what it prints."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout or done.stderr


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    directory = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", directory, cwd=ROOT)
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", directory, cwd=ROOT)
    return next(directory.glob("*.whl")), next(directory.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def program(archives, tmp_path_factory):
    """The program of the wheel, in a new environment with the locked versions and nothing else."""
    environment = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", environment)
    install = (environment / "bin" / "python", "-m", "pip", "install", "--quiet")
    run(*install, "--require-hashes", "-r", ROOT / "locks" / "run.txt")
    run(*install, "--no-deps", archives[0])
    return environment / "bin" / "cochef"


def package_files():
    """All files of the package that are under version control."""
    listed = run("git", "ls-files", "src/cochef", cwd=ROOT).split()
    return {name.removeprefix("src/") for name in listed}


def test_the_wheel_has_every_file_of_the_package(archives):
    with zipfile.ZipFile(archives[0]) as wheel:
        names = set(wheel.namelist())
    assert package_files() <= names
    assert "cochef/py.typed" in names


def test_a_wheel_that_is_made_of_the_source_archive_has_the_same_files(archives, tmp_path):
    with tarfile.open(archives[1]) as source:
        source.extractall(tmp_path, filter="data")
    unpacked = next(tmp_path.iterdir())
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, cwd=unpacked)
    again = next(tmp_path.glob("*.whl"))
    with zipfile.ZipFile(archives[0]) as one, zipfile.ZipFile(again) as other:
        assert set(one.namelist()) == set(other.namelist())


def test_the_installed_program_says_its_version(program, tmp_path):
    assert run(program, "--version", cwd=tmp_path).strip() == f"cochef {cochef.__version__}"


def test_the_installed_program_lists_all_layouts(program, tmp_path):
    listed = json.loads(run(program, "layouts", "--json", cwd=tmp_path))
    assert [layout["name"] for layout in listed] == list(cochef.layouts())


def test_the_installed_program_plays_with_agents_that_ship(program, tmp_path):
    words = ("--layout", "coordination_ring", "--episodes", "2", "--out", "results")
    agents = ("--agents", "hsp:coordination_ring", "--partners", "human-proxy:coordination_ring")
    run(program, "evaluate", *words, *agents, cwd=tmp_path)
    rows = (tmp_path / "results" / "episodes.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 2  # a heading; two episodes in either seat


def test_what_an_extra_brings_is_named_where_it_is_missing(program, tmp_path):
    said = run(program, "study", "check", "paper", cwd=tmp_path, code=2)
    assert 'pip install ".[study]" in CoChef\'s source directory' in said
