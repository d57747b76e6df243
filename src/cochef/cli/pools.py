"""`cochef pool`: look at pools, put them together, and train with them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from cochef import interrupts
from cochef.cli.arguments import OwnLayout, Seed, check_seed
from cochef.cli.output import JsonOption, log, print_line, print_rows
from cochef.cli.progress import RESUMES, training_progress
from cochef.errors import InputError
from cochef.experiments.presets import PRESETS, PresetName
from cochef.files import claim_directory
from cochef.runtime import cache_directory, use_all_cores


def _located(source: Path) -> Path:
    """The directory of a pool that is given by its path or name."""
    from cochef.agents import shipped_pools

    return shipped_pools.located(source, cache_directory("pools"))


@dataclass
class ShowPool:
    """Show the policies of a pool: hidden rewards, returns and events, also as a picture."""

    directory: tyro.conf.Positional[Path]
    """The directory of a pool: a `pool-...` job of `cochef run`, or what was merged; or the name of
    a pool that ships, such as hsp:distant_tomato."""
    layout: OwnLayout = None
    picture: Path | None = None
    """Draw everybody's event counts to this file; DIRECTORY/pool.png if not given."""
    json: JsonOption = False

    def run(self) -> int:
        """Read, print and draw."""
        from cochef.agents import pool
        from cochef.evaluation import plots
        from cochef.experiments import pools
        from cochef.kitchen import layouts

        directory = _located(self.directory)
        files = pool.read(directory, layouts.get(self.layout) if self.layout else None)
        rows = pools.describe(files)
        title = f"{files.layout.name}: {len(rows)} policies"
        print_rows(rows, title, as_json=self.json, whole=list(rows[0])[:1])
        path = self.picture or directory / "pool.png"
        found = pools.pool_events(files)
        title = f"{files.layout.name}, the pool"
        picture = plots.event_space(
            found.counts, found.events, found.hidden_rewards, range(len(rows)), title
        )
        plots.save(picture, path)
        if not self.json:
            print_line(f"picture: {path}")
        return 0


@dataclass
class ListPools:
    """List the pools below a directory."""

    root: tyro.conf.Positional[Path] = Path("runs")
    """Where to look."""
    json: JsonOption = False

    def run(self) -> int:
        """Look and print."""
        from cochef.agents import pool

        paths = sorted(self.root.rglob(pool.INDEX))
        if not paths:
            raise InputError(f"{self.root}: no pools below it; `cochef run` makes them")
        rows = []
        for path in paths:
            row: dict[str, object] = {"pool": str(path.parent)}
            try:
                index = pool.read_index(path.parent)
            except InputError as error:
                empty = {"policies": None, "of them biased": None, "mean return": None}
                rows.append(row | {"layout": f"damaged: {error}"} | empty)
                continue
            returns = [member.task_return for member in index.members]
            row |= {"layout": index.layout, "policies": len(returns)}
            row["of them biased"] = sum(
                member.hidden_reward is not None for member in index.members
            )
            row["mean return"] = sum(returns) / len(returns)
            rows.append(row)
        formats = {"mean return": ".0f"}
        print_rows(rows, as_json=self.json, whole=("pool", "layout"), formats=formats)
        return 0


@dataclass
class MakePool:
    """Make a pool of agent files, of everybody in finished runs, and of everybody in pools."""

    out: tyro.conf.Positional[Path]
    """The directory of the new pool."""
    sources: tyro.conf.Positional[tuple[Path, ...]]
    """Agent files, directories of runs, directories or names of pools; all for one layout."""
    layout: OwnLayout = None

    def run(self) -> int:
        """Read and write."""
        from cochef.experiments import pools
        from cochef.kitchen import layouts

        layout = layouts.get(self.layout) if self.layout else None
        files = pools.make(self.out, [_located(source) for source in self.sources], layout)
        print_line(f"{len(files.members)} policies in {self.out}")
        return 0


@dataclass
class TrainWithPool:
    """Train agents that adapt to a pool, also a merged one; an interrupted run resumes."""

    directory: tyro.conf.Positional[Path]
    """The directory of the pool, or the name of one that ships, such as hsp:distant_tomato."""
    out: Path
    """The directory of the run; the agents are in its `agents`."""
    layout: OwnLayout = None
    preset: PresetName = "laptop"
    """The settings."""
    seed: Seed = 0
    rewards: Path | None = None
    """A TOML file with own shaped rewards (docs/training.md)."""
    parents: Path | None = None
    """The directory of a population whose policies the agents begin as; else from scratch."""
    origin: Annotated[Path | None, tyro.conf.arg(name="from")] = None
    """An agent file, the directory of a run, or KIND:LAYOUT that ships, to be trained further."""
    steps: int | None = None
    """Environment steps for each agent; the preset's number if not given."""
    own: tuple[str, ...] = ()
    """Own agents that join the pool: MODULE:FACTORY, as in `cochef evaluate`; their code is run."""

    def run(self) -> int:
        """Train, or resume training."""
        check_seed(self.seed)
        interrupts.explain(RESUMES)
        use_all_cores()
        from cochef.agents import hosting, pool
        from cochef.agents.names import load
        from cochef.experiments.jobs import JobContext
        from cochef.experiments.stages import TrainAgents
        from cochef.kitchen import layouts
        from cochef.learning import reward_config, runs
        from cochef.learning.further import read_origin

        directory = _located(self.directory)
        files = pool.read(directory, layouts.get(self.layout) if self.layout else None)
        rewards = reward_config.shipped(files.layout)
        if self.rewards:
            rewards = reward_config.read(self.rewards)
        own = {name: load(name, files.layout, own_code=True) for name in self.own}
        settings = PRESETS[self.preset].second_stage
        stage = TrainAgents(files.layout, settings, rewards, self.seed, own=own)
        if self.steps is not None:
            stage = stage.lasting(self.steps)
        inputs = {"pool": directory}
        if self.origin is not None:
            if self.parents:
                raise InputError("--parents with --from; agents that go on have no parents")
            stage = stage.further(read_origin(self.origin, files.layout))
            inputs["from"] = self.origin
        if self.parents:
            inputs["parents"] = self.parents
        claim_directory(self.out)
        stage.run(JobContext(self.out, inputs, [training_progress()], log))
        for caller in hosting.callers(own):
            print_line(caller.describe_speed())
        print_line(f"agents in {self.out / runs.AGENTS}")
        return 0
