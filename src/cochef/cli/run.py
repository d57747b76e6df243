"""`cochef run` and `cochef status`: from nothing to evaluated agents, and how far that is."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Column, Table

from cochef.cli.arguments import LayoutName, MethodName, Seed, check_seed
from cochef.cli.output import print_line
from cochef.cli.train import INTERRUPTED, progress_of
from cochef.experiments.presets import Overrides, PresetName
from cochef.runtime import use_all_cores

TRAINING = ("population", "agents")  # kinds of jobs


@dataclass
class RunMethods:
    """Do everything: populations, pools, adaptive agents, evaluation with all partners, a report.

    Finished jobs are never repeated, and methods share them; an interrupted run resumes when the
    same command is given again.
    """

    layout: LayoutName
    method: tuple[MethodName, ...] = ("hsp",)
    """One or more, in the order of the tables."""
    preset: PresetName = "laptop"
    """The settings: for a test, minutes, the results on two cores, or the paper's."""
    seed: Seed = 0
    overrides: Overrides = field(default_factory=Overrides)
    rewards: Path | None = None
    """A TOML file with own hidden and shaped rewards (docs/training.md)."""
    out: Path = Path("runs")
    """Where all jobs and their results are."""

    def run(self) -> int:
        """Plan, do, and show."""
        check_seed(self.seed)
        use_all_cores()
        from cochef.evaluation.report import HTML
        from cochef.experiments import pipeline, results
        from cochef.experiments.engines import LocalEngine
        from cochef.experiments.jobs import Job, JobStore, in_order
        from cochef.kitchen import layouts
        from cochef.learning import reward_config
        from cochef.learning.writers import MetricsWriter

        layout = layouts.get(self.layout)
        rewards = reward_config.read(self.rewards) if self.rewards else None
        goal = pipeline.report_job(
            layout, self.method, self.preset, self.seed, self.overrides, rewards
        )
        store = JobStore(self.out)
        console = Console(stderr=True, highlight=False, soft_wrap=True)

        def writers_of(job: Job) -> list[MetricsWriter]:
            return [progress_of(console)] if job.stage.kind in TRAINING else []

        def log(text: str) -> None:
            console.print(text, markup=False)

        try:
            LocalEngine().run(in_order([goal]), store, writers_of, log)
        except KeyboardInterrupt:
            console.print("interrupted; the same command resumes from here")
            return INTERRUPTED
        inputs = store.inputs(goal)
        found = results.scores(inputs, self.method)
        Console(highlight=False, soft_wrap=True).print(results.score_table(found, layout).rich())
        agents = inputs[f"{self.method[0]}-agents"]
        partner = results.most_informative_partners(found)[0]
        program = sys.argv[0]
        watch = results.watch_command(self.layout, agents, partner, program)
        print_line(f"report: {store.directory(goal) / HTML}")
        print_line(f"watch: {watch}")
        print_line(f"play with it: {results.play_command(self.layout, agents, program)}")
        return 0


@dataclass
class Status:
    """Show the jobs of a directory: what is done, what is under way, what waits for what."""

    out: Path = Path("runs")
    """What was given to `cochef run --out`."""

    def run(self) -> int:
        """Read and show."""
        from cochef.experiments.jobs import statuses

        rows = statuses(self.out)
        numbers = {row.name: str(number) for number, row in enumerate(rows, start=1)}
        whole = [Column(title, no_wrap=True) for title in ("", "job", "state", "seconds")]
        table = Table(
            *whole,
            "inputs",
            title=str(self.out),
            box=box.SIMPLE_HEAD,
            padding=(0, 1, 0, 0),
            pad_edge=False,
        )
        for row in rows:
            style = {"done": "green", "waiting": "dim"}.get(row.state, "yellow")
            seconds = "" if row.seconds is None else f"{row.seconds:,.0f}"
            inputs = ", ".join(numbers[name] for name in row.inputs)
            table.add_row(numbers[row.name], row.name, row.state, seconds, inputs, style=style)
        Console(highlight=False).print(table)
        return 0
