"""`cochef replay`: play recorded episodes again and find the first step that differs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console


@dataclass
class Replay:
    """Replay recorded episodes (.jsonl or .jsonl.gz) and report the first step that differs.

    Exit code 0: all episodes are reproduced exactly. 1: some are not. 2: a file cannot be used.
    """

    files: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Files of recorded episodes, one a line."""

    def run(self) -> int:
        """Replay every episode of every file."""
        from cochef.kitchen import episodes

        console = Console(highlight=False, soft_wrap=True)
        differing = 0
        for path in self.files:
            count = steps = 0
            for episode in episodes.read(path):
                difference = episodes.replay(episode)
                count, steps = count + 1, steps + len(episode.actions)
                if difference is not None:
                    differing += 1
                    console.print("[red]differs[/]", end=" ")
                    console.print(
                        f"{episode.place} ({episode.layout.name}), step {difference.step}: {difference.what} "
                        f"recorded {difference.recorded}, replayed {difference.replayed}",
                        markup=False,
                    )
            console.print(f"{path}: {count} episodes, {steps} steps replayed", markup=False)
        console.print("[green]no difference[/]" if not differing else f"[red]{differing} episodes differ[/]")
        return 1 if differing else 0
