"""`cochef bench`: how fast things are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from cochef.cli.arguments import LayoutName
from cochef.cli.output import JsonOption, print_json, tables_console
from cochef.errors import InputError
from cochef.experiments.presets import PRESETS, PresetName
from cochef.files import write_json
from cochef.runtime import use_all_cores

if TYPE_CHECKING:
    from cochef.benchmarks.environments import InterfaceComparison
    from cochef.benchmarks.kitchen import SimulatorComparison
    from cochef.benchmarks.learning_time import LearningTime, LearningTimes
    from cochef.benchmarks.scaling import Scaling
    from cochef.benchmarks.training import TrainingSpeed

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
        if self.rounds < 1 or self.partners < 1:
            raise InputError(
                f"{self.rounds} rounds with {self.partners} partners; both take at least 1"
            )
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
            table.add_row(name, _rate(speed.rate(name)), f"{speed.share(name):.2f}")
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


def rates_table(comparison: "SimulatorComparison") -> Table:
    """Show the rates, a simulator a row."""
    title = f"{comparison.layout}, {comparison.kitchens:,} kitchens"
    table = Table("simulator", "observation", title=title)
    for heading in ("steps/s", "lowest", "highest", "compile"):
        table.add_column(heading, justify="right")
    for entry in comparison.entries:
        compiling = "-" if entry.compile_seconds is None else f"{entry.compile_seconds:.2f} s"
        table.add_row(
            entry.simulator, entry.observation, *_median_and_range(entry.rates), compiling
        )
    return table


def times_table(comparison: "SimulatorComparison") -> Table:
    """Show how many times faster our simulator is than each of the others."""
    table = Table("observation", title="how many times faster CoChef is")
    for peer in comparison.peers:
        table.add_column(f"than {peer.simulator}", justify="right")
    for own in comparison.own:
        times = [f"{own.times(peer):,.1f}" for peer in comparison.peers]
        table.add_row(own.observation, *times)
    return table


def interfaces_table(comparison: "InterfaceComparison") -> Table:
    """Show an interface a row, and how many times as fast as overcooked_ai it is."""
    table = Table("interface", "observation", title=f"{comparison.layout}, stepped from Python")
    for heading in ("kitchens", "steps/s", "lowest", "highest", "times overcooked_ai"):
        table.add_column(heading, justify="right")
    for entry in comparison.entries:
        times = comparison.times_reference(entry)
        table.add_row(
            entry.interface,
            entry.observation,
            f"{entry.kitchens:,}",
            *_median_and_range(entry.rates),
            "-" if times is None else f"{times:,.1f}",
        )
    partners = sorted({entry.partner for entry in comparison.entries} - {""})
    table.caption = f"partner in Gymnasium: {', '.join(partners)}; elsewhere random actions of both"
    return table


def scaling_table(scaling: "Scaling") -> Table:
    """Show a measurement a row."""
    table = Table()
    table.add_column("layout", no_wrap=True)
    table.add_column("observation")
    for heading in ("kitchens", "steps/s", "one step of all"):
        table.add_column(heading, justify="right")
    for point in (*scaling.by_kitchens, *scaling.by_layout):
        table.add_row(
            point.layout,
            point.observation,
            f"{point.kitchens:,}",
            _rate(point.rate),
            f"{point.microseconds:,.0f} µs",
        )
    return table


def training_table(speed: "TrainingSpeed") -> Table:
    """Show how fast each population learns, and the peers."""
    table = Table("learner", title=f"{speed.layout}, rollout and updates")
    for heading in ("members", "steps/s", "lowest", "highest"):
        table.add_column(heading, justify="right")
    if speed.peer_rates:
        table.add_column("times IPPO", justify="right")
    for timing in speed.timings:
        times = speed.times_peer(timing)
        cells = [timing.method, str(timing.members), *_median_and_range(timing.rates)]
        if times is not None:
            cells.append(f"{times:.1f}")
        table.add_row(*cells)
    for peer, rates in speed.peer_rates.items():
        table.add_row(peer, "1", *_median_and_range(rates), "1.0")
    caption = f"HSP at {speed.biased_share:.2f} of the rate of self-play with as many members"
    if speed.peer_rates:
        caption += "; times IPPO: adaptive agents next to the recurrent one"
    table.caption = caption
    return table


def profile_table(speed: "TrainingSpeed") -> Table:
    """Show where the time of an iteration goes, and the update's share of the machine's rate."""
    table = Table("learner", title="seconds of an iteration")
    for heading in ("members", "all", "rollout", "advantages", "update", "GFLOPS", "share"):
        table.add_column(heading, justify="right")
    for timing in speed.timings:
        parts = (timing.iteration, timing.rollout, timing.advantages, timing.update)
        table.add_row(
            timing.method,
            str(timing.members),
            *(f"{median(part):.3f}" for part in parts),
            _gigaflops(timing.speeds),
            f"{speed.product_share(timing):.0%}",
        )
    table.caption = (
        "GFLOPS of the update, and its share of those of a matrix product on all cores, "
        f"{_gigaflops(speed.product)} GFLOPS"
    )
    return table


def learning_table(times: "LearningTimes", peer: str | None) -> Table:
    """Show how long each seed learned."""
    table = Table("learner", title=f"to a mean task return of {times.target:g}")
    for heading in ("seed", "seconds", "steps", "mean return", "compile"):
        table.add_column(heading, justify="right")
    together = f"CoChef, {len(times.together)} at once"
    _add_learners(table, "CoChef", times.alone)
    _add_learners(table, together, times.together)
    _add_learners(table, peer or "", times.peer)
    ratios = []
    if times.together_seconds is not None:
        ratios.append(f"{together}: {times.together_seconds:.1f} s a seed")
    if times.share is not None:
        # A peer that stopped before the target would have needed longer.
        bound = "" if all(one.reached for one in times.peer) else "at most "
        ratios.append(f"one at a time: {bound}{times.share:.2f} of the time of {peer} (medians)")
    table.caption = "; ".join(ratios)
    return table


def _add_learners(table: Table, name: str, results: "Sequence[LearningTime]") -> None:
    for seed, one in enumerate(results, start=1):
        table.add_row(
            name,
            str(seed),
            f"{one.seconds:.1f}" if one.reached else f"not within {one.seconds:.1f}",
            f"{one.steps:,}",
            "-" if one.mean_return is None else f"{one.mean_return:.0f}",
            f"{one.compile_seconds:.1f} s",
        )


def _median_and_range(rates: Sequence[float]) -> list[str]:
    """The median, the lowest and the highest rate."""
    return [_rate(median(rates)), _rate(min(rates)), _rate(max(rates))]


def _gigaflops(speeds: Sequence[float]) -> str:
    return f"{2 * median(speeds) / 1e9:.0f}"  # a multiply-add is two operations


def _rate(steps: float) -> str:
    return f"{steps / 1e6:.2f} M" if steps >= 1e5 else f"{steps / 1e3:.2f} k"
