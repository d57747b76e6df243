"""`cochef evaluate` and `cochef table`: evaluate agents, and show an evaluation again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from rich.console import Console

from cochef import interrupts
from cochef.cli.arguments import LayoutName, Seed, check_layout, check_seed, check_some
from cochef.cli.output import JsonOption, print_error, print_json, print_line, print_result
from cochef.errors import InputError
from cochef.files import claim_directory
from cochef.validation import number

if TYPE_CHECKING:
    from cochef.agents.hosting import AgentError
    from cochef.evaluation.crossplay import Player
    from cochef.evaluation.records import Records

MAX_EPISODES = 100_000

Details = Annotated[
    bool,
    tyro.conf.arg(
        help="Also print each seat, intervals, shaped reward, "
        "and how partners differ and share the work."
    ),
]
Figures = Annotated[
    tuple[Literal["svg", "pdf", "png"], ...],
    tyro.conf.arg(help="The formats of the figures that are written."),
]


@dataclass
class Evaluate:
    """Evaluate agents with partners: both seats, many episodes, everything recorded.

    Agents and partners are names (see `cochef partners`), paths of agent files, or MODULE:FACTORY
    for own agents, whose code is run (docs/tutorials/own_agent.md). LABEL=PATH;PATH gives the
    training seeds of one method under one label; methods are compared over their seeds.
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
    """Directory for the records, the tables (Markdown, LaTeX, CSV) and the figures."""
    overwrite: bool = False
    """Replace another evaluation's records, tables and figures in that directory."""
    figures: Figures = ("svg", "pdf")
    details: Details = False
    json: JsonOption = False

    def run(self) -> int:
        """Play, record, and show."""
        number(self.episodes, "episodes", 1, MAX_EPISODES)
        check_seed(self.seed)
        check_layout(self.layout)
        check_some(self.agents, "agents", "give at least one, such as --agents script:delivery")
        interrupts.explain("interrupted; nothing of this evaluation was written")
        from cochef.evaluation import crossplay, publication, records
        from cochef.kitchen import layouts

        layout = layouts.get(self.layout)
        agents = crossplay.players(self.agents)
        partners = crossplay.players(self.partners or crossplay.unseen_partners(layout))
        agents = crossplay.load_players(agents, layout, greedy=self.greedy, own_code=True)
        partners = crossplay.load_players(partners, layout, own_code=True)
        failures: dict[str, AgentError] = {}
        manifest = crossplay.manifest(
            layout, agents, partners, self.episodes, self.seed, greedy=self.greedy
        )
        if self.out:
            claim_directory(self.out)
            if not self.overwrite:
                records.check_vacant(self.out, manifest, publication.FILES)
        playing = f"playing {len(agents)} x {len(partners)} pairs in {layout.name}"
        with Console(stderr=True).status(playing):
            found = crossplay.evaluate(
                layout,
                agents,
                partners,
                episodes=self.episodes,
                seed=self.seed,
                greedy=self.greedy,
                failures=failures,
            )
        if self.out:
            if self.overwrite:
                publication.remove(self.out)
            failed = {name: str(error) for name, error in failures.items()}
            records.write(self.out, found, {**manifest, "failed": failed})
            interrupts.explain(f"interrupted; `cochef table {self.out}` makes tables and figures")
        show(found, manifest, self.details, as_json=self.json)
        _publish(found, manifest, self.out, self.figures)
        return report_own_agents([*agents, *partners], failures)


@dataclass
class ShowTables:
    """Make tables and figures of evaluations again from their records.

    Records of several directories are taken together, such as those of methods or of runs with
    other seeds; then `--out` says where tables and figures go.
    """

    directories: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """What was given to `cochef evaluate --out`, or evaluation-... jobs of `cochef run`."""
    out: Path | None = None
    """Where tables and figures are written; for a single directory, there."""
    figures: Figures = ("svg", "pdf")
    details: Details = False
    json: JsonOption = False

    def run(self) -> int:
        """Read and show."""
        check_some(self.directories, "directory", "give what was given to `cochef evaluate --out`")
        from cochef.evaluation import records

        found, manifest = records.read_all(self.directories)
        out = self.out or (self.directories[0] if len(self.directories) == 1 else None)
        show(found, manifest, self.details, as_json=self.json)
        _publish(found, manifest, out, self.figures)
        return 0


def report_own_agents(players: "Sequence[Player]", failures: "Mapping[str, AgentError]") -> int:
    """Say how fast own agents were and which of them failed; the exit code.

    Standard output may hold JSON, which nothing else should follow.
    """
    from cochef.agents import hosting

    for caller in hosting.callers([player.agent for player in players]):
        print_line(caller.describe_speed(), stderr=True)
    for error in failures.values():
        print_error(InputError(f"{error}; its episodes are left out"), stderr=True)
    return 1 if failures else 0


def show(
    found: "Records", manifest: dict[str, Any], details: bool = False, *, as_json: bool = False
) -> None:
    """Print what came out: a sentence, and tables or JSON."""
    from cochef.evaluation import comparisons, findings, publication, tables

    sentence = findings.main_finding(found)
    if as_json:
        content = {
            "layout": manifest["layout"],
            "finding": sentence,
            "scores": tables.summary_rows(found),
            "differences": tables.difference_rows(comparisons.compare_first(found)),
        }
        print_json(content)
        return
    layout = manifest["layout"]
    print_result(publication.score_table(found, layout))
    difference = publication.difference_table(found, layout)
    if difference:
        print_result(difference)
    if details:
        for table in publication.detail_tables(found, manifest):
            print_result(table)
    print_line(sentence)


def _publish(
    found: "Records", manifest: dict[str, Any], out: Path | None, figures: tuple[str, ...]
) -> None:
    if out is None:
        return
    from cochef.evaluation import publication

    names = publication.write(out, found, manifest, figures)
    print_line(f"in {out}: {', '.join(names)}", stderr=True)
