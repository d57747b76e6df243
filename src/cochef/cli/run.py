"""`cochef run` and `cochef status`: from nothing to measured agents, and how far that is."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Column, Table

from cochef.cli.seeds import check_seed
from cochef.cli.train import INTERRUPTED, Watching
from cochef.experiments.presets import Changes, PresetName, RunMethod

TRAINING = ("population", "agents")


@dataclass
class Run:
    """Do everything: populations, filter, pools, adaptive agents, measuring with all scripts and proxies, a report.

    Finished parts are never repeated, and shared by methods; the same command goes on with a run that was stopped.
    """

    layout: str
    """A kitchen that ships with the package (see `cochef layouts`), or the path of a layout file."""
    method: tuple[RunMethod, ...] = ("hsp",)
    """One or more, in the order of the tables: the paper's method, its baselines, or plain self-play."""
    preset: PresetName = "laptop"
    """The settings: for a test, minutes, half an hour a method on two cores, or the paper's for accelerators."""
    seed: int = 0
    """Where all randomness comes from."""
    changes: Changes = field(default_factory=Changes)
    rewards: Path | None = None
    """A TOML file with own sets of hidden rewards and helping rewards (docs/training.md)."""
    out: Path = Path("runs")
    """Where all jobs and their results are."""

    def run(self) -> int:
        """Plan, do, and show."""
        check_seed(self.seed)
        from cochef.runtime import use_all_cores

        use_all_cores()
        from cochef.evaluation.report import HTML
        from cochef.experiments import jobs, pipeline, results
        from cochef.experiments.engines import Local
        from cochef.kitchen import layouts
        from cochef.learning import reward_config

        layout = layouts.get(self.layout)
        rewards = reward_config.read(self.rewards) if self.rewards else None
        goal = pipeline.jobs(layout, self.method, self.preset, self.seed, self.changes, rewards)
        plan, store = jobs.in_order([goal]), jobs.Store(self.out)
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        try:
            Local().run(
                plan,
                store,
                lambda job: [Watching(console)] if job.task.kind in TRAINING else [],
                lambda text: console.print(text, markup=False),
            )
        except KeyboardInterrupt:
            console.print("stopped; the same command goes on from here")
            return INTERRUPTED
        needs = {name: store.directory(job) for name, job in goal.needs.items()}
        found = results.scores(needs, tuple(self.method))
        out = Console(highlight=False, soft_wrap=True)
        out.print(results.score_table(found, layout).rich())
        out.print(f"report: {store.directory(goal) / HTML}", markup=False)
        agents, partner = needs[f"{self.method[0]}-agents"], results.telling(found)[0]
        out.print(f"watch: {results.watch_command(self.layout, agents, partner, sys.argv[0])}", markup=False)
        out.print(f"play with it: {results.play_command(self.layout, agents, sys.argv[0])}", markup=False)
        return 0


@dataclass
class Status:
    """Show the jobs of a directory: what is done, what is under way, what waits for what."""

    out: Path = Path("runs")
    """What was given to `cochef run --out`."""

    def run(self) -> int:
        """Read and show."""
        from cochef.experiments.jobs import overview

        rows = overview(self.out)
        numbers = {row.name: str(number) for number, row in enumerate(rows, start=1)}
        whole = [Column(title, no_wrap=True) for title in ("", "job", "state", "seconds")]
        table = Table(*whole, "needs", title=str(self.out), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for row in rows:
            style = {"done": "green", "waiting": "dim"}.get(row.state, "yellow")
            seconds = "" if row.seconds is None else f"{row.seconds:,.0f}"
            needs = ", ".join(numbers[need] for need in row.needs)
            table.add_row(numbers[row.name], row.name, row.state, seconds, needs, style=style)
        Console(highlight=False).print(table)
        return 0
