"""`cochef bench`: how fast things are."""

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from cochef.errors import InputError
from cochef.experiments.presets import PRESETS, PresetName
from cochef.files import write_whole

if TYPE_CHECKING:
    from cochef.benchmarks.kitchen import Contest, Tell
    from cochef.benchmarks.race import Race
    from cochef.benchmarks.scaling import Scaling
    from cochef.benchmarks.training import TrainingSpeed

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
        from cochef.kitchen import layouts

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
        from cochef.kitchen import layouts

        kitchen.check_kitchens(self.kitchens)
        if self.rounds < 1 or self.partners < 1:
            raise InputError(f"{self.rounds} rounds with {self.partners} partners; both take at least 1")
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
class BenchTraining:
    """Measure how fast populations learn, where the time goes, and how long learning takes, next to JaxMARL's IPPO."""

    layout: str = "coordination_ring"
    """A kitchen that ships with the package, or the path of a layout file."""
    preset: PresetName = "laptop"
    """The settings of the learners."""
    rounds: int = 3
    """Everything is measured once a round, in turns; shown are medians over the rounds."""
    seeds: int = 3
    """How often both sides learn to a mean task return of 100; 0 for never."""
    peers: Path | None = None
    """The environment (or its Python) with the learners of others; .venv-peers if it is there."""
    quick: bool = False
    """Only our own rates, with 8 members, once."""
    out: Path | None = None
    """Write all numbers to this file as JSON."""

    def run(self) -> int:
        """Measure and show."""
        from cochef.runtime import use_all_cores

        use_all_cores()
        from cochef.benchmarks import training
        from cochef.benchmarks.peers.process import REMEDY, interpreter
        from cochef.kitchen import layouts

        console, layout = Console(highlight=False), layouts.get(self.layout)
        config = PRESETS[self.preset].training
        python = None
        if self.quick:
            plan = training.Plan(layout, config, populations=(8,), rounds=1, seconds=QUICK_SECONDS, seeds=0)
        else:
            plan = training.Plan(layout, config, rounds=self.rounds, seeds=self.seeds)
            python = interpreter(self.peers or PEERS) if self.peers or PEERS.exists() else None
        with console.status("starting") as status:
            speed = training.measure(plan, python, status.update)
        console.print(training_table(speed))
        console.print(profile_table(speed))
        if speed.race:
            console.print(race_table(speed.race, speed.peer))
        if not self.quick and not python:
            console.print(f"Without the learners of others, as there is no {PEERS}: {REMEDY}.")
        _write(self.out, speed.to_json())
        return 0


@dataclass
class Bench:
    """Measure how fast things are."""

    what: (
        Annotated[BenchKitchen, tyro.conf.subcommand("kitchen")]
        | Annotated[BenchPartners, tyro.conf.subcommand("partners")]
        | Annotated[BenchTraining, tyro.conf.subcommand("training")]
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


def training_table(speed: "TrainingSpeed") -> Table:
    """How fast each population learns, and the peer."""
    table = Table("learner", title=f"{speed.layout}, rollout and updates")
    for heading in ("members", "steps/s", "lowest", "highest"):
        table.add_column(heading, justify="right")
    if speed.peer:
        table.add_column(f"times {speed.peer}", justify="right")
    for timing in speed.timings:
        rates = [_rate(steps) for steps in (timing.rate, min(timing.rates), max(timing.rates))]
        times = speed.times_peer(timing)
        table.add_row(timing.method, str(timing.members), *rates, *([] if times is None else [f"{times:.1f}"]))
    if speed.peer:
        rates = [_rate(choose(speed.peer_rates)) for choose in (median, min, max)]
        table.add_row(speed.peer, "1", *rates, "1.0")
    table.caption = f"HSP at {speed.biased_share:.2f} of the rate of self-play with as many members"
    return table


def profile_table(speed: "TrainingSpeed") -> Table:
    """Where the time of an iteration goes, and what the update reaches of the machine's own rate."""
    table = Table("learner", title="seconds of an iteration")
    for heading in ("members", "all", "play", "judge", "update", "update, GFLOPS", "of a matrix product"):
        table.add_column(heading, justify="right")
    for timing in speed.timings:
        parts = [f"{median(part):.3f}" for part in (timing.iteration, timing.play, timing.judge, timing.update)]
        share = f"{speed.product_share(timing):.0%}"
        table.add_row(timing.method, str(timing.members), *parts, _gigaflops(timing.speeds), share)
    table.caption = f"a matrix product on all cores: {_gigaflops(speed.product)} GFLOPS"
    return table


def race_table(race: "Race", peer: str | None) -> Table:
    """How long each seed learned."""
    table = Table("learner", title=f"to a mean task return of {race.target:g}")
    for heading in ("seed", "seconds", "steps", "mean return", "compile"):
        table.add_column(heading, justify="right")
    together = f"CoChef, {len(race.together)} at once"
    for name, results in (("CoChef", race.alone), (together, race.together), (peer or "", race.peer)):
        for seed, learnt in enumerate(results, start=1):
            seconds = f"{learnt.seconds:.1f}" if learnt.reached else f"not within {learnt.seconds:.1f}"
            mean = "-" if learnt.mean_return is None else f"{learnt.mean_return:.0f}"
            table.add_row(name, str(seed), seconds, f"{learnt.steps:,}", mean, f"{learnt.compile_seconds:.1f} s")
    ratios = []
    if race.together_seconds is not None:
        ratios.append(f"{together}: {race.together_seconds:.1f} s a seed")
    if race.share is not None:
        bound = "" if all(learnt.reached for learnt in race.peer) else "at most "
        ratios.append(f"one at a time: {bound}{race.share:.2f} of the time of {peer} (medians)")
    table.caption = "; ".join(ratios)
    return table


def _gigaflops(speeds: tuple[float, ...]) -> str:
    return f"{2 * median(speeds) / 1e9:.0f}"  # a multiply-add is two operations


def _rate(steps: float) -> str:
    return f"{steps / 1e6:.2f} M" if steps >= 1e5 else f"{steps / 1e3:.2f} k"
