"""How far a training is, for whoever waits for it."""

import time
from collections.abc import Mapping
from functools import lru_cache
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from cochef.cli.output import log_console
from cochef.learning.writers import SHARD

if TYPE_CHECKING:
    from cochef.experiments.jobs import Job
    from cochef.learning.writers import MetricsWriter

LINE_SECONDS = 15.0  # between two lines about a training
RESUMES = "interrupted; the same command resumes from the last checkpoint"


def training_progress(job: "Job | None" = None) -> "MetricsWriter":
    """What shows a training's progress: a bar in a terminal, elsewhere a line now and then.

    A job gives it the name of its directory, as others of the same kind may train beside it.
    """
    console = log_console()
    name = None
    if job is not None:
        name = f"{job.stage.kind}-{job.label}".removeprefix(f"{SHARD}-")
    return ProgressBar(console, name) if console.is_terminal else ProgressLines(console, name)


class TrainingRate:
    """How fast a training has been since its first line of metrics."""

    def __init__(self, run_config: Mapping[str, Any], name: str | None = None) -> None:
        """Nothing is known yet."""
        self.name: str = name or run_config.get("population", "agents")
        self.total_steps: int = run_config["training"]["total_steps"]
        self._members: int = run_config["members"]
        self._first: Mapping[str, Any] | None = None

    def describe(self, line: Mapping[str, Any]) -> tuple[str, str, float | None]:
        """Steps and rate, returns, and the seconds that are left.

        The first line cannot tell how fast it goes: it took the time of compiling.
        """
        self._first = self._first or line
        seconds = line["seconds"] - self._first["seconds"]
        steps = line["steps"] - self._first["steps"]
        returns = line["task_return"]
        scores = f"mean {fmean(returns):.0f}, best {max(returns):.0f}, worst {min(returns):.0f}"
        done = f"{_short(line['steps'])} steps"
        if not steps or not seconds:
            return done, scores, None
        rate = steps / seconds
        left = (self.total_steps - line["steps"]) / rate
        return f"{done}, {_short(self._members * rate)}/s", scores, left


class ProgressLines:
    """Prints a plain line about a training every 15 seconds, for logs."""

    def __init__(self, console: Console, name: str | None = None) -> None:
        """Nothing is printed yet."""
        self._name = name
        self._console = console
        self._rate: TrainingRate | None = None
        self._printed = 0.0

    def begin(self, run_config: Mapping[str, Any]) -> None:
        """Say that it compiles."""
        self._rate = TrainingRate(run_config, self._name)
        self._printed = time.monotonic()
        self._console.print(f"{self._rate.name}: compiling", markup=False)

    def write(self, line: Mapping[str, Any]) -> None:
        """Print an iteration, if the last line is some time ago or it is the last one."""
        assert self._rate is not None
        steps, returns, left = self._rate.describe(line)
        # The last iteration ends less than one iteration before the total.
        last = line["steps"] + line["steps"] // line["iteration"] > self._rate.total_steps
        if last or time.monotonic() - self._printed >= LINE_SECONDS:
            self._printed = time.monotonic()
            share = line["steps"] / self._rate.total_steps
            how_far = f"{share:.0%}, {steps}"
            if left is not None:
                how_far += f", {round(left) // 60}:{round(left) % 60:02} left"
            text = f"{self._rate.name}: {how_far}, returns {returns}"
            self._console.print(text, markup=False)

    def end(self) -> None:
        """Nothing to close."""


class ProgressBar:
    """Shows how far a training is, how fast, and the returns of its members."""

    def __init__(self, console: Console, name: str | None = None) -> None:
        """Nothing is shown yet."""
        self._name = name
        self._progress = _bars(console)
        self._task: TaskID | None = None
        self._rate: TrainingRate | None = None

    def begin(self, run_config: Mapping[str, Any]) -> None:
        """Show an empty bar."""
        self._rate = TrainingRate(run_config, self._name)
        self._task = self._progress.add_task(
            self._rate.name, total=self._rate.total_steps, steps="compiling", returns=""
        )
        self._progress.start()

    def write(self, line: Mapping[str, Any]) -> None:
        """Show an iteration."""
        assert self._task is not None
        assert self._rate is not None
        steps, returns, _ = self._rate.describe(line)
        self._progress.update(self._task, completed=line["steps"], steps=steps, returns=returns)

    def end(self) -> None:
        """Leave the bar as it is."""
        assert self._task is not None
        self._progress.stop_task(self._task)
        if all(task.stop_time is not None for task in self._progress.tasks):
            self._progress.stop()
            # What stands in the terminal stays; the next bars do not repeat it.
            for task in self._progress.task_ids:
                self._progress.remove_task(task)


@lru_cache(maxsize=1)
def _bars(console: Console) -> Progress:
    """The bars of a console, one below the other: jobs may run side by side."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=12),
        TextColumn("{task.fields[steps]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[returns]}"),
        console=console,
    )


def _short(number: int | float) -> str:
    return f"{number / 1e6:.2f}M" if number >= 1e6 else f"{number / 1e3:.1f}k"
