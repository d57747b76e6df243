"""`cochef human`: the games that people played together."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from cochef.cli.output import JsonOption, print_json, print_line, print_rows
from cochef.files import write_whole

if TYPE_CHECKING:
    from cochef.human.convert import ReplayCheck


@dataclass
class ListGames:
    """List the human-human games that ship with the package, by layout and split."""

    json: JsonOption = False

    def run(self) -> int:
        """Print a line for each layout and split."""
        from cochef.human.games import Split, games

        rows = []
        for layout in sorted({game.layout_name for game in games()}):
            for split in Split:
                chosen = games(layout, split)
                steps = sum(len(game.actions) for game in chosen)
                score = sum(game.score for game in chosen)
                rows.append(
                    {
                        "layout": layout,
                        "split": split.value,
                        "games": len(chosen),
                        "steps": steps,
                        "mean score": score / len(chosen),
                        "per 400 steps": score / steps * 400,
                    }
                )
        formats = {"mean score": ".1f", "per 400 steps": ".1f"}
        print_rows(rows, "Human-human games", as_json=self.json, whole=("layout",), formats=formats)
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

    json: JsonOption = False

    def run(self) -> int:
        """Convert, compare, report, and write what holds."""
        from cochef.human.convert import convert, read_archive

        checks = convert(read_archive(self.archive))
        return publish(checks, self.output, self.report, as_json=self.json)


def publish(
    checks: "Sequence[ReplayCheck]",
    output: Path,
    report_file: Path | None,
    *,
    as_json: bool = False,
) -> int:
    """Report how converted games compare with their record, and return the exit code.

    The games are written if all of them are reproduced.
    """
    from cochef.human import games, report

    title = "Recorded steps that our rules reproduce"
    header: list[str] = list(report.HEADER)
    rows = [dict(zip(header, row, strict=True)) for row in report.rows(checks)]
    differing = list(report.differences(checks))
    if report_file is not None:
        write_whole(report_file, report.markdown(checks).encode())
    if not differing:
        games.write(output, [check.game for check in checks])
    if as_json:
        print_json({"rows": rows, "differences": differing})
        return 1 if differing else 0
    print_rows(rows, title, whole=header[:1])
    for sentence in differing:
        print_line(sentence)
    if differing:
        print_line(f"games that differ: {len(differing)}; nothing written")
        return 1
    print_line(f"written: {output}")
    return 0
