"""Results as pictures."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from cochef.evaluation.records import Records


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


def _short(name: str) -> str:
    return name.removeprefix("script:")


def save(figure: Figure, path: Path) -> None:
    """Write a figure as a picture, by its ending, and close it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)
