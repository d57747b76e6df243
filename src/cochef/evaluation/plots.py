"""Plots of results."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cochef.errors import InputError
from cochef.evaluation.comparisons import Comparison, seed_means
from cochef.evaluation.coverage import PeopleEvents, distances
from cochef.evaluation.human_likeness import Likeness
from cochef.evaluation.records import Records, Unit
from cochef.files import write_whole
from cochef.kitchen.events import event_distances, normalised_counts
from cochef.learning.reward_config import ORDER

ENDINGS = (".png", ".svg", ".pdf")
_DATES = {".svg": "Date", ".pdf": "CreationDate"}  # when a figure was written

# Okabe and Ito's colours, which colour-blind readers tell apart, too.
BLUE = "#0072b2"
VERMILION = "#d55e00"
_ORANGE = "#e69f00"
_PLAYERS = (BLUE, _ORANGE)
_METHODS = (BLUE, _ORANGE, "#009e73", "#cc79a7", "#56b4e9", VERMILION)
_POOL_MARKS = ("o", "s", "D", "P", "X", "v")
_MARKS: dict[str, dict[str, Any]] = {
    "models": {"marker": "o", "s": 16, "alpha": 0.35, "zorder": 2, "edgecolors": "none"},
    "people": {"marker": "^", "s": 60, "alpha": 0.9, "zorder": 3, "edgecolors": "black"},
}


def heat_map(records: Records, title: str) -> Figure:
    """The mean score of every agent (down) with every partner (across)."""
    agents = records.labels("agent")
    partners = records.labels("partner")
    means = np.array([rows["score"].mean() for *_, rows in records.pairs()])
    means = means.reshape(len(agents), len(partners))
    size = (2.5 + 0.9 * len(partners), 2.2 + 0.55 * len(agents))
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    image = axes.imshow(means, cmap="viridis", aspect="auto")
    axes.set_xticks(range(len(partners)), list(map(_short, partners)), rotation=35, ha="right")
    axes.set_yticks(range(len(agents)), list(map(_short, agents)))
    axes.set(title=title, xlabel="partner", ylabel="agent")
    dark = means < (means.min() + means.max()) / 2
    for row, column in np.ndindex(means.shape):
        text = f"{means[row, column]:.0f}"
        colour = "white" if dark[row, column] else "black"
        axes.text(column, row, text, ha="center", va="center", color=colour)
    figure.colorbar(image, label="mean score")
    return figure


def seed_scores(records: Records, title: str) -> Figure:
    """The mean score with every partner: a bar for each agent, a point for each training seed."""
    agents = records.labels("agent")
    partners = records.labels("partner")
    width = 0.8 / len(agents)
    size = (2.5 + len(partners) * max(0.8, 0.35 * len(agents)), 4.6)
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    seed = "population" if records.unit == "population_seed" else "agent"
    dots: list[tuple[np.ndarray, Mapping[int, float]]] = []
    for number, agent in enumerate(agents):
        means = seed_means(records, agent)
        places = [partners.index(partner) + (number + 0.5) * width - 0.4 for partner in means]
        heights = [float(np.mean(list(seeds.values()))) for seeds in means.values()]
        colour = _METHODS[number % len(_METHODS)]
        axes.bar(places, heights, width * 0.9, color=colour, alpha=0.75, label=agent)
        for place, seeds in zip(places, means.values(), strict=True):
            if len(seeds) > 1:
                dots.append((place + np.linspace(-0.25, 0.25, len(seeds)) * width, seeds))
    for number, (places, seeds) in enumerate(dots):
        label = f"one {seed}" if number == 0 else None
        axes.scatter(
            places, list(seeds.values()), s=14, color="black", zorder=3, alpha=0.7, label=label
        )
    axes.set_xticks(range(len(partners)), list(map(_short, partners)), rotation=35, ha="right")
    key = "" if dots else f" (bars: a single {seed} each, so no error)"
    axes.set(title=title, xlabel="partner", ylabel=f"mean score of an episode{key}")
    axes.grid(axis="y", alpha=0.3)
    figure.legend(loc="outside upper right", ncols=len(agents) + 1, fontsize=8)
    return figure


def method_differences(found: Sequence[Comparison], unit: Unit, title: str) -> Figure:
    """How far a method is ahead of others, with 95% intervals over training seeds."""
    figure, axes = plt.subplots(figsize=(7.5, 1.6 + 0.34 * len(found)), layout="constrained")
    rivals = list(dict.fromkeys(one.second for one in found))
    labels = []
    for row, one in enumerate(found):
        colour = _METHODS[(1 + rivals.index(one.second)) % len(_METHODS)]
        filled = colour if one.is_significant else "white"
        difference = one.difference
        if difference.low is not None and difference.high is not None:
            axes.plot((difference.low, difference.high), (row, row), color=colour, linewidth=2)
        axes.plot(difference.mean, row, "o", color=colour, markerfacecolor=filled)
        labels.append(f"{_short(one.partner)}, {one.second}")
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(found)), labels)
    axes.invert_yaxis()
    axes.set(title=title, ylabel="partner, and other method")
    seeds = "populations" if unit == "population_seed" else "agents"
    key = f"lines: 95% intervals over {seeds}; filled: p below 0.05"
    if all(one.difference.low is None for one in found):
        key = f"{seeds}: a single one on a side, so no interval"
    # Below the whole figure: names leave the axes too narrow for it.
    label = f"mean score of {found[0].first} minus the other's\n({key})"
    figure.supxlabel(label, fontsize="medium")
    axes.grid(axis="x", alpha=0.3)
    return figure


def human_likeness(found: Sequence[Likeness]) -> Figure:
    """People and their models by self-cooking and self-delivery ratio.

    A column of panels for each layout, a row for each kind of model.
    """
    layouts = list(dict.fromkeys(likeness.layout for likeness in found))
    models = list(dict.fromkeys(likeness.model for likeness in found))
    figure, panels = plt.subplots(
        len(models),
        len(layouts),
        figsize=(4.2 * len(layouts), 5.0 * len(models)),
        layout="constrained",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for likeness in found:
        axes = panels[models.index(likeness.model)][layouts.index(likeness.layout)]
        _likeness_panel(axes, likeness)
    for axes in panels[-1]:
        axes.set_xlabel("self-cooking ratio")
    for axes in panels[:, 0]:
        axes.set_ylabel("self-delivery ratio")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _likeness_panel(axes: Axes, likeness: Likeness) -> None:
    """A mark for each player of each trajectory, of people and of their models."""
    for seat, colour in enumerate(_PLAYERS):
        for who, mark in _MARKS.items():
            shares = getattr(likeness, who)
            axes.scatter(
                shares.cooking[:, seat],
                shares.delivery[:, seat],
                color=colour,
                linewidths=0.6,
                label=f"{who}, player {seat}",
                **mark,
            )
    limits = (-0.04, 1.04)
    axes.set(title=f"{likeness.layout}\n{likeness.model}", xlim=limits, ylim=limits)
    axes.set_box_aspect(1)
    axes.grid(alpha=0.3)


def learning_curves(lines: Sequence[Mapping[str, Any]], title: str) -> Figure:
    """The task return of every member of a population (thin) and their mean (thick) over steps."""
    steps = np.array([line["steps"] for line in lines])
    returns = np.array([line["task_return"] for line in lines])
    members = returns.shape[1]
    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    axes.plot(steps, returns, color=BLUE, alpha=0.35, linewidth=0.7)
    mean = returns.mean(axis=1)
    axes.plot(steps, mean, color="black", linewidth=2.2, label=f"mean of {members}")
    axes.set(
        title=title, xlabel="environment steps of a policy", ylabel="task return of an episode"
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left")
    return figure


def scaling(workers: Sequence[int], hours: Sequence[float], least: float, title: str) -> Figure:
    """The hours that jobs take by the number of workers, and what no number of them undercuts."""
    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    ideal = [hours[0] * workers[0] / number for number in workers]
    axes.plot(workers, ideal, color="grey", linestyle=":", label="every worker always busy")
    axes.axhline(least, color="grey", linestyle="--", label=f"critical path: {least:,.1f} hours")
    axes.plot(workers, hours, color=BLUE, marker="o", label="simulated")
    axes.set(title=title, xlabel="workers", ylabel="hours", xscale="log", yscale="log")
    axes.set_xticks(list(workers), labels=[str(number) for number in workers], minor=False)
    axes.grid(alpha=0.3)
    axes.legend(loc="upper right")
    return figure


def event_space(
    counts: Float[np.ndarray, "policies events"],
    events: Sequence[str],
    hidden: Sequence[Mapping[str, float]],
    chosen: Sequence[int],
    title: str,
) -> Figure:
    """Policies by their event counts: a map of their distances, and a table of the counts.

    On the map, policies that were kept are filled, with their number in the order of choice and
    their largest hidden weight beside them. In the table, + and - mark the hidden weights' signs.
    """
    caused = [number for number in range(len(events)) if counts[:, number].any()]
    size = (7.5 + 0.32 * len(caused), max(6.0, 1.5 + 0.21 * len(counts)))
    figure, (space, table) = plt.subplots(
        1, 2, figsize=size, layout="constrained", width_ratios=(6.0, 1 + 0.3 * len(caused))
    )
    _draw_map(space, event_distances(counts), hidden, chosen)
    space.set_title(f"{title}: what policies do")
    names = [events[number] for number in caused]
    _draw_counts(table, normalised_counts(counts)[:, caused], names, hidden, chosen)
    return figure


def _draw_map(
    axes: Axes,
    distances: Float[np.ndarray, "policies policies"],
    hidden: Sequence[Mapping[str, float]],
    chosen: Sequence[int],
) -> None:
    """Draw policies in the plane, those that behave alike near each other."""
    points = _scale_to_plane(distances)
    kept = points[list(chosen)]
    rest = points[_others(len(points), chosen)]
    axes.scatter(*rest.T, s=70, facecolors="none", edgecolors="grey", label="not kept")
    axes.scatter(*kept.T, s=190, color=_ORANGE, edgecolors="black", label="kept")
    for group in _neighbours(kept):
        members = kept[group]
        largest = dict.fromkeys(_largest_weight(hidden[chosen[number]]) for number in group)
        text = "\n".join([", ".join(str(number + 1) for number in group), *largest])
        # Text goes towards the middle of the map, so that the figure has room for it.
        on_right = members[0, 0] > points[:, 0].mean()
        edge = members[:, 0].min() if on_right else members[:, 0].max()
        axes.annotate(
            text,
            (edge, members[:, 1].mean()),
            textcoords="offset points",
            xytext=(-10 if on_right else 10, 0),
            ha="right" if on_right else "left",
            va="center",
            fontsize=7,
        )
    axes.set(xticks=[], yticks=[])
    axes.set_xlabel("first principal coordinate of the event distances")
    axes.set_ylabel("second principal coordinate")
    axes.margins(x=0.16, y=0.06)
    axes.legend(loc="best", fontsize=8)


def _draw_counts(
    axes: Axes,
    shares: Float[np.ndarray, "policies events"],
    names: Sequence[str],
    hidden: Sequence[Mapping[str, float]],
    chosen: Sequence[int],
) -> None:
    """Draw the event counts of all policies, those that were kept above a line."""
    rest = _others(len(shares), chosen)
    order = [*chosen, *rest]
    axes.imshow(shares[order], cmap="Blues", aspect="auto", vmin=0, vmax=1)
    for row, member in enumerate(order):
        for column, name in enumerate(names):
            weight = hidden[member].get(name, 0.0)
            if weight:
                sign = "+" if weight > 0 else "-"
                colour = "white" if shares[member, column] > 0.5 else "black"
                axes.text(column, row, sign, ha="center", va="center", color=colour, fontsize=8)
    axes.axhline(len(chosen) - 0.5, color="black", linewidth=1.2)
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=7)
    labels = [str(number) for number in range(1, len(chosen) + 1)] + [""] * len(rest)
    axes.set_yticks(range(len(order)), labels, fontsize=7)
    axes.set_title("event counts relative to the largest, + - hidden weights", fontsize=9)
    axes.set_xlabel("event", fontsize=8)
    axes.set_ylabel("policy, kept ones by number", fontsize=8)


def _others(number: int, chosen: Sequence[int]) -> list[int]:
    return [policy for policy in range(number) if policy not in set(chosen)]


def human_space(
    people: PeopleEvents, pools: Mapping[str, Float[np.ndarray, "policies events"]], title: str
) -> Figure:
    """People and the policies of pools in the plane, those that behave alike near each other."""
    groups = {"people": people.counts, **pools}
    everybody = np.concatenate(list(groups.values()))
    points = _scale_to_plane(distances(everybody, everybody))
    figure, axes = plt.subplots(figsize=(7.0, 5.6), layout="constrained")
    ends = np.cumsum([len(counts) for counts in groups.values()])[:-1]
    for number, (name, own) in enumerate(zip(groups, np.split(points, ends), strict=True)):
        colour = "black" if name == "people" else _METHODS[number % len(_METHODS)]
        mark = "^" if name == "people" else _POOL_MARKS[number % len(_POOL_MARKS)]
        label = f"{name} ({len(own)})"
        axes.scatter(*own.T, s=45, color=colour, marker=mark, alpha=0.75, label=label)
    axes.set(title=f"{title}: what people and policies do", xticks=[], yticks=[])
    axes.legend(loc="best", fontsize=8)
    return figure


def partner_returns(lines: Sequence[Mapping[str, Any]], names: Sequence[str], title: str) -> Figure:
    """The mean return with every policy of a pool over training, grouped by their kind."""
    steps = np.array([line["steps"] for line in lines])
    returns = np.array([line["partner_returns"] for line in lines]).mean(axis=1)
    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    kinds = [kind(name) for name in names]
    groups = list(dict.fromkeys(kinds))
    colours = plt.get_cmap("tab10")(np.arange(len(groups)))
    for group, colour in zip(groups, colours, strict=True):
        own = returns[:, [name == group for name in kinds]]
        label = f"{group} ({own.shape[1]})"
        axes.plot(steps, own, color=colour, alpha=0.25, linewidth=0.7)
        axes.plot(steps, own.mean(axis=1), color=colour, linewidth=2.2, label=label)
    axes.set(title=title, xlabel="environment steps", ylabel="average return of an episode")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", fontsize=8)
    return figure


def kind(name: str) -> str:
    """The kind of a pool's policy by its name: biased-03 is biased, mep-01-mid is mep-mid."""
    return "-".join(part for part in name.split("-") if not part.isdigit())


def _scale_to_plane(distances: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n 2"]:
    """Points in the plane at about these distances, by classical multidimensional scaling."""
    centring = np.eye(len(distances)) - 1 / len(distances)
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    points = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))


def _neighbours(points: Float[np.ndarray, "n 2"], near: float = 0.1) -> list[list[int]]:
    """Groups of points within a share `near` of the map's extent from another of the group."""
    extent = np.ptp(points, axis=0)
    scaled = points / np.where(extent > 0, extent, 1.0)
    groups: list[list[int]] = []
    for number, point in enumerate(scaled):
        for group in groups:
            if np.abs(scaled[group] - point).max(axis=1).min() <= near:
                group.append(number)
                break
        else:
            groups.append([number])
    return groups


def _largest_weight(hidden: Mapping[str, float]) -> str:
    """The name of the largest weight of a hidden reward, in a few words."""
    if set(hidden) == {ORDER} and hidden[ORDER]:
        return "the task"

    def size(name: str) -> float:
        # An event with the same weight says more about a policy than the task does.
        return 0.5 * hidden[name] if name == ORDER else hidden[name]

    largest = max(hidden, key=size, default="")
    if not largest or hidden[largest] <= 0:
        return "nothing"
    return largest.replace("_from_dispenser", "").replace("_", " ")


def _short(name: str) -> str:
    return name.removeprefix("script:")


def save(figure: Figure, *paths: Path) -> None:
    """Write a figure to files, each in the format of its suffix, and close it.

    The same figure gives the same bytes, and text in a PDF stays text (journals ask for that).
    """
    try:
        for path in paths:
            ending = path.suffix.lower()
            if ending not in ENDINGS:
                raise InputError(f"unknown ending of {str(path)!r}; known: {', '.join(ENDINGS)}")
            picture = BytesIO()
            with plt.rc_context({"svg.hashsalt": "cochef", "pdf.fonttype": 42}):
                figure.savefig(
                    picture,
                    dpi=150,
                    format=ending.removeprefix("."),
                    metadata={_DATES[ending]: None} if ending in _DATES else None,
                )
            write_whole(path, picture.getvalue())
    finally:
        plt.close(figure)
