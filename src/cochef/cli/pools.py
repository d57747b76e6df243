"""`cochef pool`: look at pools, put them together, and train with them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cochef.cli.seeds import check_seed
from cochef.cli.train import INTERRUPTED, Watching
from cochef.errors import InputError
from cochef.experiments.presets import PRESETS, PresetName
from cochef.files import claim_directory


@dataclass
class ShowPool:
    """Show who is in a pool, what everybody likes, earns and does, as a table and as a picture."""

    directory: Annotated[Path, tyro.conf.Positional]
    """The directory of a pool: a `pool-...` job of `cochef run`, or what was merged."""
    layout: str | None = None
    """The path of the layout file, if the kitchen does not ship with the package."""
    picture: Path | None = None
    """Draw what everybody does to this file; DIRECTORY/pool.png if not given."""

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
        console = Console(highlight=False)
        console.print(table)
        path = self.picture or self.directory / "pool.png"
        counts, events, hidden = pools.event_table(files)
        everybody = range(len(rows))
        plots.save(plots.event_space(counts, events, hidden, everybody, f"{files.layout.name}, the pool"), path)
        console.print(f"picture: {path}", markup=False, soft_wrap=True)
        return 0


@dataclass
class ListPools:
    """List the pools below a directory."""

    root: Annotated[Path, tyro.conf.Positional] = Path("runs")
    """Where to look."""

    def run(self) -> int:
        """Look and print."""
        from cochef.agents import pool

        paths = sorted(self.root.rglob(pool.INDEX))
        if not paths:
            raise InputError(f"{self.root}: no pools below it; `cochef run` makes them")
        table = Table("pool", "kitchen", "policies", "of them biased", "mean return")
        for path in paths:
            try:
                index = pool.read_index(path.parent)
            except InputError as error:
                table.add_row(str(path.parent), Text(f"damaged: {error}", style="red"), "", "", "")
                continue
            biased = sum(member.hidden is not None for member in index.members)
            mean = sum(member.returned for member in index.members) / len(index.members)
            table.add_row(str(path.parent), index.layout, str(len(index.members)), str(biased), f"{mean:.0f}")
        Console(highlight=False).print(table)
        return 0


@dataclass
class MergePools:
    """Make a pool of everybody in some pools of one kitchen."""

    out: Annotated[Path, tyro.conf.Positional]
    """The directory of the new pool."""
    pools: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """The directories of the pools to merge."""
    layout: str | None = None
    """The path of the layout file, if the kitchen does not ship with the package."""

    def run(self) -> int:
        """Read and write."""
        from cochef.agents import pool
        from cochef.kitchen import layouts

        if (self.out / pool.INDEX).exists():
            raise InputError(f"{self.out}: a pool already; give another directory")
        layout = layouts.get(self.layout) if self.layout else None
        files = pool.merge(self.out, [pool.read(path, layout) for path in self.pools])
        Console(highlight=False, soft_wrap=True).print(f"{len(files.members)} policies in {self.out}", markup=False)
        return 0


@dataclass
class TrainWithPool:
    """Train agents that get along with a pool, also a merged one; the same command goes on where it was stopped."""

    directory: Annotated[Path, tyro.conf.Positional]
    """The directory of the pool."""
    out: Path
    """The directory of the run; the agents are in its `agents`."""
    layout: str | None = None
    """The path of the layout file, if the kitchen does not ship with the package."""
    preset: PresetName = "laptop"
    """The settings."""
    seed: int = 0
    """Where all randomness comes from."""
    rewards: Path | None = None
    """A TOML file with own helping rewards (docs/training.md)."""

    def run(self) -> int:
        """Train, or go on training."""
        check_seed(self.seed)
        from cochef.runtime import use_all_cores

        use_all_cores()
        from cochef.agents import pool
        from cochef.experiments import adaptation
        from cochef.kitchen import layouts
        from cochef.learning import reward_config, runs

        files = pool.read(self.directory, layouts.get(self.layout) if self.layout else None)
        rewards = reward_config.read(self.rewards) if self.rewards else reward_config.shipped(files.layout)
        how = adaptation.adaptation(PRESETS[self.preset].adaptive, rewards, len(files.members), self.seed)
        claim_directory(self.out)
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        try:
            adaptation.train(
                how, files, self.out, [Watching(console)], tell=lambda text: console.print(text, markup=False)
            )
        except KeyboardInterrupt:
            console.print("stopped; the same command goes on from the last checkpoint")
            return INTERRUPTED
        Console(highlight=False, soft_wrap=True).print(f"agents in {self.out / runs.AGENTS}", markup=False)
        return 0


@dataclass
class Pools:
    """Look at pools of policies, put them together, and train with them."""

    command: (
        Annotated[ShowPool, tyro.conf.subcommand("show")]
        | Annotated[ListPools, tyro.conf.subcommand("list")]
        | Annotated[MergePools, tyro.conf.subcommand("merge")]
        | Annotated[TrainWithPool, tyro.conf.subcommand("train")]
    )

    def run(self) -> int:
        """Run the command."""
        return self.command.run()
