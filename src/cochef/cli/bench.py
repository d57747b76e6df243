"""`cochef bench`: how fast things are."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from cochef.errors import InputError
from cochef.files import write_whole

if TYPE_CHECKING:
    from cochef.benchmarks.kitchen import Contest, Tell
    from cochef.benchmarks.scaling import Scaling

PEERS = Path(".venv-peers")
QUICK_SECONDS = 0.5


@dataclass
class BenchKitchen:
    """Measure how fast kitchens are stepped: random actions, what both chefs see computed, stored and read."""

    layout: str = "coordination_ring"
    """A kitchen that ships with the package (see `cochef layouts`), or the path of a layout file."""

    kitchens: int = 1024
    """How many are stepped at once."""

    rounds: int = 5
    """Every simulator is measured once a round, in turns; shown are medians over the rounds."""

    seconds: float = 1.0
    """How long a simulator is measured in a round."""

    peers: Path | None = None
    """The environment (or its Python) with the simulators of others; .venv-peers if it is there."""

    quick: bool = False
    """Only our own rates, in a few seconds."""

    scaling: Path | None = None
    """Measure instead how our rates change with the number of kitchens and the layout; draw it into this file."""

    out: Path | None = None
    """Write all numbers to this file as JSON."""

    def run(self) -> int:
        """Measure and show."""
        from cochef.benchmarks.kitchen import compare, own_rates
        from cochef.benchmarks.peers.process import REMEDY, interpreter
        from cochef.compilation import keep_compiled
        from cochef.kitchen import layouts

        keep_compiled()
        console = Console(highlight=False)
        layout = layouts.get(self.layout)
        with console.status("starting") as status:
            if self.scaling is not None:
                return self._scale(console, status.update)
            if self.quick:
                contest = own_rates(layout, self.kitchens, QUICK_SECONDS)
            else:
                python = interpreter(self.peers or PEERS) if self.peers or PEERS.exists() else None
                contest = compare(layout, self.kitchens, self.rounds, self.seconds, python, status.update)
        console.print(rates_table(contest))
        if contest.peers:
            console.print(times_table(contest))
        elif not self.quick:
            console.print(f"Without the simulators of others, as there is no {PEERS}: {REMEDY}.")
        _write(self.out, contest.to_json())
        return 0

    def _scale(self, console: Console, tell: "Tell") -> int:
        from cochef.benchmarks import scaling
        from cochef.kitchen import layouts

        assert self.scaling is not None
        scaling.check_picture(self.scaling)
        every = [layouts.get(name) for name in layouts.names()]
        layout = layouts.get(self.layout)
        measured = scaling.measure(layout, scaling.KITCHENS, every, self.kitchens, self.seconds, tell)
        scaling.draw(measured, self.scaling)
        console.print(scaling_table(measured))
        console.print(f"drawn: {self.scaling}", markup=False, soft_wrap=True)
        _write(self.out, measured.to_json())
        return 0


@dataclass
class BenchPartners:
    """Measure how fast scripted partners play next to random actions, and how long an evaluation takes."""

    layout: str = "coordination_ring"
    """A kitchen that ships with the package, or the path of a layout file."""
    kitchens: int = 1024
    """How many are played at once."""
    rounds: int = 5
    """Everybody is measured once a round, in turns; shown are medians over the rounds."""
    partners: int = 10
    """Partners of the evaluation, each with 100 episodes in both seats."""
    out: Path | None = None
    """Write all numbers to this file as JSON."""

    def run(self) -> int:
        """Measure and show."""
        from cochef.benchmarks import kitchen, partners
        from cochef.compilation import keep_compiled
        from cochef.kitchen import layouts

        kitchen.check_kitchens(self.kitchens)
        if self.rounds < 1 or self.partners < 1:
            raise InputError(f"{self.rounds} rounds with {self.partners} partners; both take at least 1")
        keep_compiled()
        console, layout = Console(highlight=False), layouts.get(self.layout)
        with console.status("starting") as status:
            speed = partners.measure(layout, self.kitchens, self.rounds, self.partners, 100, status.update)
        table = Table("both seats", title=f"{speed.layout}, {speed.kitchens:,} kitchens")
        table.add_column("steps a second", justify="right")
        table.add_column("share of random", justify="right")
        for name in speed.rates:
            table.add_row(name, _rate(speed.rate(name)), f"{speed.share(name):.2f}")
        console.print(table)
        console.print(
            f"An evaluation with {speed.evaluation_partners} partners x 2 seats x {speed.evaluation_episodes} episodes "
            f"took {speed.evaluation_seconds:.1f} s after {speed.evaluation_compile_seconds:.1f} s of compiling."
        )
        _write(self.out, speed.to_json())
        return 0


@dataclass
class Bench:
    """Measure how fast things are."""

    what: (
        Annotated[BenchKitchen, tyro.conf.subcommand("kitchen")]
        | Annotated[BenchPartners, tyro.conf.subcommand("partners")]
    )

    def run(self) -> int:
        """Measure what was asked."""
        return self.what.run()


def _write(out: Path | None, numbers: dict[str, Any]) -> None:
    if out is not None:
        write_whole(out, (json.dumps(numbers, indent=2) + "\n").encode())


def rates_table(contest: "Contest") -> Table:
    """What was measured, a simulator a row."""
    table = Table("simulator", "observation", title=f"{contest.layout}, {contest.kitchens:,} kitchens")
    for heading in ("steps/s", "lowest", "highest", "compile"):
        table.add_column(heading, justify="right")
    for entry in contest.entries:
        compiling = "-" if entry.compile_seconds is None else f"{entry.compile_seconds:.2f} s"
        rates = [_rate(steps) for steps in (entry.rate, min(entry.rates), max(entry.rates))]
        table.add_row(entry.simulator, entry.observation, *rates, compiling)
    return table


def times_table(contest: "Contest") -> Table:
    """How many times faster our simulator is than each of the others."""
    table = Table("observation", title="how many times faster CoChef is")
    for peer in contest.peers:
        table.add_column(f"than {peer.simulator}", justify="right")
    for own in contest.own:
        table.add_row(own.observation, *(f"{own.times(peer):,.1f}" for peer in contest.peers))
    return table


def scaling_table(scaling: "Scaling") -> Table:
    """A measurement a row."""
    table = Table()
    table.add_column("layout", no_wrap=True)
    table.add_column("observation")
    for heading in ("kitchens", "steps/s", "one step of all"):
        table.add_column(heading, justify="right")
    for point in (*scaling.by_kitchens, *scaling.by_layout):
        took = f"{point.microseconds:,.0f} µs"
        table.add_row(point.layout, point.observation, f"{point.kitchens:,}", _rate(point.rate), took)
    return table


def _rate(steps: float) -> str:
    return f"{steps / 1e6:.2f} M" if steps >= 1e5 else f"{steps / 1e3:.2f} k"
