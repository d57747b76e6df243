"""`cochef pool`: look at pools, put them together, and train with them."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cochef.cli.arguments import OwnLayout, Seed, check_seed
from cochef.cli.output import print_line
from cochef.cli.train import INTERRUPTED, progress_of
from cochef.errors import InputError
from cochef.experiments.presets import PRESETS, PresetName
from cochef.files import claim_directory
from cochef.runtime import use_all_cores


@dataclass
class ShowPool:
    """Show the policies of a pool: hidden rewards, returns and events, also as a picture."""

    directory: tyro.conf.Positional[Path]
    """The directory of a pool: a `pool-...` job of `cochef run`, or what was merged."""
    layout: OwnLayout = None
    picture: Path | None = None
    """Draw everybody's event counts to this file; DIRECTORY/pool.png if not given."""

    def run(self) -> int:
        """Read, print and draw."""
        from cochef.agents import pool
        from cochef.evaluation import plots
        from cochef.experiments import pools
        from cochef.kitchen import layouts

        files = pool.read(self.directory, layouts.get(self.layout) if self.layout else None)
        rows = pools.describe(files)
        table = Table(title=f"{files.layout.name}: {len(rows)} policies")
        for heading in rows[0]:
            table.add_column(heading, overflow="fold")
        for row in rows:
            table.add_row(*row.values())
        Console(highlight=False).print(table)
        path = self.picture or self.directory / "pool.png"
        found = pools.pool_events(files)
        title = f"{files.layout.name}, the pool"
        picture = plots.event_space(
            found.counts, found.events, found.hidden_rewards, range(len(rows)), title
        )
        plots.save(picture, path)
        print_line(f"picture: {path}")
        return 0


@dataclass
class ListPools:
    """List the pools below a directory."""

    root: tyro.conf.Positional[Path] = Path("runs")
    """Where to look."""

    def run(self) -> int:
        """Look and print."""
        from cochef.agents import pool

        paths = sorted(self.root.rglob(pool.INDEX))
        if not paths:
            raise InputError(f"{self.root}: no pools below it; `cochef run` makes them")
        table = Table("pool", "layout", "policies", "of them biased", "mean return")
        for path in paths:
            try:
                index = pool.read_index(path.parent)
            except InputError as error:
                table.add_row(str(path.parent), Text(f"damaged: {error}", style="red"), "", "", "")
                continue
            biased = sum(member.hidden_reward is not None for member in index.members)
            mean = sum(member.task_return for member in index.members) / len(index.members)
            table.add_row(
                str(path.parent), index.layout, str(len(index.members)), str(biased), f"{mean:.0f}"
            )
        Console(highlight=False).print(table)
        return 0


@dataclass
class MergePools:
    """Make a pool of everybody in some pools of one layout."""

    out: tyro.conf.Positional[Path]
    """The directory of the new pool."""
    pools: tyro.conf.Positional[tuple[Path, ...]]
    """The directories of the pools to merge."""
    layout: OwnLayout = None

    def run(self) -> int:
        """Read and write."""
        from cochef.agents import pool
        from cochef.kitchen import layouts

        if (self.out / pool.INDEX).exists():
            raise InputError(f"{self.out}: a pool already; give another directory")
        layout = layouts.get(self.layout) if self.layout else None
        files = pool.merge(self.out, [pool.read(path, layout) for path in self.pools])
        print_line(f"{len(files.members)} policies in {self.out}")
        return 0


@dataclass
class TrainWithPool:
    """Train agents that adapt to a pool, also a merged one; an interrupted run resumes."""

    directory: tyro.conf.Positional[Path]
    """The directory of the pool."""
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

    def run(self) -> int:
        """Train, or resume training."""
        check_seed(self.seed)
        use_all_cores()
        from cochef.agents import pool
        from cochef.experiments.jobs import JobContext
        from cochef.experiments.stages import TrainAgents
        from cochef.kitchen import layouts
        from cochef.learning import reward_config, runs

        files = pool.read(self.directory, layouts.get(self.layout) if self.layout else None)
        rewards = reward_config.shipped(files.layout)
        if self.rewards:
            rewards = reward_config.read(self.rewards)
        stage = TrainAgents(files.layout, PRESETS[self.preset].second_stage, rewards, self.seed)
        inputs = {"pool": self.directory}
        if self.parents:
            inputs["parents"] = self.parents
        claim_directory(self.out)
        console = Console(stderr=True, highlight=False, soft_wrap=True)

        def log(text: str) -> None:
            console.print(text, markup=False)

        try:
            stage.run(JobContext(self.out, inputs, [progress_of(console)], log))
        except KeyboardInterrupt:
            console.print("interrupted; the same command resumes from the last checkpoint")
            return INTERRUPTED
        print_line(f"agents in {self.out / runs.AGENTS}")
        return 0
