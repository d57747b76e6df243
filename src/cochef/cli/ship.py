"""`cochef ship`: put agents and pools of finished runs into the package."""

from dataclasses import dataclass, field
from pathlib import Path

from cochef.cli.arguments import LayoutName, MethodName, Seed, check_layout, check_seed
from cochef.cli.output import print_line
from cochef.errors import InputError
from cochef.experiments.presets import Overrides, PresetName


@dataclass
class Ship:
    """Put agents and pools of finished runs into the package; for maintainers.

    Of each method, the best agent in training ships, with its evaluation. What is not finished is
    left out, and said.
    """

    layout: tuple[LayoutName, ...]
    """One or more."""
    method: tuple[MethodName, ...] = ("hsp", "fcp", "mep", "trajdiv")
    """Whose agents ship."""
    pools: tuple[MethodName, ...] = ("hsp", "fcp", "mep")
    """Whose pools ship, all of a layout or none."""
    preset: PresetName = "laptop"
    """The settings of the run."""
    seed: Seed = 0
    overrides: Overrides = field(default_factory=Overrides)
    out: Path = Path("runs")
    """What was given to `cochef run --out` or `cochef reproduce --out`."""
    into: Path | None = None
    """Where to; into the package if not given."""

    def run(self) -> int:
        """Choose and copy."""
        check_seed(self.seed)
        for name in self.layout:
            check_layout(name)
        from cochef.experiments import shipping
        from cochef.kitchen import layouts

        settings = (self.preset, self.seed, self.overrides, self.out, self.into)
        written = 0
        for name in self.layout:
            layout = layouts.get(name)
            for method in self.method:
                try:
                    path = shipping.ship(layout, method, *settings)
                except InputError as error:
                    print_line(f"left out: {error}")
                    continue
                print_line(f"written: {path}")
                written += 1
            if not self.pools:
                continue
            try:
                path = shipping.ship_pools(layout, self.pools, *settings)
            except InputError as error:
                print_line(f"left out: {error}")
                continue
            print_line(f"written: {path}")
            written += 1
        if not written:
            raise InputError(f"{self.out}: nothing of this is finished there")
        return 0
