"""`cochef run` and `cochef status`: from nothing to evaluated agents, and how far that is."""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cochef import interrupts, methods
from cochef.cli.arguments import LayoutName, MethodName, Seed, check_layout, check_seed
from cochef.cli.engine import EngineArguments
from cochef.cli.evaluate import show
from cochef.cli.output import JsonOption, log, print_json, print_line, print_rows
from cochef.cli.progress import RESUMES, training_progress
from cochef.experiments.presets import Overrides, PresetName

if TYPE_CHECKING:
    from cochef.experiments.jobs import Job, JobStore


@dataclass
class RunMethods:
    """Do everything: populations, pools, adaptive agents, evaluation with all partners, a report.

    Finished jobs are never repeated, and methods share them; an interrupted run resumes when the
    same command is given again.
    """

    layout: LayoutName
    method: tuple[MethodName, ...] = (methods.OWN,)
    """One or more, in the order of the tables."""
    preset: PresetName = "laptop"
    """The settings: for a test, minutes, the results on two cores, or the paper's."""
    seed: Seed = 0
    overrides: Overrides = field(default_factory=Overrides)
    rewards: Path | None = None
    """A TOML file with own hidden and shaped rewards (docs/training.md)."""
    out: Path = Path("runs")
    """Where all jobs and their results are."""
    shard_members: int | None = None
    """Split populations with independent members into jobs of at most so many members."""
    where: EngineArguments = field(default_factory=EngineArguments)
    tensorboard: bool = False
    """Also write files for TensorBoard, below each training's directory."""
    plan: bool = False
    """Only show what would be done, and how long it would take."""
    json: JsonOption = False

    def run(self) -> int:
        """Plan, do, and show."""
        check_seed(self.seed)
        check_layout(self.layout)
        interrupts.explain(RESUMES)
        self.where.use_cores()
        from cochef.experiments import pipeline
        from cochef.experiments.jobs import Job, JobStore, in_order
        from cochef.experiments.shards import split
        from cochef.kitchen import layouts
        from cochef.learning import reward_config
        from cochef.learning.writers import MetricsWriter, TensorBoardWriter

        layout = layouts.get(self.layout)
        rewards = reward_config.read(self.rewards) if self.rewards else None
        goal = pipeline.report_job(
            layout, self.method, self.preset, self.seed, self.overrides, rewards
        )
        if self.shard_members is not None:
            goal = split(goal, self.shard_members)
        store = JobStore(self.out)
        engine = self.where.make()
        jobs = in_order([goal])
        if self.plan:
            return show_plan(jobs, store, as_json=self.json)

        def writers_of(job: Job) -> list[MetricsWriter]:
            if not job.trains:
                return []
            writers = [training_progress(job)]
            if self.tensorboard:
                writers.append(TensorBoardWriter(store.directory(job) / "tensorboard"))
            return writers

        if self.tensorboard:
            TensorBoardWriter(self.out)  # an error now if it is not installed
        log(plan_sentence(jobs, store))
        engine.run(jobs, store, writers_of, log)
        self._show(goal, store)
        return 0

    def _show(self, goal: "Job", store: "JobStore") -> None:
        """Print the results, and how to look at them."""
        from cochef.evaluation.report import HTML
        from cochef.experiments import results

        inputs = store.inputs(goal)
        found, manifest = results.evaluations(inputs, self.method)
        show(found, manifest, as_json=self.json)
        if self.json:
            return
        agents = inputs[f"{self.method[0]}-agents"]
        partner = results.most_informative_partners(found)[0]
        program = [sys.argv[0]]
        if program[0].endswith("__main__.py"):  # `python -m cochef`
            program = [sys.executable, "-m", "cochef"]
        watch = results.watch_command(self.layout, agents, partner, program)
        print_line(f"report: {store.directory(goal) / HTML}")
        print_line(f"watch: {watch}")
        print_line(f"play with it: {results.play_command(self.layout, agents, program)}")


def show_plan(jobs: "Sequence[Job]", store: "JobStore", *, as_json: bool) -> int:
    """Print every job with its state and the minutes that it will take."""
    from cochef.experiments import estimates

    estimator = estimates.measured(store)
    rows = []
    for job in jobs:
        is_done = store.is_done(job)
        minutes = 0.0 if is_done else estimator.seconds(job) / 60
        row = {"job": job.name, "state": "done" if is_done else "to do", "minutes": minutes}
        rows.append(row)
    print_rows(rows, "The plan", as_json=as_json, whole=("job",), formats={"minutes": ".1f"})
    if not as_json:
        print_line(plan_sentence(jobs, store))
    return 0


def plan_sentence(jobs: "Sequence[Job]", store: "JobStore") -> str:
    """How many jobs there are, how many are done, and about how long the rest takes."""
    from cochef.experiments import estimates

    left = [job for job in jobs if not store.is_done(job)]
    if not left:
        return f"{len(jobs)} jobs, all done"
    estimator = estimates.measured(store)
    minutes = estimator.left(left, store) / 60
    time = f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.0f} hours"
    time = "1 minute" if minutes < 1.5 else time
    done = f", {len(jobs) - len(left)} of them done" if len(left) < len(jobs) else ""
    cores = f"{estimator.cores} cores"
    return f"{len(jobs)} jobs{done}; about {time} on {cores} (`--plan` lists them)"


@dataclass
class Status:
    """Show the jobs of a directory: what is done, what is under way, what waits for what."""

    out: Path = Path("runs")
    """What was given to `cochef run --out`."""
    json: JsonOption = False

    def run(self) -> int:
        """Read and show."""
        from cochef.experiments.jobs import statuses

        found = statuses(self.out)
        if self.json:
            print_json([asdict(row) for row in found])
            return 0
        numbers = {row.name: number for number, row in enumerate(found, start=1)}
        rows = []
        styles = []
        for row in found:
            styles.append({"done": "green", "waiting": "dim"}.get(row.state, "yellow"))
            seconds = "" if row.seconds is None else f"{row.seconds:,.0f}"
            inputs = [numbers[name] for name in row.inputs]
            rows.append(
                {
                    "": numbers[row.name],
                    "job": row.name,
                    "state": row.state,
                    "seconds": seconds,
                    "inputs": inputs,
                }
            )
        print_rows(rows, str(self.out), whole=("job",), styles=styles)
        return 0
