"""`cochef evaluate` and `cochef table`: evaluate agents, and show an evaluation again."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console

from cochef.cli.arguments import LayoutName, Seed, check_seed
from cochef.errors import InputError
from cochef.files import claim_directory, write_whole
from cochef.validation import number

if TYPE_CHECKING:
    from cochef.evaluation.records import Records

MAX_EPISODES = 100_000

Details = Annotated[
    bool,
    tyro.conf.arg(
        help="Also print each seat, intervals, shaped reward, "
        "and how partners differ and share the work."
    ),
]


@dataclass
class Evaluate:
    """Evaluate agents with partners: both seats, many episodes, everything recorded.

    Agents and partners are names (see `cochef partners`) or paths of agent files. LABEL=PATH;PATH
    gives the training seeds of one method under one label.
    """

    layout: LayoutName
    agents: tuple[str, ...]
    """Whom to evaluate."""
    partners: tuple[str, ...] = ()
    """With whom; all scripts of the layout and its human proxy if none is given."""
    episodes: int = 100
    """Episodes for each pair and seat."""
    seed: Seed = 0
    greedy: bool = False
    """The agents take their likeliest action instead of sampling; partners always sample."""
    out: Path | None = None
    """Directory for the records, all tables and the cross-play picture."""
    details: Details = False

    def run(self) -> int:
        """Play, record, and show."""
        from cochef.evaluation import crossplay, records
        from cochef.kitchen import layouts

        number(self.episodes, "episodes", 1, MAX_EPISODES)
        check_seed(self.seed)
        if not self.agents:
            raise InputError("no agents; give at least one, such as --agents script:delivery")
        if self.out:
            claim_directory(self.out)
        layout = layouts.get(self.layout)
        agents = crossplay.players(self.agents)
        partners = crossplay.players(self.partners or crossplay.unseen_partners(layout))
        playing = f"playing {len(agents)} x {len(partners)} pairs in {layout.name}"
        with Console(stderr=True).status(playing):
            found = crossplay.evaluate(
                layout,
                agents,
                partners,
                episodes=self.episodes,
                seed=self.seed,
                greedy=self.greedy,
            )
        manifest = crossplay.manifest(
            layout, agents, partners, self.episodes, self.seed, greedy=self.greedy
        )
        if self.out:
            records.write(self.out, found, manifest)
        _show(found, manifest, self.out, self.details)
        return 0


@dataclass
class ShowTables:
    """Make the tables and the picture of an evaluation again from its records."""

    directory: Annotated[Path, tyro.conf.Positional]
    """What was given to `cochef evaluate --out`."""
    details: Details = False

    def run(self) -> int:
        """Read and show."""
        from cochef.evaluation import records

        _show(*records.read(self.directory), self.directory, self.details)
        return 0


def _show(found: "Records", manifest: dict[str, Any], out: Path | None, details: bool) -> None:
    from cochef.evaluation import plots, tables

    counted = [
        name
        for name in found.columns
        if name.startswith(("agent_", "partner_")) and not name.endswith("_seed")
    ]
    happened = [name for name in counted if found[name].any()]
    layout = manifest["layout"]
    compared = manifest["compared_events"]
    overview = tables.scores(found, f"{layout}: score (± sd over seeds, or standard error)")
    more = [
        tables.details(found, f"{layout}: details"),
        tables.partners(found, compared, f"{layout}: partners"),
        tables.behaviour(found, f"{layout}: mean of an episode", happened),
    ]
    console = Console(highlight=False)
    console.print(overview.rich(), *(table.rich() for table in more[:2] if details))
    if out:
        text = "\n".join(table.markdown() for table in (overview, *more))
        write_whole(out / "tables.md", text.encode())
        plots.save(plots.heat_map(found, f"{layout}: mean score"), out / "crossplay.png")
        console.print(f"records, tables.md and crossplay.png in {out}", markup=False)
