"""`cochef train`: train a population, the first stage of a method."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Annotated

import tyro

from cochef import interrupts
from cochef.cli.arguments import LayoutName, MethodName, Seed, check_layout, check_seed
from cochef.cli.output import JsonOption, log, print_line, print_rows
from cochef.cli.progress import RESUMES, training_progress
from cochef.experiments.presets import PresetName
from cochef.files import claim_directory
from cochef.runtime import use_all_cores

if TYPE_CHECKING:
    from cochef.experiments.stages import TrainPopulation
    from cochef.learning.writers import MetricsWriter


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
    """An agent file, the directory of a run, or KIND:LAYOUT that ships, to be trained further."""
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
        writers: list[MetricsWriter] = [training_progress()]
        if self.tensorboard:
            writers.append(TensorBoardWriter(directory / "tensorboard"))
        stage.run(JobContext(directory, inputs, writers, log))
        _report(stage, directory, as_json=self.json)
        return 0


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
