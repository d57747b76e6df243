"""Beyond the paper: whether biased policies of all layouts follow their hidden rewards."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cochef import methods
from cochef.evaluation import preferences
from cochef.evaluation.tables import ResultTable
from cochef.experiments.jobs import Job, JobContext
from cochef.experiments.presets import PRESETS
from cochef.kitchen.layout import Layout
from cochef.reproduction.declared import OWN, Experiment, Goal, Setting, Stored
from cochef.reproduction.page import Page
from cochef.reproduction.stages import write_json

RESULT = "preferences.json"
BIASED = methods.get(OWN.method).population.name
SIGNIFICANT = 0.05

_HEADER = (
    "event",
    "weight: mean count in an episode",
    "Spearman",
    f"p < {SIGNIFICANT}",
    "other weights controlled for",
    f"its p < {SIGNIFICANT}",
)


@dataclass(frozen=True)
class CorrelatePreferences:
    """How often biased policies cause events, by the events' weights; input: `biased`."""

    layout: Layout
    episodes: int
    seed: int
    kind: str = "preferences"
    version: int = 1

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings."""
        return {"layout": self.layout.fingerprint, "episodes": self.episodes, "seed": self.seed}

    def run(self, context: JobContext) -> None:
        """Let every pair play, and correlate."""
        pairs = preferences.read_pairs(context.inputs[BIASED], self.layout)
        found = preferences.report(pairs, self.episodes, self.seed)
        write_json(context.directory / RESULT, found)


def goals(setting: Setting) -> Iterator[Goal]:
    """The preferences of HSP's biased policies."""
    stage = CorrelatePreferences(setting.layout, PRESETS[setting.preset].episodes, setting.seed)
    inputs = {BIASED: setting.jobs(OWN)[BIASED]}
    yield OWN.goal(Job(stage, f"{OWN.method}-{setting.layout.name}", inputs))


def show(stored: Stored) -> Page:
    """A table for each layout, a row for each event that has weights."""
    page = Page()
    page.say(
        "Each of HSP's biased policies plays with the partner that it was trained with. Spearman's "
        "rank correlation of an event's weight and its count, over the policies of a population; "
        "for orders, of their weight and the task return. Several weights are drawn at once, so a "
        "weak preference is hidden by a strong one: the partial correlation removes the influence "
        "of the other weights. Correlations are means over populations; p-values are one-sided and "
        "corrected by Holm's method for all events, and the table says in how many populations "
        "they are small."
    )
    every: list[Mapping[str, Any]] = []
    for layout in stored.layouts:
        results = stored.results.select("preferences", OWN.name, layout)
        if not results:
            page.say_not_run(layout)
            continue
        populations = [result.json(RESULT)["preferences"] for result in results]
        rows = [_row(event, populations) for event in _events(populations)]
        number = len(results)
        title = f"{layout}, {number} population{'s' if number > 1 else ''}{stored.marks(results)}"
        page.table(f"preferences-{layout}", ResultTable(title, _HEADER, tuple(rows)))
        every += itertools.chain(*populations)
    if every:
        alone, controlled = (
            sum(row[name] < SIGNIFICANT for row in every)
            for name in ("corrected", "partial_corrected")
        )
        page.finding = (
            f"Policies follow their weights in {alone} of {len(every)} tests by rank correlation, "
            f"in {controlled} where other weights are controlled for (an event, a layout and a "
            f"population each; p < {SIGNIFICANT})"
        )
    return page


def _events(populations: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """The events that any population has several weights for."""
    found = [row["event"] for rows in populations for row in rows]
    return list(dict.fromkeys(found))


def _row(event: str, populations: Sequence[Sequence[Mapping[str, Any]]]) -> tuple[str, ...]:
    """The row of an event, over the populations that have several weights for it."""
    found = [row for rows in populations for row in rows if row["event"] == event]
    means: dict[float, list[float]] = {}
    for row in found:
        for weight, mean in zip(row["weights"], row["means"], strict=True):
            means.setdefault(weight, []).append(mean)
    by_weight = [f"{weight:g}: {np.mean(means[weight]):.1f}" for weight in sorted(means)]

    def correlation(name: str) -> str:
        return f"{np.mean([row[name] for row in found]):.2f}"

    def small(name: str) -> str:
        return f"{sum(row[name] < SIGNIFICANT for row in found)} of {len(found)}"

    return (
        event,
        ", ".join(by_weight),
        correlation("correlation"),
        small("corrected"),
        correlation("partial"),
        small("partial_corrected"),
    )


PREFERENCES = Experiment(
    name="preferences",
    title="Whether biased policies follow their hidden rewards",
    paper=(),
    goals=goals,
    show=show,
)
