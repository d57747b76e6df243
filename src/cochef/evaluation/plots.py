"""Results as pictures."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from cochef.evaluation.human_likeness import Likeness
from cochef.evaluation.records import Records
from cochef.files import write_whole

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


def _short(name: str) -> str:
    return name.removeprefix("script:")


def save(figure: Figure, path: Path) -> None:
    """Write a figure as a picture, by its ending, and close it."""
    picture = BytesIO()
    figure.savefig(picture, dpi=150, format=path.suffix.removeprefix(".").lower())
    plt.close(figure)
    write_whole(path, picture.getvalue())
