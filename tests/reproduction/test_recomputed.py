"""What is deleted is recomputed by the same command, and nothing else."""

import json
import shutil
from pathlib import Path

from cochef.experiments.jobs import DONE, JOBS
from cochef.reproduction.stored import RESULT

COMMAND = ("reproduce", "coverage", "--methods", "fcp", "--preset", "smoke", "--seeds", "0", "1")


def files(directory):
    """The contents of all files in a directory, and when they were written."""
    return {
        path.relative_to(directory): (path.stat().st_mtime_ns, path.read_bytes())
        for path in directory.rglob("*")
        if path.is_file()
    }


def changed(before, after):
    """The directories of jobs or results that have files which were written anew."""
    return {path.parts[0] for path in after if before.get(path) != after[path]}


def test_deleting_a_stored_result_and_its_job_recomputes_exactly_that(cochef, tmp_path):
    words = (*COMMAND, "--out", tmp_path)
    code, text = cochef(*words)
    assert code == 0, text
    jobs, results = tmp_path / JOBS, tmp_path / "results" / "smoke"
    ran, stored = files(jobs), files(results)
    kinds = sorted(path.parent.name.split("-")[0] for path in jobs.glob(f"*/{DONE}"))
    assert kinds == ["coverage"] * 2 + ["pool"] * 2 + ["population"] * 2
    second = next(
        path.parent.name
        for path in results.glob(f"*/{RESULT}")
        if json.loads(path.read_text())["seed"] == 1
    )
    shutil.rmtree(jobs / second)
    shutil.rmtree(results / second)
    code, text = cochef(*words)
    assert code == 0, text
    assert changed(ran, files(jobs)) == {second}
    assert changed(stored, files(results)) == {second}
    path = Path(second, "coverage.json.xz")
    assert files(results)[path][1] == stored[path][1]
