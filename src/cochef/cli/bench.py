"""`cochef bench`: how fast things are."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from cochef.cli.arguments import LayoutName
from cochef.cli.bench_tables import (
    interfaces_table,
    learning_table,
    profile_table,
    rate_text,
    rates_table,
    scaling_table,
    times_table,
    training_table,
)
from cochef.cli.output import JsonOption, print_json, tables_console
from cochef.experiments.presets import PRESETS, PresetName
from cochef.files import write_json
from cochef.runtime import use_all_cores
from cochef.validation import whole_number

PEERS = Path(".venv-peers")
QUICK_SECONDS = 0.5

Rounds = Annotated[
    int,
    tyro.conf.arg(
        help="Everything is measured once a round, in turns; shown are medians over the rounds."
    ),
]
PeerEnvironment = Annotated[
    Path | None,
    tyro.conf.arg(
        help="The environment (or its Python) with the simulators and learners of others; "
        f"{PEERS} if it is there."
    ),
]
NumbersFile = Annotated[Path | None, tyro.conf.arg(help="Write all numbers to this file as JSON.")]


@dataclass
class BenchKitchen:
    """Measure how fast kitchens are stepped.

    Actions are random, and the observations of both chefs are computed, stored and read.
    """

    layout: LayoutName = "coordination_ring"
    kitchens: int = 1024
    """How many are stepped at once."""
    rounds: Rounds = 5
    seconds: float = 1.0
    """How long a simulator is measured in a round."""
    peers: PeerEnvironment = None
    quick: bool = False
    """Only our own rates, in a few seconds."""
    scaling: Path | None = None
    """Draw how our rates change with the number of kitchens and the layout into this file."""
    out: NumbersFile = None
    json: JsonOption = False

    def run(self) -> int:
        """Measure and show."""
        use_all_cores()
        from cochef.benchmarks.kitchen import compare, own_rates
        from cochef.kitchen import layouts

        console = tables_console(stderr=self.json)
        layout = layouts.get(self.layout)
        with console.status("starting") as status:
            if self.scaling is not None:
                return self._scale(self.scaling, console, status.update)
            if self.quick:
                comparison = own_rates(layout, self.kitchens, QUICK_SECONDS)
            else:
                python = _peer_python(self.peers)
                comparison = compare(
                    layout, self.kitchens, self.rounds, self.seconds, python, status.update
                )
        console.print(rates_table(comparison))
        if comparison.peers:
            console.print(times_table(comparison))
        elif not self.quick:
            _print_how_to_get_peers(console, "simulators")
        _write(self.out, comparison.to_json(), as_json=self.json)
        return 0

    def _scale(self, picture: Path, console: Console, log: Callable[[str], None]) -> int:
        from cochef.benchmarks import scaling
        from cochef.kitchen import layouts

        scaling.check_picture(picture)
        every = [layouts.get(name) for name in layouts.names()]
        layout = layouts.get(self.layout)
        measured = scaling.measure(
            layout, scaling.KITCHENS, every, self.kitchens, self.seconds, log
        )
        scaling.draw(measured, picture)
        console.print(scaling_table(measured))
        console.print(f"drawn: {picture}", markup=False)
        _write(self.out, measured.to_json(), as_json=self.json)
        return 0


@dataclass
class BenchEnvironments:
    """Measure how fast each interface steps kitchens from Python.

    Gymnasium (one kitchen and many), PettingZoo and JaxMARL's signature, next to JaxMARL and to
    overcooked_ai with its encoding.
    """

    layout: LayoutName = "cramped_room"
    partner: str = "script:onion_placement"
    """Who plays the other chef in Gymnasium's environments."""
    kitchens: int = 256
    """How many the vector environment steps at once."""
    rounds: Rounds = 5
    seconds: float = 1.0
    """How long an interface is measured in a round."""
    peers: PeerEnvironment = None
    out: NumbersFile = None
    json: JsonOption = False

    def run(self) -> int:
        """Measure and show."""
        from cochef.benchmarks import kitchen
        from cochef.benchmarks.environments import compare
        from cochef.kitchen import layouts

        kitchen.check_kitchens(self.kitchens)
        console = tables_console(stderr=self.json)
        layout = layouts.get(self.layout)
        with console.status("starting") as status:
            comparison = compare(
                layout,
                self.partner,
                self.kitchens,
                self.rounds,
                self.seconds,
                _peer_python(self.peers),
                status.update,
            )
        console.print(interfaces_table(comparison))
        _write(self.out, comparison.to_json(), as_json=self.json)
        return 0


@dataclass
class BenchPartners:
    """Measure how fast scripted partners play next to random actions, and an evaluation's time."""

    layout: LayoutName = "coordination_ring"
    kitchens: int = 1024
    """How many are played at once."""
    rounds: Rounds = 5
    partners: int = 10
    """Partners of the evaluation, each with 100 episodes in both seats."""
    out: NumbersFile = None
    json: JsonOption = False

    def run(self) -> int:
        """Measure and show."""
        from cochef.benchmarks import kitchen, partners
        from cochef.kitchen import layouts

        kitchen.check_kitchens(self.kitchens)
        whole_number(self.rounds, "rounds", 1)
        whole_number(self.partners, "partners", 1)
        console = tables_console(stderr=self.json)
        layout = layouts.get(self.layout)
        with console.status("starting") as status:
            speed = partners.measure(
                layout, self.kitchens, self.rounds, self.partners, 100, status.update
            )
        table = Table("both seats", title=f"{speed.layout}, {speed.kitchens:,} kitchens")
        table.add_column("steps a second", justify="right")
        table.add_column("share of random", justify="right")
        for name in speed.rates:
            table.add_row(name, rate_text(speed.rate(name)), f"{speed.share(name):.2f}")
        console.print(table)
        console.print(
            f"An evaluation with {speed.evaluation_partners} partners x 2 seats x "
            f"{speed.evaluation_episodes} episodes took {speed.evaluation_seconds:.1f} s after "
            f"{speed.evaluation_compile_seconds:.1f} s of compiling."
        )
        _write(self.out, speed.to_json(), as_json=self.json)
        return 0


@dataclass
class BenchTraining:
    """Measure how fast populations learn, next to JaxMARL's IPPO.

    Shows environment steps a second, where the time goes, and how long learning takes.
    """

    layout: LayoutName = "coordination_ring"
    preset: PresetName = "laptop"
    """The settings of the learners."""
    rounds: Rounds = 3
    seeds: int = 3
    """How often both sides learn to a mean task return of 100; 0 for never."""
    peers: PeerEnvironment = None
    quick: bool = False
    """Only our own rates, with 8 members, once."""
    out: NumbersFile = None
    json: JsonOption = False

    def run(self) -> int:
        """Measure and show."""
        use_all_cores()
        from cochef.benchmarks.training import TrainingBenchmark, measure
        from cochef.kitchen import layouts

        console = tables_console(stderr=self.json)
        layout = layouts.get(self.layout)
        preset = PRESETS[self.preset]
        benchmark = TrainingBenchmark(layout, preset.first_stage, preset.second_stage.training)
        if self.quick:
            python = None
            benchmark = replace(
                benchmark, populations=(8,), rounds=1, seconds=QUICK_SECONDS, seeds=0
            )
        else:
            python = _peer_python(self.peers)
            benchmark = replace(benchmark, rounds=self.rounds, seeds=self.seeds)
        with console.status("starting") as status:
            speed = measure(benchmark, python, status.update)
        console.print(training_table(speed))
        console.print(profile_table(speed))
        if speed.learning_times:
            console.print(learning_table(speed.learning_times, next(iter(speed.peer_rates), None)))
        if not self.quick and not python:
            _print_how_to_get_peers(console, "learners")
        _write(self.out, speed.to_json(), as_json=self.json)
        return 0


def _peer_python(given: Path | None) -> Path | None:
    """The Python of the peers; None if no environment is given and the usual one is missing."""
    from cochef.benchmarks.peers.process import interpreter

    return interpreter(given or PEERS) if given or PEERS.exists() else None


def _print_how_to_get_peers(console: Console, what: str) -> None:
    from cochef.benchmarks.peers.process import REMEDY

    console.print(f"Without the {what} of others, as there is no {PEERS}: {REMEDY}.")


def _write(out: Path | None, numbers: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(numbers)
    if out is not None:
        write_json(out, numbers)
