"""`cochef train`: train a population, the first stage of a method."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from cochef import interrupts
from cochef.cli.arguments import LayoutName, MethodName, Seed, check_layout, check_seed
from cochef.cli.output import JsonOption, print_line, print_rows
from cochef.experiments.presets import PresetName
from cochef.files import claim_directory
from cochef.runtime import use_all_cores

if TYPE_CHECKING:
    from cochef.experiments.stages import TrainPopulation
    from cochef.learning.writers import MetricsWriter

LINE_SECONDS = 15.0  # between two lines about a training
RESUMES = "interrupted; the same command resumes from the last checkpoint"


@dataclass
class Train:
    """Train a method's population, its first stage; an interrupted run resumes."""

    method: tyro.conf.Positional[MethodName]
    """Whose population: HSP's are the biased policies with their partners."""
    layout: LayoutName
    preset: PresetName = "laptop"
    """The settings: seconds for a test, minutes on two cores, or the paper's for accelerators."""
    seed: Seed = 0
    members: int | None = None
    """Policies, or pairs in HSP's population; the preset's number if not given."""
    steps: int | None = None
    """Environment steps for each; the preset's number if not given."""
    rewards: Path | None = None
    """A TOML file with own hidden and shaped rewards (docs/training.md)."""
    biased_shaping: str | None = None
    """What shapes HSP's biased policies: none, annealed or constant; none in the paper."""
    origin: Annotated[Path | None, tyro.conf.arg(name="from")] = None
    """An agent file, or the directory of a run, that is trained further, for so many more steps."""
    out: Path | None = None
    """Directory of the run; runs/METHOD-LAYOUT-PRESET-SEED if not given."""
    tensorboard: bool = False
    """Also write files for TensorBoard."""
    json: JsonOption = False

    def run(self) -> int:
        """Train, save and report."""
        check_seed(self.seed)
        check_layout(self.layout)
        interrupts.explain(RESUMES)
        use_all_cores()
        if self.out:
            claim_directory(self.out)
        from cochef.experiments import pipeline
        from cochef.experiments.jobs import JobContext
        from cochef.kitchen import layouts
        from cochef.learning import reward_config
        from cochef.learning.further import read_origin
        from cochef.learning.writers import TensorBoardWriter

        layout = layouts.get(self.layout)
        rewards = reward_config.read(self.rewards) if self.rewards else None
        options = {"biased_shaping": self.biased_shaping} if self.biased_shaping else {}
        stage = pipeline.population(
            self.method, layout, self.preset, self.seed, self.members, self.steps, rewards, options
        )
        name = f"{self.method}-{layout.name}-{self.preset}-{self.seed}"
        inputs: dict[str, Path] = {}
        if self.origin is not None:
            origin = read_origin(self.origin, layout)
            stage = stage.further(origin, keep_members=self.members is not None)
            inputs = {"from": self.origin}
            name += "-further"
        directory = self.out or Path("runs") / name
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        writers: list[MetricsWriter] = [progress_of(console)]
        if self.tensorboard:
            writers.append(TensorBoardWriter(directory / "tensorboard"))

        def log(text: str) -> None:
            console.print(text, markup=False)

        try:
            stage.run(JobContext(directory, inputs, writers, log))
        except KeyboardInterrupt:
            log(interrupts.sentence())
            return interrupts.EXIT_CODE
        _report(stage, directory, as_json=self.json)
        return 0


def progress_of(console: Console) -> "MetricsWriter":
    """What shows a training's progress: a bar in a terminal, elsewhere a line now and then."""
    return ProgressBar(console) if console.is_terminal else ProgressLines(console)


class TrainingRate:
    """How fast a training has been since its first line of metrics."""

    def __init__(self, run_config: Mapping[str, Any]) -> None:
        """Nothing is known yet."""
        self.name: str = run_config.get("population", "agents")
        if "shard" in run_config:
            first, count = run_config["shard"]
            self.name += f" {first}-{first + count - 1}"
        self.total_steps: int = run_config["training"]["total_steps"]
        self._members: int = run_config["members"]
        self._first: Mapping[str, Any] | None = None

    def describe(self, line: Mapping[str, Any]) -> tuple[str, str, float]:
        """Steps and rate, returns, and the seconds that are left."""
        self._first = self._first or line
        seconds = line["seconds"] - self._first["seconds"]
        steps = line["steps"] - self._first["steps"]
        rate = steps / seconds if seconds else 0.0
        left = (self.total_steps - line["steps"]) / rate if rate else 0.0
        returns = line["task_return"]
        return (
            f"{_short(line['steps'])} steps, {_short(self._members * rate)}/s",
            f"mean {fmean(returns):.0f}, best {max(returns):.0f}, worst {min(returns):.0f}",
            left,
        )


class ProgressLines:
    """Prints a plain line about a training every 15 seconds, for logs."""

    def __init__(self, console: Console) -> None:
        """Nothing is printed yet."""
        self._console = console
        self._rate: TrainingRate | None = None
        self._printed = 0.0

    def begin(self, run_config: Mapping[str, Any]) -> None:
        """Say that it compiles."""
        self._rate = TrainingRate(run_config)
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
            minutes = f"{left // 60:.0f}:{left % 60:02.0f} left"
            text = f"{self._rate.name}: {share:.0%}, {steps}, {minutes}, returns {returns}"
            self._console.print(text, markup=False)

    def end(self) -> None:
        """Nothing to close."""


class ProgressBar:
    """Shows how far a training is, how fast, and the returns of its members."""

    def __init__(self, console: Console) -> None:
        """Nothing is shown yet."""
        self._progress = _bars(console)
        self._task: TaskID | None = None
        self._rate: TrainingRate | None = None

    def begin(self, run_config: Mapping[str, Any]) -> None:
        """Show an empty bar."""
        self._rate = TrainingRate(run_config)
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


def _report(stage: "TrainPopulation", directory: Path, *, as_json: bool) -> None:
    from cochef.experiments.stages import CURVES
    from cochef.learning import runs, snapshots
    from cochef.learning.writers import read_metrics

    last = snapshots.read(directory / runs.SNAPSHOTS)[-1]
    seconds = read_metrics(directory)[-1]["seconds"]
    row = {
        "members": len(last.returns),
        "mean return": fmean(last.returns),
        "median": median(last.returns),
        "learned": _learned(stage, last.returns),
        "steps each": last.steps,
        "seconds": seconds,
    }
    formats = {"mean return": ".1f", "median": ".1f", "learned": ".0%"}
    formats |= {"steps each": ",", "seconds": ",.0f"}
    title = f"{stage.spec.name} in {stage.layout.name}, seed {stage.seed}"
    print_rows([row], title, as_json=as_json, formats=formats)
    if not as_json:
        print_line(f"agents in {directory / runs.AGENTS}, curves in {directory / CURVES}")


def _learned(stage: "TrainPopulation", returns: Sequence[float]) -> float:
    """The share of members that fill at least one order per episode."""
    least = min(order.value for order in stage.layout.orders)
    return fmean(value >= least for value in returns)
