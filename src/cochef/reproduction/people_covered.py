"""Beyond the paper: which part of the space of human games the pools of all methods cover."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cochef import methods
from cochef.agents import pool
from cochef.evaluation import coverage
from cochef.evaluation.coverage import PoolCoverage
from cochef.experiments.jobs import Job, JobContext
from cochef.experiments.pools import pool_events
from cochef.human.games import games
from cochef.kitchen.layout import Layout
from cochef.reproduction.declared import ONION_LAYOUTS, Condition, Experiment, Goal, Setting, Stored
from cochef.reproduction.page import Page
from cochef.reproduction.stages import write_json

RESULT = "coverage.json"
WITH_POOL = tuple(Condition(method.name) for method in methods.every() if method.pool is not None)

_DIGITS = 4


@dataclass(frozen=True)
class CoverPeople:
    """How near the policies of a pool come to the people who played its layout; input: `pool`."""

    layout: Layout
    kind: str = "coverage"
    version: int = 1

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings."""
        return {"layout": self.layout.fingerprint, "games": len(games(self.layout.name))}

    def run(self, context: JobContext) -> None:
        """Replay the people's games, and compare."""
        files = pool.read(context.inputs["pool"], self.layout)
        people = coverage.people_events(self.layout)
        (found,) = coverage.coverage(people, {"pool": pool_events(files).counts})
        content = {
            "policies": found.policies,
            "nearest": np.round(found.nearest, _DIGITS).tolist(),
            "within": found.within,
            "of_use": found.of_use,
        }
        write_json(context.directory / RESULT, content)


def goals(setting: Setting) -> Iterator[Goal]:
    """The coverage of every method's pool."""
    for condition in WITH_POOL:
        label = f"{condition.method}-{setting.layout.name}"
        inputs = {"pool": setting.jobs(condition)["pool"]}
        yield condition.goal(Job(CoverPeople(setting.layout), label, inputs))


def show(stored: Stored) -> Page:
    """A table for each layout, a row for each pool."""
    page = Page()
    page.say(
        "A person is covered by a pool if one of its policies causes a mix of events that is as "
        "near to theirs as other people's usually are. The distance of two mixes is the total "
        "variation, from 0 to 1."
    )
    shares: dict[str, dict[str, float]] = {}  # of covered people, by condition and layout
    covered: set[str] = set()
    for layout in stored.among(ONION_LAYOUTS):
        found = []
        for condition in WITH_POOL:
            for result in stored.results.select("coverage", condition.name, layout):
                content = result.json(RESULT)
                nearest = np.array(content["nearest"], float)
                name = f"{condition.name}, population {result.seed}{stored.marks([result])}"
                numbers = (nearest, float(content["within"]), int(content["of_use"]))
                found.append(PoolCoverage(name, int(content["policies"]), *numbers))
                shares.setdefault(condition.name, {})[layout] = found[-1].covered
                covered.add(layout)
        if found:
            page.table(f"coverage-{layout}", coverage.table(found, layout))
        else:
            page.say_not_run(layout)
    everywhere = {name for name, by_layout in shares.items() if by_layout.keys() == covered}
    means = {
        name: float(np.mean([*shares[name].values()])) for name in shares if name in everywhere
    }
    if means:
        best = sorted(means, key=means.__getitem__, reverse=True)
        page.finding = f"People covered on average in {', '.join(sorted(covered))}: " + ", ".join(
            f"{name} {means[name]:.0%}" for name in best
        )
    return page


COVERAGE = Experiment(
    name="coverage",
    title="Which people pools cover",
    paper=(),
    goals=goals,
    show=show,
    layouts=ONION_LAYOUTS,
)
