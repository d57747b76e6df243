"""`cochef clone`: imitate the people of the recorded games."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import track
from rich.table import Table

from cochef.cli.seeds import check_seed
from cochef.errors import InputError
from cochef.files import claim_directory, write_whole
from cochef.learning.cloning_config import CloningConfig

if TYPE_CHECKING:
    from cochef.learning.cloning_report import CloningReport


@dataclass
class Clone:
    """Train clones of people by behaviour cloning, per kitchen and half of the games (minutes on two cores).

    The test half gives `human-proxy` (for measuring), the train half `human-clone`.
    """

    layouts: tuple[str, ...] = ()
    """Kitchens whose players to clone; all that people played if none is given."""
    out: Path = Path("runs/clones")
    """Directory for the agent files and report.json."""
    seed: int = 0
    """Where all randomness comes from."""
    config: CloningConfig = field(default_factory=CloningConfig)

    def run(self) -> int:
        """Clone, save and report."""
        from cochef.human.games import Split, games
        from cochef.kitchen import layouts
        from cochef.learning import cloning

        check_seed(self.seed)
        claim_directory(self.out)
        played = sorted({game.layout for game in games()})
        for name in self.layouts:
            if name not in played:
                raise InputError(f"nobody played {name!r}; people played: {', '.join(played)}")
        kinds = {Split.TEST: "human-proxy", Split.TRAIN: "human-clone"}
        jobs = [(name, split) for name in self.layouts or played for split in kinds]
        reports = []
        for name, split in track(jobs, "cloning people", console=Console(stderr=True)):
            layout = layouts.get(name)
            network, report = cloning.clone(layout, split, self.config, self.seed)
            cloning.save(self.out / f"{kinds[split]}-{name}.safetensors", layout, network, self.config, report)
            reports.append(report)
        text = json.dumps([asdict(report) for report in reports], indent=1) + "\n"
        write_whole(self.out / "report.json", text.encode())
        Console().print(_table(reports), f"agents in {self.out}")
        return 0


def _table(reports: "list[CloningReport]") -> Table:
    header = ("kitchen", "half", "examples", "accuracy", "majority", "gain", "balanced", "weighed", "when acting")
    table = Table(
        *header,
        *("majority", "loss", "marginal", "epoch"),
        title="People predicted in stretches not trained on (balanced, weighed: always staying has 16.7%)",
    )
    for report in reports:
        estimates = (report.gain, report.balanced_accuracy, report.weighed_accuracy)
        table.add_row(
            *(report.layout, report.split, str(report.examples), f"{report.accuracy:.1%}", f"{report.majority:.1%}"),
            *(f"{found.value:.1%} [{found.low:.1%}, {found.high:.1%}]" for found in estimates),
            *(f"{report.acting_accuracy:.1%}", f"{report.acting_majority:.1%}"),
            *(f"{report.loss:.2f}", f"{report.marginal_loss:.2f}", str(report.epoch)),
        )
    return table
