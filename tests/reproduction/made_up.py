"""Stored results with made-up numbers."""

import csv
import json
from dataclasses import dataclass, field

from cochef.experiments.engines import LocalEngine
from cochef.experiments.jobs import Job, JobStore, in_order
from cochef.reproduction import stored
from cochef.reproduction.stored import Results

LAYOUT = "many_orders"
NOW = 2  # the version that this program would run


@dataclass(frozen=True)
class Made:
    """A quick job that writes files it is given."""

    kind: str
    seed: int
    files: dict
    version: int = NOW
    settings: dict = field(default_factory=dict)

    @property
    def config(self):
        return {"seed": self.seed, **self.settings}

    def run(self, context):
        for name, content in self.files.items():
            (context.directory / name).write_text(content)


def evaluation(seed, scores, version=NOW):
    """Two episodes with every partner, both with the same score."""
    rows = [("agent", "partner", "seat", "agent_seed", "score")]
    for partner, score in scores.items():
        rows += [("hsp", partner, seat, 0, score) for seat in (0, 1)]
    lines = [",".join(map(str, row)) for row in rows]
    files = {"episodes.csv": "\r\n".join(lines) + "\r\n", "manifest.json": "{}"}
    return Made("evaluation", seed, files, version)


def found(kind, seed, content, version=NOW):
    """What a job of another kind found."""
    return Made(kind, seed, {f"{kind}.json": json.dumps(content)}, version)


def keep(root, condition, stage, layout=LAYOUT, commit=None, inputs=None):
    """Run a job, and store its result as that of a commit."""
    store = JobStore(root / "runs")
    job = Job(stage, f"{condition}-{layout}", inputs or {})
    LocalEngine().run(in_order([job]), store, lambda job: [], lambda text: None)
    key = {"condition": condition, "layout": layout, "seed": stage.seed}
    directory = stored.collect(
        root / "results", store, job, {**key, "preset": "smoke", "agents": 1}
    )
    path = directory / stored.RESULT
    content = {**json.loads(path.read_text()), "code": {"cochef": "0", "commit": commit}}
    path.write_text(json.dumps(content))
    return job


def results(root, *jobs, layout=LAYOUT):
    """All stored results; those with the configuration of a job are current.

    Jobs are given with their conditions.
    """
    goals = [(condition, layout, job) for condition, job in jobs]
    return Results(root / "results", "smoke", stored.current_configurations(goals))


def rows_of(markdown):
    """The cells of all tables in a document."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def columns_of(table):
    """The rows of a CSV file, by column."""
    return list(csv.DictReader(table.decode().splitlines()))
