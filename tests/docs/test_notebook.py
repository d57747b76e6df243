"""The notebook of the docs runs from top to bottom."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorials" / "first_steps.ipynb"


def printed(cell):
    """What a cell prints; what it returns is not in it."""
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")


@pytest.mark.long
def test_the_notebook_runs_and_shows_what_it_says(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert "coordination_ring" in code[0].outputs[0].data["text/plain"]
    assert any("image/png" in output.get("data", {}) for output in code[3].outputs)
    rows = [line.split() for line in printed(code[-1]).splitlines()]
    scores = {(row[0], row[2]): float(row[3]) for row in rows}
    assert len(scores) == 6
    for partner in {partner for _, partner in scores}:
        assert scores["hsp", partner] > scores["eager", partner]
