"""`cochef clone`: imitate the people of the recorded games."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.progress import track
from rich.table import Table

from cochef.cli.arguments import Seed, check_seed
from cochef.cli.output import JsonOption, print_json, print_line, print_table
from cochef.errors import InputError
from cochef.files import claim_directory, write_json
from cochef.learning.cloning_config import Cloning2019Config, CloningConfig, CloningRecipe

if TYPE_CHECKING:
    from cochef.learning.cloning_2019 import CloningReport2019
    from cochef.learning.cloning_report import CloningReport

_PROGRESS = "cloning people"
_HEADINGS = (
    *("layout", "half", "examples", "accuracy", "majority", "gain", "balanced", "weighed"),
    *("when acting", "majority", "loss", "marginal", "epoch"),
)


@dataclass
class CloneHumans:
    """Train clones of people by behaviour cloning, per layout.

    This takes minutes on two cores. The recipe `regularised` gives `human-proxy` from the test half
    of the games (for evaluation) and `human-clone` from the train half; the recipe `2019` gives
    `human-2019` from the test half, as Carroll et al. made theirs, from five seeds.
    """

    layouts: tuple[str, ...] = ()
    """Layouts whose players to clone; all that people played if none is given."""
    recipe: Literal["regularised", "2019"] = "regularised"
    """How people are cloned; all further settings are those of `regularised`."""
    out: Path = Path("runs/clones")
    """Directory for the agent files and report.json."""
    seed: Seed = 0
    config: CloningConfig = field(default_factory=CloningConfig)
    json: JsonOption = False

    def run(self) -> int:
        """Clone, save and report."""
        from cochef.human.games import games

        check_seed(self.seed)
        recipe = CloningRecipe(self.recipe)
        if recipe is CloningRecipe.CARROLL_2019 and self.config != CloningConfig():
            raise InputError(
                "settings of the recipe regularised with the recipe 2019; that takes none"
            )
        played = sorted({game.layout_name for game in games()})
        for name in self.layouts:
            if name not in played:
                raise InputError(f"nobody played {name!r}; people played: {', '.join(played)}")
        claim_directory(self.out)
        names = self.layouts or tuple(played)
        if recipe is CloningRecipe.CARROLL_2019:
            self._clone_2019(names)
        else:
            self._clone_regularised(names)
        return 0

    def _clone_regularised(self, names: tuple[str, ...]) -> None:
        from cochef.human.games import Split
        from cochef.kitchen import layouts
        from cochef.learning import cloning

        kinds = {Split.TEST: "human-proxy", Split.TRAIN: "human-clone"}
        wanted = [(name, split) for name in names for split in kinds]
        reports = []
        for name, split in track(wanted, _PROGRESS, console=Console(stderr=True)):
            layout = layouts.get(name)
            network, report = cloning.clone(layout, split, self.config, self.seed)
            path = self.out / f"{kinds[split]}-{name}.safetensors"
            cloning.save(path, layout, network, self.config, report)
            reports.append(report)
        self._show(_table(reports), reports)

    def _clone_2019(self, names: tuple[str, ...]) -> None:
        from cochef.human.games import Split
        from cochef.kitchen import layouts
        from cochef.learning import cloning_2019

        config = Cloning2019Config()
        reports = []
        for name in track(names, _PROGRESS, console=Console(stderr=True)):
            layout = layouts.get(name)
            networks, report = cloning_2019.clone_2019(layout, Split.TEST, config, self.seed)
            path = self.out / f"human-2019-{name}.safetensors"
            cloning_2019.save(path, layout, networks, config, report)
            reports.append(report)
        self._show(_table_2019(reports), reports)

    def _show(
        self, table: Table, reports: "Sequence[CloningReport] | Sequence[CloningReport2019]"
    ) -> None:
        write_json(self.out / "report.json", [asdict(report) for report in reports])
        if self.json:
            print_json([asdict(report) for report in reports])
            return
        print_table(table)
        print_line(f"agents in {self.out}")


def _table_2019(reports: "Sequence[CloningReport2019]") -> Table:
    table = Table(
        *("layout", "half", "examples", "epochs", "training loss", "held-out loss"),
        "loss on other people",
        title="Clones by the recipe of 2019: losses of the last epoch, mean of the seeds",
    )
    for report in reports:
        losses = (report.training_loss, report.held_out_loss, report.other_people_loss)
        table.add_row(
            report.layout,
            report.split,
            str(report.examples),
            str(report.epochs),
            *(f"{fmean(loss):.3f}" for loss in losses),
        )
    return table


def _table(reports: "Sequence[CloningReport]") -> Table:
    table = Table(
        *_HEADINGS,
        title="People predicted in stretches not trained on "
        "(balanced, weighed: always staying has 16.7%)",
    )
    for report in reports:
        estimates = (report.gain, report.balanced_accuracy, report.weighed_accuracy)
        table.add_row(
            report.layout,
            report.split,
            str(report.examples),
            f"{report.accuracy:.1%}",
            f"{report.majority:.1%}",
            *(f"{found.value:.1%} [{found.low:.1%}, {found.high:.1%}]" for found in estimates),
            f"{report.acting_accuracy:.1%}",
            f"{report.acting_majority:.1%}",
            f"{report.loss:.2f}",
            f"{report.marginal_loss:.2f}",
            str(report.epoch),
        )
    return table
