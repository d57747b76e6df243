"""`cochef ship`: put agents of finished runs into the package."""

from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from cochef.cli.seeds import check_seed
from cochef.experiments.presets import Changes, PresetName, RunMethod


@dataclass
class Ship:
    """Put the agent that did best in training into the package, with what it was measured at; for maintainers."""

    layout: str
    """The kitchen."""
    method: tuple[RunMethod, ...] = ("hsp",)
    """One or more."""
    preset: PresetName = "laptop"
    """The settings of the run."""
    seed: int = 0
    """The seed of the run."""
    changes: Changes = field(default_factory=Changes)
    out: Path = Path("runs")
    """What was given to `cochef run --out`."""

    def run(self) -> int:
        """Choose and copy."""
        check_seed(self.seed)
        from cochef.experiments.shipping import ship
        from cochef.kitchen import layouts

        for method in self.method:
            path = ship(layouts.get(self.layout), method, self.preset, self.seed, self.changes, self.out)
            Console(highlight=False, soft_wrap=True).print(f"written: {path}", markup=False)
        return 0
