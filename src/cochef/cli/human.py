"""`cochef human`: the games that people played together."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console
from rich.table import Column, Table

from cochef.cli.output import print_line
from cochef.errors import InputError

if TYPE_CHECKING:
    from cochef.human.convert import ReplayCheck


@dataclass
class ListGames:
    """List the human-human games that ship with the package, by layout and split."""

    def run(self) -> int:
        """Print a line for each layout and split."""
        from cochef.human.games import Split, games

        table = Table(
            Column("layout", no_wrap=True),
            *("split", "games", "steps", "mean score", "per 400 steps"),
            title="Human-human games",
        )
        for layout in sorted({game.layout_name for game in games()}):
            for split in Split:
                chosen = games(layout, split)
                steps = sum(len(game.actions) for game in chosen)
                score = sum(game.score for game in chosen)
                mean = f"{score / len(chosen):.1f}"
                rate = f"{score / steps * 400:.1f}"
                table.add_row(layout, split.value, str(len(chosen)), str(steps), mean, rate)
        Console().print(table)
        return 0


@dataclass
class ConvertGames:
    """Convert the human-human games in the source archive of overcooked-ai 1.1.0 to arrays.

    Every recorded step is compared with our rules. Exit code 0: all are reproduced, the file is
    written. 1: some are not; they are listed and nothing is written. 2: this is not the archive.
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


def publish(checks: "Sequence[ReplayCheck]", output: Path, report_file: Path | None) -> int:
    """Report how converted games compare with their record, and return the exit code.

    The games are written if all of them are reproduced.
    """
    from cochef.human import games, report

    first, *others = report.HEADER
    title = "Recorded steps that our rules reproduce"
    table = Table(Column(first, no_wrap=True), *others, title=title)
    for row in report.rows(checks):
        table.add_row(*row)
    Console(highlight=False, soft_wrap=True).print(table)
    differing = list(report.differences(checks))
    for sentence in differing:
        print_line(sentence)
    try:
        if report_file is not None:
            report_file.write_text(report.markdown(checks), "utf-8")
        if not differing:
            games.write(output, [check.game for check in checks])
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be written ({error.strerror})") from error
    if differing:
        print_line(f"games that differ: {len(differing)}; nothing written")
        return 1
    print_line(f"written: {output}")
    return 0
