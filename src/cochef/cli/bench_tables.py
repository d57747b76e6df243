"""The tables of `cochef bench`."""

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from cochef.benchmarks.environments import InterfaceComparison
    from cochef.benchmarks.kitchen import SimulatorComparison
    from cochef.benchmarks.learning_time import LearningTime, LearningTimes
    from cochef.benchmarks.scaling import Scaling
    from cochef.benchmarks.training import TrainingSpeed


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
            rate_text(point.rate),
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
    return [rate_text(median(rates)), rate_text(min(rates)), rate_text(max(rates))]


def _gigaflops(speeds: Sequence[float]) -> str:
    return f"{2 * median(speeds) / 1e9:.0f}"  # a multiply-add is two operations


def rate_text(steps: float) -> str:
    """Steps a second, in millions or thousands."""
    return f"{steps / 1e6:.2f} M" if steps >= 1e5 else f"{steps / 1e3:.2f} k"
