"""Figures of the reproduction: colour-blind safe, with populations as points."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from cochef.kitchen import layouts, render
from cochef.reproduction.scores import Entry
from cochef.reproduction.stages import returns_at_end

mpl.use("Agg")

# Okabe and Ito's colours, which colour-blind readers tell apart.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")
_LAYOUT_TILE = 40
_LABELS_OF_A_PANEL = 2  # of a legend, side by side


def colour(number: int) -> str:
    """The colour of the n-th condition."""
    return COLOURS[number % len(COLOURS)]


def panels(names: Sequence[str], height: float = 4.0) -> tuple[Figure, Mapping[str, Axes]]:
    """A panel for each name, side by side."""
    size = (max(4.0, 3.6 * len(names)), height)
    figure, axes = plt.subplots(1, len(names), figsize=size, layout="constrained", squeeze=False)
    found = dict(zip(names, axes[0], strict=True))
    for name, panel in found.items():
        panel.set_title(name)
        panel.grid(axis="y", alpha=0.3)
    return figure, found


def bars(entries: Sequence[Entry], groups: Mapping[str, str]) -> Figure | None:
    """Mean scores by layout; `groups` labels an entry's partner and seat, as `group_of` makes it.

    A bar is a mean over populations, a point a population, a diamond the paper's.
    """
    shown = [entry for entry in entries if entry.score is not None]
    if not shown:
        return None
    conditions = list(dict.fromkeys(entry.condition for entry in shown))
    figure, axes = panels(list(dict.fromkeys(entry.layout for entry in shown)))
    width = 0.8 / len(conditions)
    for layout, panel in axes.items():
        here = [entry for entry in shown if entry.layout == layout]
        names = list(dict.fromkeys(group_of(entry) for entry in here))
        for entry in here:
            number = conditions.index(entry.condition)
            place = names.index(group_of(entry)) + (number - (len(conditions) - 1) / 2) * width
            _bar(panel, entry, place, width, colour(number))
        labels = [groups.get(name, name) for name in names]
        panel.set_xticks(range(len(names)), labels, rotation=25, ha="right", fontsize=8)
    next(iter(axes.values())).set_ylabel("mean score of an episode")
    handles = [Rectangle((0, 0), 1, 1, color=colour(n)) for n in range(len(conditions))]
    _legend(figure, handles, conditions, len(axes))
    return figure


def _legend(figure: Figure, handles: list, labels: list[str], panels: int) -> None:
    """A legend below all panels, in as many lines as it takes to fit."""
    ncols = max(1, min(len(labels), _LABELS_OF_A_PANEL * panels))
    figure.legend(handles, labels, loc="outside lower center", ncols=ncols)


def group_of(entry: Entry) -> str:
    """The partner and seat of an entry."""
    partner = entry.partner.removeprefix("script:").partition(":")[0]
    return partner if entry.seat is None else f"{partner}, seat {entry.seat}"


def _bar(axes: Axes, entry: Entry, place: float, width: float, filled: str) -> None:
    assert entry.score is not None
    values = list(entry.score.by_population.values())
    axes.bar(place, entry.score.mean, 0.92 * width, color=filled)
    axes.plot([place] * len(values), values, "o", color="black", markersize=3, alpha=0.7)
    if entry.published is not None:
        axes.plot(place, entry.published[0], "D", color="white", mec="black", markersize=4)


def learning_curves(
    curves: Mapping[str, Mapping[str, Sequence[Mapping[str, list]]]], names: Sequence[str]
) -> Figure:
    """Mean return over training by layout and condition; a band from the worst to the best agent.

    Points are agents at the end of training, by the mean that claims are about. `curves` has the
    populations of every layout and condition.
    """
    figure, axes = panels(list(curves))
    for layout, panel in axes.items():
        for number, name in enumerate(names):
            populations = curves[layout].get(name, ())
            if not populations:
                continue
            steps = np.array(populations[0]["steps"])
            returns = np.concatenate([np.array(one["task_return"]) for one in populations], axis=1)
            panel.plot(steps, returns.mean(axis=1), color=colour(number))
            last = np.concatenate([returns_at_end(one) for one in populations])
            ends = np.full(len(last), steps[-1])
            panel.plot(ends, last, "o", color=colour(number), markersize=4, alpha=0.7)
            low = returns.min(axis=1)
            panel.fill_between(
                steps, low, returns.max(axis=1), color=colour(number), alpha=0.15, linewidth=0
            )
        panel.set_xlabel("environment steps")
    next(iter(axes.values())).set_ylabel("task return of an episode")
    # A layout may not have all of them yet.
    handles = [Line2D([], [], color=colour(number)) for number in range(len(names))]
    _legend(figure, handles, list(names), len(axes))
    return figure


def event_differences(found: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> Figure:
    """Event differences of biased and scripted policies, a point for each policy."""
    figure, axes = panels(list(found))
    generator = np.random.default_rng(0)
    for layout, panel in axes.items():
        for number, values in enumerate(found[layout]):
            places = number + generator.uniform(-0.15, 0.15, len(values))
            panel.plot(places, values, "o", color=colour(number), alpha=0.6, markersize=4)
            panel.hlines(np.mean(values), number - 0.3, number + 0.3, color="black")
        panel.set_xticks((0, 1), ("biased", "scripted"))
    next(iter(axes.values())).set_ylabel("event difference to the most similar policy")
    return figure


def preference_matrices(
    agents: Sequence[str], values: Mapping[str, Mapping[tuple[str, str], float]]
) -> Figure:
    """Preference for the row's agent over the column's, by layout."""
    figure, axes = panels(list(values))
    for layout, panel in axes.items():
        matrix = np.zeros((len(agents), len(agents)))
        for row, one in enumerate(agents):
            for column, two in enumerate(agents):
                matrix[row, column] = values[layout].get((one, two), 0.0)
        panel.grid(False)
        panel.imshow(matrix, cmap="PuOr", vmin=-1, vmax=1)
        for row, column in np.ndindex(matrix.shape):
            dark = abs(matrix[row, column]) > 0.6
            text = f"{matrix[row, column]:+.2f}" if row != column else ""
            ink = "white" if dark else "black"
            panel.text(column, row, text, ha="center", va="center", color=ink, fontsize=8)
        panel.set_xticks(range(len(agents)), agents, rotation=35, ha="right")
        panel.set_yticks(range(len(agents)), agents)
    return figure


def layout_pictures(names: Sequence[str]) -> Figure:
    """The layouts, empty."""
    figure, axes = panels(names, height=3.2)
    for name, panel in axes.items():
        panel.imshow(np.asarray(render.render_empty(layouts.get(name), _LAYOUT_TILE)))
        panel.axis("off")
    return figure
