"""`cochef train`: a population that learns, on disk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from cochef.cli.seeds import check_seed
from cochef.experiments.presets import Method, PresetName, Shaping
from cochef.files import claim_directory

if TYPE_CHECKING:
    from cochef.experiments.populations import Population
    from cochef.learning.writers import MetricsWriter

INTERRUPTED = 130  # the exit code that shells expect after Ctrl-C


@dataclass
class Train:
    """Train a population, the first stage of a method; the same command goes on with a run that was stopped."""

    method: Annotated[Method, tyro.conf.Positional]
    """How: plain self-play, the populations of FCP, MEP and TrajDiv, or HSP's biased policies and their partners."""
    layout: str
    """A kitchen that ships with the package (see `cochef layouts`), or the path of a layout file."""
    preset: PresetName = "laptop"
    """The settings: seconds for a test, minutes on two cores, or the paper's for accelerators."""
    seed: int = 0
    """Where all randomness comes from."""
    members: int | None = None
    """Policies, or pairs with hsp; the preset's number if not given."""
    steps: int | None = None
    """Environment steps for each; the preset's number if not given."""
    rewards: Path | None = None
    """A TOML file with own sets of hidden rewards and helping rewards (docs/training.md)."""
    biased_shaping: Shaping = "none"
    """What helps the biased policies of hsp to learn; the paper gives them nothing."""
    out: Path | None = None
    """Directory of the run; runs/METHOD-LAYOUT-PRESET-SEED if not given."""
    tensorboard: bool = False
    """Also write files for TensorBoard."""

    def run(self) -> int:
        """Train, save and report."""
        check_seed(self.seed)
        if self.out:
            claim_directory(self.out)
        from cochef.experiments import populations
        from cochef.kitchen import layouts
        from cochef.learning import reward_config
        from cochef.methods.hsp import BiasedShaping

        layout = layouts.get(self.layout)
        rewards = reward_config.read(self.rewards) if self.rewards else None
        shaping = BiasedShaping(self.biased_shaping)
        population = populations.population(
            self.method, layout, self.preset, self.seed, self.members, self.steps, rewards, shaping
        )
        directory = self.out or Path("runs") / f"{self.method}-{layout.name}-{self.preset}-{self.seed}"
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        sinks: list[MetricsWriter] = [Watching(console)]
        if self.tensorboard:
            sinks.append(TensorBoardWriter(directory / "tensorboard"))
        try:
            populations.train(population, directory, sinks, tell=lambda text: console.print(text, markup=False))
        except KeyboardInterrupt:
            console.print("stopped; the same command goes on from the last checkpoint")
            return INTERRUPTED
        _report(population, directory)
        return 0


class Watching:
    """A sink that shows how far a run is, how fast, and what its population earns."""

    def __init__(self, console: Console) -> None:
        """Nothing is shown yet."""
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[steps]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[returns]}"),
            console=console,
        )
        self._task: TaskID | None = None
        self._members = 0
        self._first: Mapping[str, Any] | None = None

    def begin(self, about: Mapping[str, Any]) -> None:
        """Show an empty bar."""
        self._members = about["members"]
        self._task = self._progress.add_task(
            about["method"], total=about["training"]["total"], steps="compiling", returns=""
        )
        self._progress.start()

    def write(self, line: Mapping[str, Any]) -> None:
        """Show an iteration."""
        assert self._task is not None
        self._first = self._first or line
        seconds = line["seconds"] - self._first["seconds"]
        rate = self._members * (line["steps"] - self._first["steps"]) / seconds if seconds else 0.0
        task = line["task"]
        self._progress.update(
            self._task,
            completed=line["steps"],
            steps=f"{_short(line['steps'])} steps, {_short(rate)}/s",
            returns=f"mean {fmean(task):.0f}, best {max(task):.0f}, worst {min(task):.0f}",
        )

    def end(self) -> None:
        """Leave the bar as it is."""
        self._progress.stop()


def _short(number: int | float) -> str:
    return f"{number / 1e6:.2f}M" if number >= 1e6 else f"{number / 1e3:.1f}k"


def _report(population: "Population", directory: Path) -> None:
    from cochef.learning import runs, snapshots

    last = snapshots.read(directory / runs.SNAPSHOTS)[-1]
    seconds = runs.metrics(directory)[-1]["seconds"]
    table = Table(title=f"{population.method} in {population.layout.name}, seed {population.seed}")
    for heading in ("members", "mean return", "median", "learned", "steps each", "seconds"):
        table.add_column(heading, justify="right")
    numbers = (f"{fmean(last.returns):.1f}", f"{median(last.returns):.1f}", f"{_learned(population, last.returns):.0%}")
    table.add_row(str(len(last.returns)), *numbers, f"{last.steps:,}", f"{seconds:,.0f}")
    console = Console(highlight=False, soft_wrap=True)
    console.print(table)
    console.print(f"agents in {directory / runs.AGENTS}, curves in {directory / 'learning.png'}", markup=False)


def _learned(population: "Population", returns: Sequence[float]) -> float:
    """The share of members that fill at least one order an episode."""
    least = min(order.value for order in population.layout.orders)
    return fmean(earned >= least for earned in returns)
