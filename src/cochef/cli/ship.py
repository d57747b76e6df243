"""`cochef ship`: put agents of finished runs into the package."""

from dataclasses import dataclass, field
from pathlib import Path

from cochef.cli.arguments import LayoutName, MethodName, Seed, check_layout, check_seed
from cochef.cli.output import print_line
from cochef.experiments.presets import Overrides, PresetName


@dataclass
class Ship:
    """Put the best agent in training into the package, with its evaluation; for maintainers."""

    layout: LayoutName
    method: tuple[MethodName, ...] = ("hsp",)
    """One or more."""
    preset: PresetName = "laptop"
    """The settings of the run."""
    seed: Seed = 0
    overrides: Overrides = field(default_factory=Overrides)
    out: Path = Path("runs")
    """What was given to `cochef run --out`."""

    def run(self) -> int:
        """Choose and copy."""
        check_seed(self.seed)
        check_layout(self.layout)
        from cochef.experiments.shipping import ship
        from cochef.kitchen import layouts

        layout = layouts.get(self.layout)
        for method in self.method:
            path = ship(layout, method, self.preset, self.seed, self.overrides, self.out)
            print_line(f"written: {path}")
        return 0
