"""A driver in a process of its own: python -m tests.cluster.driver SETTINGS, a table as JSON.

Without settings it reads some from every line of its input, or the words of a command, and answers
with a line. It stays connected to a cluster, whose processes have then compiled what they need.
"""

import io
import json
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path

from cochef.errors import InputError
from cochef.experiments import ray_cluster
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
        resources=JobResources(cpus, memory=0.1, retries=settings.get("retries", 3)),
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


def command(words):
    """Run a command to its end: its exit code and all it printed."""
    from cochef.cli.main import main  # noqa: PLC0415  (other drivers do without it)

    sys.argv = ["cochef", *words]
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            main()
        except SystemExit as stop:
            return {"code": stop.code, "printed": printed.getvalue()}


def serve():
    connected = None
    with ExitStack() as stack:
        for line in sys.stdin:
            settings = json.loads(line)
            address = settings.get("address")
            if address not in (None, connected):
                stack.close()
                stack.enter_context(ray_cluster.connection(address))
                connected = address
            found = command(settings["words"]) if "words" in settings else answer(settings)
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(serve())
    try:
        print(run(json.loads(sys.argv[1]), lambda text: print(text, flush=True)))
    except InputError as error:
        sys.exit(str(error))
