"""The command: from jobs to pages, in processes of their own."""

import csv
import io
import json
import subprocess
import sys
import time

import pytest

from cochef import reproduction
from cochef.reproduction.declared import LAYOUTS, TRIAL_LAYOUTS

PROGRAM = [sys.executable, "-c", "from cochef.cli.main import main; main()", "reproduce"]
TEN_MINUTES = 600


def reproduce(*words):
    command = [*PROGRAM, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def shows_something(directory):
    """Whether the page in a directory has a table or a figure, besides claims."""
    shown = [path for path in directory.iterdir() if path.suffix in (".csv", ".png", ".gif")]
    return any(path.stem != "claims" for path in shown)


def test_the_configuration_is_shown_beside_the_papers(tmp_path):
    names = ("layouts", "hyperparameters", "hidden-rewards", "shaping")
    done = reproduce(*names, "--preset", "smoke", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    pages = tmp_path / "pages"
    index = (pages / "index.md").read_text()
    for name in names:
        assert f"({name}/report.md)" in index
        assert (pages / name / "report.html").stat().st_size > 0
    sentences = {name: (pages / name / "report.md").read_text().splitlines()[2] for name in names}
    assert sentences["hidden-rewards"] == "All sets of weights are the paper's."
    assert sentences["shaping"].startswith("All shaped rewards are the paper's, but for useful")
    assert "Second stage: the preset smoke has " in sentences["hyperparameters"]
    for ending in ("png", "svg"):
        assert (pages / "layouts" / f"layouts.{ending}").stat().st_size > 0
    table = (pages / "hidden-rewards" / "hidden-many_orders.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(rows) == 11
    assert all(row["ours"] == row["paper"] for row in rows)
    for stage in ("first_stage", "second_stage"):
        table = (pages / "hyperparameters" / f"{stage}.csv").read_text()
        published = {row["setting"]: row["published"] for row in csv.DictReader(io.StringIO(table))}
        assert published["mini_batch_size"] == "batch size / mini-batch"
    assert r"\toprule" in (pages / "shaping" / "shaping-many_orders-first_stage.tex").read_text()


def test_an_unknown_experiment_or_layout_is_refused_before_anything_is_run(tmp_path):
    done = reproduce("scripts", "--layouts", "cramped_room", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "unknown layout of the paper 'cramped_room'" in done.stderr
    assert not (tmp_path / "out").exists()


def test_docs_are_about_all_experiments_and_layouts_whatever_the_command_is_about(tmp_path):
    pages = tmp_path / "docs"
    words = ("theorem", "--preset", "smoke", "--results", tmp_path / "none")
    done = reproduce(*words, "--out", tmp_path / "out", "--collect", "--pages", pages)
    assert done.returncode == 0, done.stderr
    index = (pages / "index.md").read_text()
    for name in reproduction.EXPERIMENTS:
        assert f"({name}/report.md)" in index
    scripts = (pages / "scripts" / "scripts.csv").read_text()
    assert {row["layout"] for row in csv.DictReader(io.StringIO(scripts))} == set(LAYOUTS)


@pytest.mark.long
def test_every_table_and_figure_is_made_from_really_run_jobs_in_ten_minutes(tmp_path):
    started = time.monotonic()
    done = reproduce("all", "--preset", "smoke", "--out", tmp_path)
    seconds = time.monotonic() - started
    assert done.returncode == 0, done.stderr[-2000:]
    print(f"all tables and figures in {seconds:.0f} seconds")
    for name, experiment in reproduction.EXPERIMENTS.items():
        page = (tmp_path / "pages" / name / "report.md").read_text()
        assert experiment.title in page
        assert "not run" not in page.casefold()
        assert shows_something(tmp_path / "pages" / name), name
    kept = list((tmp_path / "results" / "smoke").glob("*/result.json"))
    assert {json.loads(path.read_text())["layout"] for path in kept} >= set(TRIAL_LAYOUTS)
    assert seconds < TEN_MINUTES
