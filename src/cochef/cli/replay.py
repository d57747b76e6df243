"""`cochef replay`: play recorded episodes again and find the first step that differs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from cochef.cli.arguments import check_some
from cochef.cli.output import print_line


@dataclass
class ReplayEpisodes:
    """Replay recorded episodes (.jsonl or .jsonl.gz) and report the first step that differs.

    Exit code 0: all episodes are reproduced exactly. 1: some are not. 2: a file cannot be used.
    """

    files: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Files of recorded episodes, one a line."""

    def run(self) -> int:
        """Replay every episode of every file."""
        check_some(self.files, "files", "give files of recorded episodes")
        from cochef.kitchen import episodes

        console = Console(highlight=False, soft_wrap=True)
        differing = 0
        for path in self.files:
            count = 0
            steps = 0
            for episode in episodes.read(path):
                difference = episodes.first_difference(episode)
                count += 1
                steps += len(episode.actions)
                if difference is not None:
                    differing += 1
                    console.print("[red]differs[/]", end=" ")
                    print_line(
                        f"{episode.source} ({episode.layout.name}), step {difference.step}: "
                        f"{difference.part} recorded {difference.recorded}, "
                        f"replayed {difference.replayed}"
                    )
            print_line(f"{path}: {count} episodes, {steps} steps replayed")
        if differing:
            console.print(f"[red]{differing} episodes differ[/]")
            return 1
        console.print("[green]no difference[/]")
        return 0
