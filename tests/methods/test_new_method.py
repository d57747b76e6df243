"""A new method is one module: nothing but `methods/` is touched, and everything works with it."""

import json
import subprocess
import sys

import pytest

from cochef.agents import storage

E3T = '''"""E3T without its predictor: plays with a noisy moving average of itself."""

from cochef.learning.roles import CopyRole, Roles
from cochef.learning.population import Algorithm
from cochef.methods.parts.method import Method, PopulationSpec, first_line

NOISY_AVERAGE = CopyRole(decay=0.9, random_actions=0.25)

METHOD = Method(
    name="e3t",
    title="Efficient end-to-end training",
    citation="Yan et al. 2023",
    summary=first_line(__doc__),
    populations=(PopulationSpec("e3t", Algorithm(Roles(NOISY_AVERAGE))),),
)
'''

# The command with the types of the package checked, in a process of its own: what others have read
# of the registry does not matter.
PROGRAM = """
import sys
from jaxtyping import install_import_hook
install_import_hook("cochef", "beartype.beartype")
from cochef import methods
methods.__path__.append(sys.argv.pop(1))
from cochef.cli.main import main
main()
"""


@pytest.fixture(scope="module")
def own_methods(tmp_path_factory):
    directory = tmp_path_factory.mktemp("methods")
    (directory / "e3t.py").write_text(E3T)
    return directory


def command(own_methods, *words):
    arguments = [sys.executable, "-c", PROGRAM, own_methods, *map(str, words)]
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def finished(own_methods, tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    words = ("--layout", "cramped_room", "--method", "e3t", "--preset", "smoke", "--out", root)
    done = command(own_methods, "run", *words)
    assert done.returncode == 0, done.stderr
    return root, done.stdout


def test_the_command_line_knows_it(own_methods):
    done = command(own_methods, "run", "--help")
    assert done.returncode == 0, done.stderr
    assert "e3t" in done.stdout


def test_a_run_ends_with_a_table_and_a_report(finished):
    root, printed = finished
    assert "e3t" in printed
    assert "script:" in printed
    (report,) = root.glob("jobs/report-e3t-*/report.html")
    assert f"report: {report}" in printed
    rows = json.loads((report.parent / "tables.json").read_text())
    assert {row["agent"] for row in rows} == {"e3t"}


def test_its_copies_are_in_the_checkpoint_but_are_no_agents(finished):
    root, _ = finished
    (run,) = root.glob("jobs/population-e3t-*")
    _, tensors = storage.read(max((run / "checkpoints").iterdir()))
    copy = tensors["copies.head.weight"]
    learner = tensors["learners.actor.head.weight"]
    assert copy.shape == (learner.shape[0], *learner.shape[2:])
    assert abs(copy - learner[:, 0]).max() > 1e-4
    assert sorted(path.stem for path in (run / "agents").iterdir()) == ["00", "01"]
