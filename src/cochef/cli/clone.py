"""`cochef clone`: imitate the people of the recorded games."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import track
from rich.table import Table

from cochef.cli.arguments import Seed, check_seed
from cochef.cli.output import write_json
from cochef.errors import InputError
from cochef.files import claim_directory
from cochef.learning.cloning_config import CloningConfig

if TYPE_CHECKING:
    from cochef.learning.cloning_report import CloningReport

_HEADINGS = (
    *("layout", "half", "examples", "accuracy", "majority", "gain", "balanced", "weighed"),
    *("when acting", "majority", "loss", "marginal", "epoch"),
)


@dataclass
class CloneHumans:
    """Train clones of people by behaviour cloning, per layout and half of the games.

    This takes minutes on two cores. The test half gives `human-proxy` (for evaluation), the train
    half `human-clone`.
    """

    layouts: tuple[str, ...] = ()
    """Layouts whose players to clone; all that people played if none is given."""
    out: Path = Path("runs/clones")
    """Directory for the agent files and report.json."""
    seed: Seed = 0
    config: CloningConfig = field(default_factory=CloningConfig)

    def run(self) -> int:
        """Clone, save and report."""
        from cochef.human.games import Split, games
        from cochef.kitchen import layouts
        from cochef.learning import cloning

        check_seed(self.seed)
        claim_directory(self.out)
        played = sorted({game.layout_name for game in games()})
        for name in self.layouts:
            if name not in played:
                raise InputError(f"nobody played {name!r}; people played: {', '.join(played)}")
        kinds = {Split.TEST: "human-proxy", Split.TRAIN: "human-clone"}
        wanted = [(name, split) for name in self.layouts or played for split in kinds]
        reports = []
        for name, split in track(wanted, "cloning people", console=Console(stderr=True)):
            layout = layouts.get(name)
            network, report = cloning.clone(layout, split, self.config, self.seed)
            path = self.out / f"{kinds[split]}-{name}.safetensors"
            cloning.save(path, layout, network, self.config, report)
            reports.append(report)
        write_json(self.out / "report.json", [asdict(report) for report in reports])
        Console().print(_table(reports), f"agents in {self.out}")
        return 0


def _table(reports: "list[CloningReport]") -> Table:
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
