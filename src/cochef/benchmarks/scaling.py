"""How our rates change with the number of kitchens and from layout to layout, measured and drawn."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cochef.benchmarks.kitchen import VIEWS, Tell, check_kitchens, machine, simulator
from cochef.benchmarks.loop import Runner
from cochef.errors import InputError
from cochef.kitchen.layout import Layout

KITCHENS = tuple(4**power for power in range(8))  # 1 to 16,384

_REPEATS = 5
_COLOURS = {"none": "#7a7a7a", "compact": "#0072b2", "26 planes": "#d55e00"}
_ENDINGS = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Point:
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

    by_kitchens: tuple[Point, ...]
    by_layout: tuple[Point, ...]

    def to_json(self) -> dict[str, Any]:
        """All of it, and what it was measured with."""
        return {**asdict(self), "machine": machine()}


def measure(
    layout: Layout, counts: Sequence[int], others: Sequence[Layout], kitchens: int, seconds: float, tell: Tell
) -> Scaling:
    """Our rates in one layout over numbers of kitchens, and in some layouts at one number."""
    for count in (*counts, kitchens):
        check_kitchens(count)
    return Scaling(
        by_kitchens=tuple(_point(layout, count, view, seconds, tell) for count in counts for view in VIEWS),
        by_layout=tuple(_point(other, kitchens, view, seconds, tell) for other in others for view in VIEWS),
    )


def _point(layout: Layout, kitchens: int, view: str, seconds: float, tell: Tell) -> Point:
    tell(f"{layout.name}, {kitchens:,} kitchens, observation: {view}")
    runner = Runner(simulator(layout, VIEWS[view]), kitchens)
    best = max(runner.rate(seconds / _REPEATS) for _ in range(_REPEATS))  # the one that was disturbed least
    return Point(layout.name, kitchens, view, best)


def check_picture(path: Path) -> None:
    """Complain about a file that no picture can be drawn into."""
    if path.suffix not in _ENDINGS:
        raise InputError(f"cannot draw into {str(path)!r}; it takes a file that ends in {', '.join(_ENDINGS)}")


def draw(scaling: Scaling, path: Path) -> None:
    """Write a picture: left the cost of a step over the number of kitchens, right the rate in every layout."""
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    _draw_growth(left, scaling.by_kitchens)
    _draw_layouts(right, scaling.by_layout)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axisbelow(True)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _draw_growth(axes: Axes, points: Sequence[Point]) -> None:
    counts = list(dict.fromkeys(point.kitchens for point in points))
    for view, colour in _COLOURS.items():
        line = [point for point in points if point.observation == view]
        most = max(point.rate for point in line) / 1e6
        label = f"{view} (at best {most:.1f} M)"
        axes.loglog(counts, [point.microseconds for point in line], "o-", color=colour, label=label, markersize=4)
    axes.set_xticks(counts, [f"{count:,}" for count in counts], rotation=30)
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("kitchens stepped at once")
    axes.set_ylabel("microseconds for one step of all")
    axes.set_title(f"Cost of a step, {points[0].layout}")
    axes.grid(color="#e5e5e5")
    axes.legend(title="observation (kitchen steps a second)", alignment="left", frameon=False)


def _draw_layouts(axes: Axes, points: Sequence[Point]) -> None:
    names = list(dict.fromkeys(point.layout for point in points))
    height = 0.8 / len(_COLOURS)
    for index, (view, colour) in enumerate(_COLOURS.items()):
        rates = [point.rate / 1e6 for point in points if point.observation == view]
        axes.barh([row + (index - 1) * height for row in range(len(names))], rates, height, color=colour, label=view)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("million kitchen steps a second")
    axes.set_title(f"Every layout, {points[0].kitchens:,} kitchens")
    axes.grid(axis="x", color="#e5e5e5")
