"""The report on some methods in a layout, and the commands that show its agents at work."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from cochef.agents import pool, storage
from cochef.agents.names import load
from cochef.evaluation import findings, plots, publication, published, records, tables
from cochef.evaluation.records import Records
from cochef.evaluation.report import (
    Block,
    Heading,
    Lead,
    Paragraph,
    Picture,
    Report,
    ShellCommand,
)
from cochef.evaluation.tables import ResultTable
from cochef.experiments import pools
from cochef.experiments.jobs import JobContext, seconds_of
from cochef.experiments.stages import CURVES, PARTNERS, agent_path
from cochef.files import write_json, write_whole
from cochef.kitchen import layouts, render
from cochef.kitchen.layout import Layout
from cochef.learning.writers import read_metrics
from cochef.rollout import record

TABLES = "tables.json"
LAYOUT = "layout.toml"  # a layout that does not ship
LAST = 20  # iterations at the end of training over which returns are averaged
FILM_STEPS = 200
FILM_TILE = 48

_STAGES = ("pool", "agents", "evaluation")


@dataclass(frozen=True)
class WriteReport:
    """Write tables, curves and films; inputs: METHOD-NAME for all jobs NAME of each method."""

    layout: Layout
    methods: tuple[str, ...]
    kind: str = "report"
    version: int = 3

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings."""
        return {"layout": self.layout.fingerprint, "methods": list(self.methods)}

    def run(self, context: JobContext) -> None:
        """Write the report, and its scores as JSON."""
        found, _ = evaluations(context.inputs, self.methods)
        ships = layouts.ships(self.layout)
        layout = self.layout.name
        if not ships:
            layout = str(context.shown(context.directory) / LAYOUT)
            write_whole(context.directory / LAYOUT, layouts.to_toml(self.layout).encode())
        agents = context.shown(context.inputs[f"{self.methods[0]}-agents"])
        partner = most_informative_partners(found)[0]
        blocks: list[Block] = [
            Lead(findings.main_finding(found)),
            _introduction(found),
            score_table(found, self.layout),
            *self._differences(context, found),
            *(self._next_to_the_paper(found) if ships else ()),
            *self._films(context, found),
            *self._learning(context),
            self._own_pools(context),
            Heading("In detail"),
            tables.details(found, "by seat"),
            _times(context.inputs),
            Heading("Look for yourself"),
            ShellCommand(watch_command(layout, agents, partner)),
            ShellCommand(play_command(layout, agents)),
        ]
        title = f"{self.layout.name}: {', '.join(self.methods)}"
        Report(title, blocks).write(context.directory)
        write_json(context.directory / TABLES, tables.summary_rows(found))

    def _differences(self, context: JobContext, found: Records) -> Iterator[Block]:
        """The scores by agent, and how far the first method is ahead of the others."""
        captions = {
            "scores": "Mean score with every partner: bars over all agents, points for each.",
            "differences": f"How far {self.methods[0]} is ahead, with 95% intervals over agents.",
        }
        difference = publication.difference_table(found, self.layout.name)
        if difference:
            yield difference
        for name, figure in publication.figures(found, self.layout.name).items():
            paths = [context.directory / f"{name}.{ending}" for ending in ("png", "pdf")]
            plots.save(figure, *paths)
            if name in captions:
                yield Picture(paths[0].name, captions[name])

    def _next_to_the_paper(self, found: Records) -> Iterator[Block]:
        title = f"{self.layout.name}: next to the paper's figures"
        comparison = published.comparison(found, self.layout.name, title)
        if comparison:
            yield comparison

    def _films(self, context: JobContext, found: Records) -> Iterator[Block]:
        """Agents of the first and the last method with the two most informative partners."""
        yield Heading("With the two most informative partners")
        for partner in most_informative_partners(found):
            for method in dict.fromkeys((self.methods[0], self.methods[-1])):
                agent = agent_path(context.inputs[f"{method}-agents"])
                own = (found["agent"] == method) & (found["partner"] == partner)
                mean = found.where(own)["score"].mean()
                name = f"{method}-{partner.replace(':', '-')}.gif"
                _film(self.layout, agent, partner, context.directory / name)
                caption = (
                    f"{method} (chef 1) with {partner} (chef 2), which score {mean:.0f} on average"
                )
                yield Picture(name, caption)

    def _learning(self, context: JobContext) -> Iterator[Block]:
        yield Heading("How they learned")
        for method in self.methods:
            own = _inputs_of(context.inputs, method)
            pictures = [
                (own["agents"] / CURVES, "the return of each agent over training"),
                (own["agents"] / PARTNERS, "the average return with the policies of the pool"),
            ]
            if "pool" in own:
                caption = "event counts of the biased policies, and which were kept"
                pictures.append((own["pool"] / pools.PICTURE, caption))
            for name, directory in own.items():
                if name not in _STAGES:
                    pictures.append((directory / CURVES, f"the population {name}"))
            for source, caption in pictures:
                if source.exists():
                    name = f"{method}-{source.parent.name.split('-')[0]}-{source.name}"
                    write_whole(context.directory / name, source.read_bytes())
                    yield Picture(name, f"{method}: {caption}")
            filtered = pools.read_filter(own["pool"]) if "pool" in own else None
            if filtered:
                yield Paragraph(f"{method}: {_describe_filter(filtered)}")

    def _own_pools(self, context: JobContext) -> ResultTable:
        """Returns of the agents with the partners that they were trained with."""
        rows = []
        for method in self.methods:
            own = _inputs_of(context.inputs, method)
            if "pool" not in own:
                continue
            members = pool.read_index(own["pool"]).members
            kinds = [plots.kind(member.name) for member in members]
            metrics = read_metrics(own["agents"])[-LAST:]
            returns = np.mean([line["partner_returns"] for line in metrics], axis=(0, 1))
            rows.append((method, f"all {len(kinds)}", f"{returns.mean():.1f}"))
            for kind in dict.fromkeys(kinds):
                of_kind = returns[[name == kind for name in kinds]]
                rows.append((method, f"{len(of_kind)} {kind}", f"{of_kind.mean():.1f}"))
        title = "With their own pool: mean return at the end of training, over all agents"
        return ResultTable(title, ("method", "policies", "return"), tuple(rows))


def _inputs_of(inputs: Mapping[str, Path], method: str) -> dict[str, Path]:
    """The directories of a method's jobs, by name."""
    start = f"{method}-"
    return {
        name.removeprefix(start): path for name, path in inputs.items() if name.startswith(start)
    }


def _introduction(found: Records) -> Paragraph:
    agents = len(np.unique(found["agent_seed"]))
    number = "One agent" if agents == 1 else f"{agents} agents"
    episodes = len(np.unique(found["episode"]))
    return Paragraph(
        f"{number} a method, every pair and seat {episodes} episodes, both sides sampling "
        "their actions."
    )


def _describe_filter(filtered: Mapping[str, Any]) -> str:
    kept = len(filtered["chosen"])
    policies = len(filtered["counts"])
    return (
        f"{kept} of {policies} biased policies were kept, "
        f"event diversity {filtered['diversity']:.0f}; "
        f"{filtered['near_duplicates']} of them are near-duplicates of one kept before."
    )


def _times(inputs: Mapping[str, Path]) -> ResultTable:
    """The seconds of every job; a job that methods share is listed once."""
    first_names: dict[Path, str] = {}
    for name, directory in inputs.items():
        first_names.setdefault(directory, name)
    seconds = {name: seconds_of(path) or 0.0 for path, name in first_names.items()}
    rows = [(name, f"{spent:,.0f}") for name, spent in seconds.items()]
    rows.append(("all", f"{sum(seconds.values()):,.0f}"))
    return ResultTable("Where the time went: seconds of each job", ("job", "seconds"), tuple(rows))


def evaluations(
    inputs: Mapping[str, Path], methods: Sequence[str]
) -> tuple[Records, dict[str, Any]]:
    """The evaluation records of all methods, and the first manifest."""
    return records.read_all([inputs[f"{method}-evaluation"] for method in methods])


def score_table(found: Records, layout: Layout) -> ResultTable:
    """The mean task return with every partner."""
    title = f"{layout.name}: mean task return with partners nobody trained with"
    return tables.scores(found, title)


def watch_command(
    layout: str, agents: Path, partner: str, program: Sequence[str] = ("cochef",)
) -> str:
    """The command that shows a run's first agent; `layout` is a name or a file."""
    agent = str(agent_path(agents))
    return shlex.join([*program, "watch", "--layout", layout, "--agents", agent, partner])


def play_command(layout: str, agents: Path, program: Sequence[str] = ("cochef",)) -> str:
    """The command to play with a run's first agent in the browser."""
    path = f"{agent_path(agents)}{storage.SUFFIX}"
    return shlex.join([*program, "play", path, "--layouts", layout])


def most_informative_partners(found: Records) -> list[str]:
    """Two partners: where the first method is most ahead of the others, and most behind.

    A single method's are its best and its worst.
    """
    partners = found.labels("partner")
    means = np.array([rows["score"].mean() for *_, rows in found.pairs()])
    means = means.reshape(-1, len(partners))
    lead = means[0] - (means[1:].max(axis=0) if len(means) > 1 else 0.0)
    order = np.argsort(-lead, kind="stable")
    return [partners[number] for number in dict.fromkeys([int(order[0]), int(order[-1])])]


def _film(layout: Layout, agent: Path, partner: str, path: Path) -> None:
    """Write the first steps of an episode as a GIF."""
    agents = (load(str(agent), layout), load(partner, layout))
    moments = list(render.moments(record(layout, agents, jax.random.key(0), 1)))[: FILM_STEPS + 1]
    render.save_gif(render.render_moments(layout, moments, FILM_TILE), path)
