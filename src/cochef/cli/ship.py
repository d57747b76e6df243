"""`cochef ship`: put agents and pools of finished runs into the package."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
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
    method: tuple[MethodName, ...] = ()
    """Whose agents ship; those of all methods with a second stage if none is given."""
    pools: tuple[MethodName, ...] = ()
    """Whose pools ship, all of a layout or none; no pools if none is given."""
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
        from cochef import methods
        from cochef.experiments.shipping import Shipment
        from cochef.kitchen import layouts

        shipment = Shipment(self.preset, self.seed, self.overrides, self.out, self.into)
        chosen = self.method or [method.name for method in methods.every() if method.pool]
        written = 0
        for layout in map(layouts.get, self.layout):
            for method in chosen:
                written += _tried(partial(shipment.ship_agent, layout, method))
            if self.pools:
                written += _tried(partial(shipment.ship_pools, layout, self.pools))
        if not written:
            raise InputError(f"{self.out}: nothing of this is finished there")
        return 0


def _tried(ship: Callable[[], Path]) -> bool:
    """Ship, and say where it is, or why it is left out."""
    try:
        print_line(f"written: {ship()}")
    except InputError as error:
        print_line(f"left out: {error}")
        return False
    return True
