"""How our rates change with the number of kitchens and the layout, measured and drawn."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cochef.benchmarks.kitchen import OBSERVATIONS, check_kitchens, machine, shards, simulator
from cochef.benchmarks.loop import SimulatorRunner
from cochef.errors import InputError
from cochef.evaluation import plots
from cochef.kitchen.layout import Layout

KITCHENS = tuple(4**power for power in range(8))  # 1 to 16,384

_REPEATS = 5
_COLOURS = {"none": "#7a7a7a", "compact": plots.BLUE, "26 planes": plots.VERMILION}


@dataclass(frozen=True)
class ScalingPoint:
    """One measurement: kitchen steps a second."""

    layout: str
    kitchens: int
    observation: str
    rate: float

    @property
    def microseconds(self) -> float:
        """How long one step of all the kitchens takes."""
        return self.kitchens / self.rate * 1e6


@dataclass(frozen=True)
class Scaling:
    """Rates in one layout over numbers of kitchens, and in many layouts at one number."""

    by_kitchens: tuple[ScalingPoint, ...]
    by_layout: tuple[ScalingPoint, ...]

    def to_json(self) -> dict[str, Any]:
        """All numbers, and what they were measured with."""
        return {**asdict(self), "machine": machine()}


def measure(
    layout: Layout,
    counts: Sequence[int],
    others: Sequence[Layout],
    kitchens: int,
    seconds: float,
    log: Callable[[str], None],
) -> Scaling:
    """Measure one layout over numbers of kitchens, and some layouts at one number."""
    for count in (*counts, kitchens):
        check_kitchens(count)
    by_kitchens = [
        _measure_point(layout, count, name, seconds, log)
        for count in counts
        for name in OBSERVATIONS
    ]
    by_layout = [
        _measure_point(other, kitchens, name, seconds, log)
        for other in others
        for name in OBSERVATIONS
    ]
    return Scaling(tuple(by_kitchens), tuple(by_layout))


def _measure_point(
    layout: Layout, kitchens: int, observation: str, seconds: float, log: Callable[[str], None]
) -> ScalingPoint:
    log(f"{layout.name}, {kitchens:,} kitchens, observation: {observation}")
    one = simulator(layout, OBSERVATIONS[observation])
    runner = SimulatorRunner(one, kitchens, shards(kitchens))
    # The best of some repeats is the one that other processes disturbed least.
    best = max(runner.rate(seconds / _REPEATS) for _ in range(_REPEATS))
    return ScalingPoint(layout.name, kitchens, observation, best)


def check_picture(path: Path) -> None:
    """Refuse a file that no picture can be drawn into."""
    if path.suffix not in plots.ENDINGS:
        raise InputError(
            f"cannot draw into {str(path)!r}; "
            f"it takes a file that ends in {', '.join(plots.ENDINGS)}"
        )


def draw(scaling: Scaling, path: Path) -> None:
    """Draw the cost of a step over the number of kitchens, and the rate in every layout."""
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    _draw_growth(left, scaling.by_kitchens)
    _draw_layouts(right, scaling.by_layout)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axisbelow(True)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _draw_growth(axes: Axes, points: Sequence[ScalingPoint]) -> None:
    counts = list(dict.fromkeys(point.kitchens for point in points))
    for observation, colour in _COLOURS.items():
        line = [point for point in points if point.observation == observation]
        costs = [point.microseconds for point in line]
        most = max(point.rate for point in line) / 1e6
        label = f"{observation} (at best {most:.1f} M)"
        axes.loglog(counts, costs, "o-", color=colour, label=label, markersize=4)
    axes.set_xticks(counts, [f"{count:,}" for count in counts], rotation=30)
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("kitchens stepped at once")
    axes.set_ylabel("microseconds for one step of all")
    axes.set_title(f"Cost of a step, {points[0].layout}")
    axes.grid(color="#e5e5e5")
    axes.legend(title="observation (kitchen steps a second)", alignment="left", frameon=False)


def _draw_layouts(axes: Axes, points: Sequence[ScalingPoint]) -> None:
    names = list(dict.fromkeys(point.layout for point in points))
    height = 0.8 / len(_COLOURS)
    for index, (observation, colour) in enumerate(_COLOURS.items()):
        rates = [point.rate / 1e6 for point in points if point.observation == observation]
        bars = [row + (index - 1) * height for row in range(len(names))]
        axes.barh(bars, rates, height, color=colour, label=observation)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("million kitchen steps a second")
    axes.set_title(f"Every layout, {points[0].kitchens:,} kitchens")
    axes.grid(axis="x", color="#e5e5e5")
