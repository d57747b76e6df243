"""A driver in a process of its own: python -m tests.cluster.driver SETTINGS, a table as JSON.

Without settings it reads some from every line of its input, and answers with a line.
"""

import json
import sys
from pathlib import Path

from cochef.errors import InputError
from cochef.experiments.engines import LocalEngine
from cochef.experiments.jobs import Job, JobStore, in_order
from cochef.experiments.ray_engine import JobResources, RayEngine
from cochef.runtime import use_cores
from tests.cluster.writing import Write, diamond
from tests.narrow_layout import NARROW


def many(number, seconds, notes):
    """Independent jobs, and one that needs all of them."""
    jobs = {
        f"{index:03}": Job(Write(f"{index:03}", seconds, notes, config={"of": index}), "many")
        for index in range(number)
    }
    return Job(Write("end", notes=notes), "end", jobs)


def training(steps):
    """A population of two that trains for some time."""
    from cochef.experiments import pipeline  # noqa: PLC0415  (other drivers do without JAX)
    from cochef.kitchen import layouts  # noqa: PLC0415

    layout = layouts.parse(NARROW, "narrow")
    return Job(pipeline.population("sp", layout, "quick", members=2, steps=steps), "training")


def goal(settings):
    notes = Path(settings["notes"]) if "notes" in settings else None
    if "training" in settings:
        return training(settings["training"])
    if "many" in settings:
        return many(settings["many"], settings["seconds"], notes)
    return diamond(
        first_on_driver=settings.get("first_on_driver", False),
        seconds=settings.get("seconds", 0.0),
        notes=notes,
        error=settings.get("error"),
    )


def engine_of(settings):
    """An engine on a cluster, or without an address a local one with as many cores."""
    cpus = settings.get("cpus", 1)
    if "address" not in settings:
        use_cores(cpus)
        return LocalEngine()
    return RayEngine(
        address=settings["address"],
        store=settings.get("store"),
        resources=JobResources(cpus=cpus, memory=0.1),
        lease=settings.get("lease", 30.0),
        progress_seconds=settings.get("progress_seconds", 120.0),
        scratch=Path(settings["scratch"]),
    )


def run(settings, log=print):
    store = JobStore(Path(settings["out"]))
    job = goal(settings)
    engine_of(settings).run(in_order([job]), store, lambda _: [], log)
    text = store.directory(job) / "text"
    return text.read_text() if text.exists() else job.name


def answer(settings):
    """Drive to the end: what the last job wrote, or an error, and the log."""
    logged = []

    def log(text):
        logged.append(text)
        if text.startswith(settings.get("until", "\n")):
            raise InputError("that was to be seen")

    try:
        found = {"last": run(settings, log)}
    except InputError as error:
        found = {"error": str(error)}
    return found | {"logged": logged}


def serve():
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(serve())
    try:
        print(run(json.loads(sys.argv[1]), lambda text: print(text, flush=True)))
    except InputError as error:
        sys.exit(str(error))
