"""`cochef human`: the games that people played together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console
from rich.table import Column, Table

from cochef.errors import InputError

if TYPE_CHECKING:
    from cochef.human.convert import Check


@dataclass
class ListGames:
    """List the human-human games that ship with the package, by kitchen and split."""

    def run(self) -> int:
        """Print a line for each kitchen and split."""
        from cochef.human.games import Split, games

        header = (Column("kitchen", no_wrap=True), "split", "games", "steps", "mean score", "per 400 steps")
        table = Table(*header, title="Human-human games")
        for layout in sorted({game.layout for game in games()}):
            for split in Split:
                chosen = games(layout, split)
                steps, score = sum(len(game.actions) for game in chosen), sum(game.score for game in chosen)
                mean, rate = f"{score / len(chosen):.1f}", f"{score / steps * 400:.1f}"
                table.add_row(layout, split.value, str(len(chosen)), str(steps), mean, rate)
        Console().print(table)
        return 0


@dataclass
class ConvertGames:
    """Convert the human-human games in the source archive of overcooked-ai 1.1.0 into a file of arrays.

    Every recorded step is compared with our rules. Exit code 0: all are reproduced, the file is written. 1: some
    are not; they are listed and nothing is written. 2: this is not the archive.
    """

    archive: Annotated[Path, tyro.conf.Positional]
    """overcooked_ai-1.1.0.tar.gz as published on PyPI."""

    output: Path = Path("games.npz")
    """The file to write."""

    report: Path | None = None
    """Also write the comparison to this Markdown file."""

    def run(self) -> int:
        """Convert, compare, report, and write what holds."""
        from cochef.human.convert import convert, read_archive

        return publish(convert(read_archive(self.archive)), self.output, self.report)


def publish(checks: "Sequence[Check]", output: Path, report_file: Path | None) -> int:
    """Report how converted games compare with their record, and write them if all are reproduced; the exit code."""
    from cochef.human import games, report

    console = Console(highlight=False, soft_wrap=True)
    first, *others = report.HEADER
    table = Table(Column(first, no_wrap=True), *others, title="Recorded steps that our rules reproduce")
    for row in report.rows(checks):
        table.add_row(*row)
    console.print(table)
    differing = list(report.differences(checks))
    for sentence in differing:
        console.print(sentence, markup=False)
    try:
        if report_file is not None:
            report_file.write_text(report.markdown(checks), "utf-8")
        if not differing:
            games.write(output, [check.game for check in checks])
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be written ({error.strerror})") from error
    console.print(f"games that differ: {len(differing)}; nothing written" if differing else f"written: {output}")
    return 1 if differing else 0


@dataclass
class Human:
    """The games that people played together: list those that ship, or convert them anew."""

    action: (
        Annotated[ListGames, tyro.conf.subcommand("list")] | Annotated[ConvertGames, tyro.conf.subcommand("convert")]
    ) = field(default_factory=ListGames)

    def run(self) -> int:
        """Do what was asked."""
        return self.action.run()
