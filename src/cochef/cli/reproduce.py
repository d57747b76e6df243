"""`cochef reproduce`: run the paper's experiments, and make its tables and figures."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from cochef import interrupts
from cochef.cli.arguments import MethodName, check_seed
from cochef.cli.engine import EngineArguments
from cochef.cli.output import JsonOption, log, print_json, print_line, print_rows
from cochef.cli.progress import RESUMES, training_progress
from cochef.experiments.presets import PRESETS, PresetName
from cochef.runtime import compile_quickly

if TYPE_CHECKING:
    from cochef.experiments.engines import Engine
    from cochef.experiments.jobs import Job, JobStore
    from cochef.learning.writers import MetricsWriter
    from cochef.reproduction.plan import Plan, Scope


@dataclass
class Reproduce:
    """Run experiments of the paper: the plan with times first, then the jobs, then the pages.

    Finished jobs are never repeated, nor those whose results are stored; an interrupted run
    resumes when the same command is given again.
    """

    experiments: tyro.conf.Positional[tuple[str, ...]]
    """Names of experiments, or `all`; without any they are listed."""
    preset: PresetName = "laptop"
    """The settings: for a test, minutes, the results on two cores, or the paper's."""
    layouts: tuple[str, ...] = ()
    """Layouts in the order of running; else the paper's five, with `smoke` one an experiment."""
    methods: tuple[MethodName, ...] = ()
    """Only what is about these methods and no others; all if not given. Says what it leaves out."""
    seeds: tuple[int, ...] = (0,)
    """Populations; everything that is trained follows from them."""
    agents: int | None = None
    """Agents of each population; the preset's number if not given."""
    budget: float | None = None
    """Hours; leaves out populations, then layouts, then agents, and says which."""
    out: Path = Path("runs")
    """Where all jobs are."""
    results: Path | None = None
    """Where small copies of results are kept, which count as done; OUT/results if not given."""
    pages: Path | None = None
    """Where tables and figures of all experiments are written.

    If neither this nor a README is given, those of the command are written to OUT/pages.
    """
    readme: Path | None = None
    """A README whose table is written, too, between its markers; pages are of all experiments."""
    study: str | None = None
    """The database of a study with people; without one its participants are simulated."""
    plan: bool = False
    """Only print the plan."""
    collect: bool = False
    """Run nothing: copy the results of finished jobs, and write the pages."""
    shard_members: int | None = None
    """Split populations with independent members into jobs of at most so many members."""
    where: EngineArguments = field(default_factory=EngineArguments)
    json: JsonOption = False

    def run(self) -> int:
        """Plan, and do."""
        interrupts.explain(RESUMES)
        for seed in self.seeds:
            check_seed(seed)
        self.where.use_cores()
        from cochef import reproduction
        from cochef.experiments.jobs import JobStore
        from cochef.reproduction import plan, stored
        from cochef.reproduction.declared import LAYOUTS, TRIAL_LAYOUTS

        if not self.experiments:
            _list_experiments(as_json=self.json)
            return 0
        is_trial = PRESETS[self.preset].scale == "tiny"
        if is_trial:
            compile_quickly()
        scope = plan.Scope(
            tuple(reproduction.chosen(self.experiments)),
            self.preset,
            self.layouts or (TRIAL_LAYOUTS if is_trial else LAYOUTS),
            self.seeds,
            self.agents,
            self.study,
            self.methods,
            brief=is_trial and not self.layouts,
            shard_members=self.shard_members,
        )
        store = JobStore(self.out)
        found = stored.addresses(self._results, self.preset)
        planned = plan.within(scope, self.budget, store, found)
        if not self.collect:
            _print_plan(planned, store, as_json=self.json)
        code = 0 if self.plan or self.collect else _run(planned, store, self.where.make())
        if not self.plan:
            self._write(planned, store)
        return code

    def _write(self, planned: "Plan", store: "JobStore") -> None:
        """Keep the results, and make pages from what is kept."""
        from cochef.reproduction import pages

        done = pages.collect(planned, store, self._results)
        if not self.json:
            print_line(f"{done} of {len(planned.goals)} results are in {self._results}")
        scope = self._pages_scope(planned.scope)
        found = pages.open_results(self._results, scope)
        written = pages.write(found, scope, self.pages or self.out / "pages")
        if not self.json:
            print_line(f"pages: {written[0]}")
        if self.readme is not None:
            pages.write_readme(found, self.readme)

    @property
    def _results(self) -> Path:
        """Where results are kept."""
        return self.results or self.out / "results"

    def _pages_scope(self, scope: "Scope") -> "Scope":
        """What pages are about: of docs everything, else what the command is about."""
        from cochef import reproduction
        from cochef.reproduction.declared import LAYOUTS

        scope = replace(scope, methods=())  # columns of the same tables
        if self.pages is None and self.readme is None:
            return scope
        every = tuple(reproduction.chosen([reproduction.ALL]))
        return replace(scope, experiments=every, layouts=LAYOUTS, brief=False)


def _list_experiments(*, as_json: bool) -> None:
    from cochef.reproduction import EXPERIMENTS

    rows = [
        {"name": name, "what": experiment.title, "in the paper": list(experiment.paper)}
        for name, experiment in EXPERIMENTS.items()
    ]
    print_rows(rows, as_json=as_json, whole=("name",))


def _print_plan(planned: "Plan", store: "JobStore", *, as_json: bool) -> None:
    """Print the blocks with their estimated times, and what was left out."""
    from cochef.experiments import estimates

    estimator = estimates.measured(store)
    rows = []
    total = 0.0
    for number, block in enumerate(planned.blocks, start=1):
        left = [job for job in block.jobs if not store.is_done(job)]
        hours = estimator.left(left, store) / 3600
        total += hours
        rows.append(
            {
                "block": number,
                "layout": block.layout,
                "population": block.seed,
                "stored": f"{block.stored} of {len(block.goals)}",
                "jobs left": f"{len(left)} of {len(block.jobs)}",
                "hours": hours,
                "done after": total,
                "experiments": list(block.experiments),
            }
        )
    if as_json:
        agents = planned.scope.agents_each
        plan = {
            "blocks": rows,
            "left out": [block.name for block in planned.left_out],
            "of other methods": planned.other_methods,
            "agents": agents,
            "agents asked for": planned.fewer_agents_than or agents,
        }
        print_json(plan)
        return
    print_rows(rows, whole=("layout",), formats={"hours": ".2f", "done after": ".2f"})
    scope = planned.scope
    print_line(
        f"preset {scope.preset}, {scope.agents_each} agents a population: about {total:.1f} hours, "
        f"{estimator.source}"
    )
    stored = sum(block.stored for block in planned.blocks)
    if stored:
        print_line(
            f"{stored} of {len(planned.goals)} results are stored and count as done; what they "
            "were made of is made again only where something else needs it"
        )
    if planned.fewer_agents_than is not None:
        print_line(
            f"fewer agents for the budget: {scope.agents_each} a population, where "
            f"{planned.fewer_agents_than} were asked for"
        )
    for block in planned.left_out:
        print_line(f"left out for the budget: {block.name}")
    for experiment, conditions in planned.other_methods.items():
        methods = ", ".join(scope.methods)
        print_line(f"left out, not about {methods} alone: {experiment}: {', '.join(conditions)}")


def _run(planned: "Plan", store: "JobStore", engine: "Engine") -> int:
    """Do all jobs that are not done."""
    from cochef.experiments import estimates

    def writers_of(job: "Job") -> "list[MetricsWriter]":
        left = estimates.measured(store).left(planned.jobs, store)
        log(f"about {left / 3600:.1f} hours left")
        return [training_progress(job)] if job.trains else []

    try:
        engine.run(planned.jobs, store, writers_of, log)
    except KeyboardInterrupt:
        log(interrupts.sentence())
        return interrupts.EXIT_CODE
    return 0
