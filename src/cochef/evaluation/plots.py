"""Results as pictures."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from cochef.errors import InputError
from cochef.evaluation.human_likeness import Likeness
from cochef.evaluation.records import Records
from cochef.evaluation.statistics import normalised
from cochef.files import write_whole

ENDINGS = (".png", ".svg", ".pdf")

_PLAYERS = ("#0072b2", "#e69f00")  # told apart by colour-blind readers, too
_MARKS = (("proxies", "o", 16, 0.35, 2), ("people", "^", 60, 0.9, 3))


def heat_map(records: Records, title: str) -> Figure:
    """The mean score of every agent (down) with every partner (across)."""
    agents, partners = records.labels("agent"), records.labels("partner")
    means = np.array([rows["score"].mean() for *_, rows in records.pairs()]).reshape(len(agents), len(partners))
    figure, axes = plt.subplots(figsize=(2.5 + 0.9 * len(partners), 2.2 + 0.55 * len(agents)), layout="constrained")
    image = axes.imshow(means, cmap="viridis", aspect="auto")
    axes.set_xticks(range(len(partners)), [_short(name) for name in partners], rotation=35, ha="right")
    axes.set_yticks(range(len(agents)), [_short(name) for name in agents])
    axes.set_xlabel("partner")
    axes.set_title(title)
    dark = means < (means.min() + means.max()) / 2
    for row, column in np.ndindex(means.shape):
        colour = "white" if dark[row, column] else "black"
        axes.text(column, row, f"{means[row, column]:.0f}", ha="center", va="center", color=colour)
    figure.colorbar(image, label="mean score")
    return figure


def human_likeness(found: Sequence[Likeness]) -> Figure:
    """A panel a kitchen: people as triangles and proxies as points, by self-cooking and self-delivery ratio."""
    figure, panels = plt.subplots(
        1, len(found), figsize=(4.2 * len(found), 5.0), layout="constrained", sharey=True, squeeze=False
    )
    for axes, likeness in zip(panels[0], found, strict=True):
        for seat, colour in enumerate(_PLAYERS):
            for who, marker, size, strength, order in _MARKS:
                shares = getattr(likeness, who)
                axes.scatter(
                    shares.cooking[:, seat],
                    shares.delivery[:, seat],
                    marker=marker,
                    s=size,
                    alpha=strength,
                    color=colour,
                    linewidths=0.6,
                    edgecolors="black" if who == "people" else "none",
                    zorder=order,
                    label=f"{who}, player {seat}",
                )
        axes.set(title=likeness.layout, xlabel="self-cooking ratio", xlim=(-0.04, 1.04), ylim=(-0.04, 1.04))
        axes.set_box_aspect(1)
        axes.grid(alpha=0.3)
    panels[0][0].set_ylabel("self-delivery ratio")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def learning_curves(lines: Sequence[Mapping[str, Any]], title: str) -> Figure:
    """The task return of every member of a population (thin) and their mean (thick), against steps of a policy."""
    steps, task = np.array([line["steps"] for line in lines]), np.array([line["task"] for line in lines])
    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    axes.plot(steps, task, color=_PLAYERS[0], alpha=0.35, linewidth=0.7)
    axes.plot(steps, task.mean(axis=1), color="black", linewidth=2.2, label=f"mean of {task.shape[1]}")
    axes.set(title=title, xlabel="environment steps of a policy", ylabel="task return of an episode")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left")
    return figure


def event_space(
    counts: Float[np.ndarray, "policies events"],
    events: Sequence[str],
    hidden: Sequence[Mapping[str, float]],
    chosen: Sequence[int],
    title: str,
) -> Figure:
    """Biased policies by what they do: a map in which those that behave alike are near, and all counts with all tastes.

    On the map, those that were kept are filled; beside them stand their numbers in the order of choice and what they
    like most. In the table of counts, + and - mark what a policy likes and dislikes.
    """
    scaled = normalised(counts)
    rest = [number for number in range(len(counts)) if number not in set(chosen)]
    order = [*chosen, *rest]
    shown = [number for number in range(len(events)) if counts[:, number].any()]
    size = (7.5 + 0.32 * len(shown), max(6.0, 1.5 + 0.21 * len(counts)))
    figure, (space, table) = plt.subplots(
        1, 2, figsize=size, layout="constrained", width_ratios=(6.0, 1 + 0.3 * len(shown))
    )
    places = _map(np.abs(scaled[:, None] - scaled[None]).sum(axis=-1))
    space.scatter(*places[rest].T, s=70, facecolors="none", edgecolors="grey", label="not kept")
    space.scatter(*places[list(chosen)].T, s=190, color=_PLAYERS[1], edgecolors="black", label="kept")
    for group in _neighbours(places[list(chosen)]):
        members = places[[chosen[number] for number in group]]
        favourites = dict.fromkeys(_favourite(hidden[chosen[number]]) for number in group)
        text = "\n".join([", ".join(str(number + 1) for number in group), *favourites])
        left = members[0, 0] > places[:, 0].mean()
        place = (members[:, 0].min() if left else members[:, 0].max(), members[:, 1].mean())
        aside = {"xytext": (-10 if left else 10, 0), "ha": "right" if left else "left"}
        space.annotate(text, place, textcoords="offset points", va="center", fontsize=7, **aside)
    space.set(title=f"{title}: what policies do", xticks=[], yticks=[])
    space.margins(x=0.16, y=0.06)
    space.legend(loc="best", fontsize=8)
    table.imshow(scaled[np.ix_(order, shown)], cmap="Blues", aspect="auto", vmin=0, vmax=1)
    for row, member in enumerate(order):
        for column, event in enumerate(shown):
            weight = hidden[member].get(events[event], 0.0)
            if weight:
                colour = "white" if scaled[member, event] > 0.5 else "black"
                table.text(column, row, "+" if weight > 0 else "-", ha="center", va="center", color=colour, fontsize=8)
    table.axhline(len(chosen) - 0.5, color="black", linewidth=1.2)
    table.set_xticks(range(len(shown)), [events[event] for event in shown], rotation=60, ha="right", fontsize=7)
    labels = [f"{number}" for number in range(1, len(chosen) + 1)] + ["" for _ in rest]
    table.set_yticks(range(len(order)), labels, fontsize=7)
    table.set_title("events, relative to the busiest; + liked, - disliked", fontsize=9)
    return figure


def partner_returns(lines: Sequence[Mapping[str, Any]], names: Sequence[str], title: str) -> Figure:
    """The average return with every policy of the pool over training, mean over seeds; the policies grouped by kind."""
    steps = np.array([line["steps"] for line in lines])
    returns = np.array([line["partners"] for line in lines]).mean(axis=1)
    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    kinds = {name: kind(name) for name in names}
    groups = list(dict.fromkeys(kinds.values()))
    colours = plt.get_cmap("tab10")(np.arange(len(groups)))
    for group, colour in zip(groups, colours, strict=True):
        own = [number for number, name in enumerate(names) if kinds[name] == group]
        axes.plot(steps, returns[:, own], color=colour, alpha=0.25, linewidth=0.7)
        axes.plot(steps, returns[:, own].mean(axis=1), color=colour, linewidth=2.2, label=f"{group} ({len(own)})")
    axes.set(title=title, xlabel="environment steps", ylabel="average return of an episode")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", fontsize=8)
    return figure


def kind(name: str) -> str:
    """The kind of a policy in a pool by its name: biased-03 is biased, mep-01-mid is mep-mid."""
    return "-".join(part for part in name.split("-") if not part.isdigit())


def _map(apart: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n 2"]:
    """Places in the plane whose distances are like those given (classical multidimensional scaling)."""
    centring = np.eye(len(apart)) - 1 / len(apart)
    values, vectors = np.linalg.eigh(-0.5 * centring @ apart**2 @ centring)
    places = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    return np.pad(places, ((0, 0), (0, 2 - places.shape[1])))


def _neighbours(places: Float[np.ndarray, "n 2"], near: float = 0.1) -> list[list[int]]:
    """Groups of those that lie within so much of the map's extent from another of the group."""
    extent = np.ptp(places, axis=0)
    scaled = places / np.where(extent > 0, extent, 1.0)
    groups: list[list[int]] = []
    for number, place in enumerate(scaled):
        for group in groups:
            if np.abs(scaled[group] - place).max(axis=1).min() <= near:
                group.append(number)
                break
        else:
            groups.append([number])
    return groups


def _favourite(hidden: Mapping[str, float]) -> str:
    """What weighs most in a hidden reward, in a few words."""
    if set(hidden) == {"order"} and hidden["order"]:
        return "the task"
    liked = max(
        hidden.items(), key=lambda entry: entry[1] if entry[0] != "order" else 0.5 * entry[1], default=("", 0.0)
    )
    return liked[0].replace("_from_dispenser", "").replace("_", " ") if liked[1] > 0 else "nothing"


def _short(name: str) -> str:
    return name.removeprefix("script:")


def save(figure: Figure, path: Path) -> None:
    """Write a figure as a picture, by its ending, and close it."""
    if path.suffix.lower() not in ENDINGS:
        plt.close(figure)
        raise InputError(f"unknown ending of {str(path)!r}; known: {', '.join(ENDINGS)}")
    picture = BytesIO()
    figure.savefig(picture, dpi=150, format=path.suffix.removeprefix(".").lower())
    plt.close(figure)
    write_whole(path, picture.getvalue())
