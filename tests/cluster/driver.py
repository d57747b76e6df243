"""A driver in a process of its own: python -m tests.cluster.driver SETTINGS, a table as JSON."""

import json
import sys
from pathlib import Path

from cochef.errors import InputError
from cochef.experiments.jobs import Job, JobStore, in_order
from cochef.experiments.ray_engine import JobResources, RayEngine
from tests.cluster.writing import Write, diamond


def many(number, seconds, notes):
    """Independent jobs, and one that needs all of them."""
    jobs = {
        f"{index:03}": Job(Write(f"{index:03}", seconds, notes, config={"of": index}), "many")
        for index in range(number)
    }
    return Job(Write("end", notes=notes), "end", jobs)


def goal(settings):
    notes = Path(settings["notes"]) if "notes" in settings else None
    if "many" in settings:
        return many(settings["many"], settings["seconds"], notes)
    return diamond(seconds=settings.get("seconds", 0.0), notes=notes, error=settings.get("error"))


def run(settings, log=print):
    engine = RayEngine(
        address=settings["address"],
        store=settings.get("store"),
        resources=JobResources(cpus=1, memory=0.1),
        lease=settings.get("lease", 30.0),
        scratch=Path(settings["scratch"]),
    )
    store = JobStore(Path(settings["out"]))
    engine.run(in_order([goal(settings)]), store, lambda _: [], log)
    return (store.directory(goal(settings)) / "text").read_text()


if __name__ == "__main__":
    try:
        print(run(json.loads(sys.argv[1]), lambda text: print(text, flush=True)))
    except InputError as error:
        sys.exit(str(error))
