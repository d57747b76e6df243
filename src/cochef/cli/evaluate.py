"""`cochef evaluate` and `cochef table`: measure agents with partners, and look at the records again."""

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console

import cochef
from cochef.cli.seeds import check_seed
from cochef.errors import InputError

if TYPE_CHECKING:
    from cochef.evaluation.records import Records

MAX_EPISODES = 100_000


@dataclass
class Evaluate:
    """Measure agents with partners: both seats, many episodes, everything recorded.

    Agents and partners are names (see `cochef partners`) or paths of agent files. LABEL=PATH;PATH gives the
    training seeds of one method under one label.
    """

    layout: str
    """The kitchen."""
    agents: tuple[str, ...]
    """Whom to measure."""
    partners: tuple[str, ...] = ()
    """With whom; all scripts of the kitchen and its human proxy if none is given."""
    episodes: int = 100
    """Episodes for each pair and seat."""
    seed: int = 0
    """Where all randomness comes from."""
    greedy: bool = False
    """Networks take their likeliest action instead of sampling."""
    out: Path | None = None
    """Directory for the records, tables and the cross-play picture."""

    def run(self) -> int:
        """Play, record, and show."""
        from cochef.compilation import keep_compiled
        from cochef.evaluation import crossplay, records
        from cochef.kitchen import layouts

        if not 1 <= self.episodes <= MAX_EPISODES:
            raise InputError(f"episodes is {self.episodes}; it takes a number from 1 to {MAX_EPISODES}")
        check_seed(self.seed)
        if not self.agents:
            raise InputError("no agents; give at least one, such as --agents script:delivery")
        keep_compiled()
        layout = layouts.get(self.layout)
        agents = crossplay.players(self.agents)
        partners = crossplay.players(self.partners or crossplay.unseen_partners(layout))
        with Console(stderr=True).status(f"playing {len(agents)} x {len(partners)} pairs in {layout.name}"):
            found = crossplay.evaluate(
                layout, agents, partners, episodes=self.episodes, seed=self.seed, greedy=self.greedy
            )
        manifest = {
            "layout": layout.name,
            "fingerprint": layout.fingerprint,
            "horizon": layout.horizon,
            "agents": [vars(player) for player in agents],
            "partners": [vars(player) for player in partners],
            "episodes_per_pair_and_seat": self.episodes,
            "seed": self.seed,
            "greedy": self.greedy,
            "cochef": cochef.__version__,
            "python": platform.python_version(),
        }
        if self.out:
            records.write(self.out, found, manifest)
        _show(found, manifest, self.out)
        return 0


@dataclass
class ShowTable:
    """Make the tables and the picture of an evaluation again from its records."""

    directory: Annotated[Path, tyro.conf.Positional]
    """What was given to `cochef evaluate --out`."""

    def run(self) -> int:
        """Read and show."""
        from cochef.evaluation import records

        _show(*records.read(self.directory), self.directory)
        return 0


def _show(found: "Records", manifest: dict[str, Any], out: Path | None) -> None:
    from cochef.evaluation import plots, tables

    title = f"{manifest['layout']}: score (± sd over seeds, or standard error)"
    overview, details = tables.scores(found, title), tables.details(found, f"{manifest['layout']}: details")
    habits = [name for name in found.columns if name.startswith("agent_") and found[name].any()]
    behaviour = tables.behaviour(found, f"{manifest['layout']}: per episode", habits)
    Console().print(overview.rich())
    if out:
        texts = (overview.markdown(), details.markdown(), behaviour.markdown())
        (out / "tables.md").write_text("\n".join(texts), "utf-8")
        plots.save(plots.heat_map(found, f"{manifest['layout']}: mean score"), out / "crossplay.png")
        Console().print(f"records, tables.md and crossplay.png in {out}")
