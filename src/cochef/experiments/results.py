"""What came of it: the report on some methods in a kitchen."""

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from cochef.agents import pool, storage
from cochef.agents.names import load
from cochef.evaluation import plots, published, records, tables
from cochef.evaluation.records import Records
from cochef.evaluation.report import Block, Command, Heading, Paragraph, Picture, Report
from cochef.evaluation.tables import Table
from cochef.experiments import pools
from cochef.experiments.adaptation import PARTNERS
from cochef.experiments.jobs import Place, seconds
from cochef.experiments.populations import CURVES
from cochef.files import write_whole
from cochef.kitchen import layouts, render
from cochef.kitchen.layout import Layout
from cochef.learning import runs
from cochef.rollout import record

TABLES = "tables.json"
KITCHEN = "kitchen.toml"  # a kitchen of one's own
FIRST = "00"  # the agent that is shown
LAST = 20  # iterations at the end of training over which returns are averaged
FILM_STEPS = 200
FILM_TILE = 48


@dataclass(frozen=True)
class WriteReport:
    """Tables, curves and films; needs METHOD-measured, METHOD-agents, METHOD-pool and METHOD-population."""

    layout: Layout
    methods: tuple[str, ...]
    preset: str
    kind: str = "report"
    version: int = 1

    @property
    def about(self) -> Mapping[str, Any]:
        """All settings."""
        return {"layout": self.layout.fingerprint, "methods": list(self.methods), "preset": self.preset}

    def run(self, place: Place) -> None:
        """Put everything together."""
        found = scores(place.needs, self.methods)
        overview = score_table(found, self.layout)
        ships = layouts.ships(self.layout)
        title = f"{self.layout.name}: next to the paper's figures"
        beside = published.comparison(found, self.layout.name, title) if ships else None
        seeds = len(np.unique(found["agent_seed"]))
        blocks: list[Block] = [
            Paragraph(
                f"Preset {self.preset}, {seeds} agents a method, every pair and seat "
                f"{len(np.unique(found['episode']))} episodes, both sides sampling their actions. "
                f"± is the {'standard deviation over the agents' if seeds > 1 else 'standard error of the mean'}; "
                "bold is within 5 of the best of a row."
            ),
            overview,
            *([beside] if beside else []),
            *self._films(place, found),
            *self._learning(place),
            self._pools(place),
            Heading("In detail"),
            tables.details(found, "by seat"),
            self._times(place),
        ]
        kitchen = self.layout.name if ships else str(place.directory / KITCHEN)
        if not ships:
            write_whole(Path(kitchen), layouts.to_toml(self.layout).encode())
        agents = place.needs[f"{self.methods[0]}-agents"]
        commands = (watch_command(kitchen, agents, telling(found)[0]), play_command(kitchen, agents))
        blocks += [Heading("Look for yourself"), *map(Command, commands)]
        Report(f"{self.layout.name}: {', '.join(self.methods)}", blocks).write(place.directory)
        write_whole(place.directory / TABLES, (json.dumps(_numbers(found), indent=1) + "\n").encode())

    def _films(self, place: Place, found: Records) -> Iterator[Block]:
        """The first method's agent, and the last one's, with two telling partners."""
        yield Heading("With two telling partners")
        for partner in telling(found):
            for method in dict.fromkeys((self.methods[0], self.methods[-1])):
                path = place.needs[f"{method}-agents"] / runs.AGENTS / f"{FIRST}{storage.SUFFIX}"
                mean = found.where((found["agent"] == method) & (found["partner"] == partner))["score"].mean()
                name = f"{method}-{partner.replace(':', '-')}.gif"
                _film(self.layout, path, partner, place.directory / name)
                yield Picture(name, f"{method} (chef 1) with {partner} (chef 2), which score {mean:.0f} on average")

    def _learning(self, place: Place) -> Iterator[Block]:
        yield Heading("How they learned")
        for method in self.methods:
            pictures = [(place.needs[f"{method}-agents"] / CURVES, "the return of each agent over training")]
            if f"{method}-pool" in place.needs:
                pictures += [
                    (place.needs[f"{method}-agents"] / PARTNERS, "the average return with the policies of the pool"),
                    (place.needs[f"{method}-pool"] / pools.PICTURE, "the biased policies, and which were kept"),
                    (place.needs[f"{method}-population"] / CURVES, "the population of the first stage"),
                ]
            for source, caption in pictures:
                if source.exists():
                    name = f"{method}-{source.parent.name.split('-')[0]}-{source.name}"
                    write_whole(place.directory / name, source.read_bytes())
                    yield Picture(name, f"{method}: {caption}")
            found = pools.read_filter(place.needs[f"{method}-pool"]) if f"{method}-pool" in place.needs else None
            if found:
                kept, all_of_them, near = len(found["chosen"]), len(found["counts"]), found["near_duplicates"]
                text = f"{method}: {kept} of {all_of_them} biased policies were kept, event diversity "
                yield Paragraph(
                    f"{text}{found['diversity']:.0f}; {near} of them are near-duplicates of one kept before."
                )

    def _pools(self, place: Place) -> Table:
        """How strong the agents are with those they were trained with."""
        rows = []
        for method in self.methods:
            if f"{method}-pool" not in place.needs:
                continue
            kinds = [plots.kind(member.name) for member in pool.read_index(place.needs[f"{method}-pool"]).members]
            lines = runs.metrics(place.needs[f"{method}-agents"])[-LAST:]
            returns = np.mean([line["partners"] for line in lines], axis=(0, 1))
            rows.append((method, f"all {len(kinds)}", f"{returns.mean():.1f}"))
            for kind in dict.fromkeys(kinds):
                own = returns[[name == kind for name in kinds]]
                rows.append((method, f"{len(own)} {kind}", f"{own.mean():.1f}"))
        title = "With their own pool: mean return at the end of training, over all agents"
        return Table(title, ("method", "policies", "return"), tuple(rows))

    def _times(self, place: Place) -> Table:
        rows, total = [], 0.0
        shown: set[Path] = set()
        for name, directory in place.needs.items():
            if directory not in shown:
                shown.add(directory)
                spent = seconds(directory) or 0.0
                total += spent
                rows.append((name, f"{spent:,.0f}"))
        rows.append(("all", f"{total:,.0f}"))
        title = "Where the time went: seconds of each job"
        return Table(title, ("job", "seconds"), tuple(rows))


def scores(needs: Mapping[str, Path], methods: tuple[str, ...]) -> Records:
    """The records of all methods."""
    return records.joined([records.read(needs[f"{method}-measured"])[0] for method in methods])


def score_table(found: Records, layout: Layout) -> Table:
    """The table that it is all about."""
    return tables.scores(found, f"{layout.name}: mean task return with partners nobody trained with")


def watch_command(layout: str, agents: Path, partner: str, program: str = "cochef") -> str:
    """What shows the first agent of a run at work; a kitchen of one's own is given by its file."""
    return shlex.join([program, "watch", "--layout", layout, "--agents", str(agents / runs.AGENTS / FIRST), partner])


def play_command(layout: str, agents: Path, program: str = "cochef") -> str:
    """What lets somebody play with that agent in the browser."""
    path = agents / runs.AGENTS / f"{FIRST}{storage.SUFFIX}"
    return shlex.join([program, "play", str(path), "--layouts", layout])


def telling(found: Records) -> list[str]:
    """Two partners: where the first method is most ahead of the others, and most behind; alone, its best and worst."""
    partners = found.labels("partner")
    means = np.array([rows["score"].mean() for *_, rows in found.pairs()]).reshape(-1, len(partners))
    lead = means[0] - (means[1:].max(axis=0) if len(means) > 1 else 0.0)
    order = np.argsort(-lead, kind="stable")
    return [partners[number] for number in dict.fromkeys([int(order[0]), int(order[-1])])]


def _film(layout: Layout, agent: Path, partner: str, path: Path) -> None:
    agents = (load(str(agent), layout), load(partner, layout))
    moments = list(render.moments(record(layout, agents, jax.random.key(0), 1)))[: FILM_STEPS + 1]
    pictures = (
        render.render_state(layout, moment.state, score=moment.score, wants=moment.wants, tile_size=FILM_TILE)
        for moment in moments
    )
    render.save_gif(pictures, path)


def _numbers(found: Records) -> list[dict[str, Any]]:
    """A row an agent, partner and seat, for programs."""
    rows = []
    for agent, partner, part in found.pairs():
        for seat in (None, 0, 1):
            own = part if seat is None else part.where(part["seat"] == seat)
            summary = own.summary()
            rows.append({"agent": agent, "partner": partner, "seat": seat, **vars(summary)})
    return rows
