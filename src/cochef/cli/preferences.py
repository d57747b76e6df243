"""`cochef preferences`: whether biased policies do what they like."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from rich.console import Console
from rich.table import Table

from cochef.cli.seeds import check_seed
from cochef.errors import InputError
from cochef.files import write_whole

if TYPE_CHECKING:
    from cochef.evaluation.preferences import Preference


@dataclass
class Preferences:
    """Let the biased policies of an HSP run play with their partners; count what they do against what they like."""

    run_directory: tyro.conf.Positional[Path]
    """The directory of a finished `cochef train hsp`."""
    layout: str | None = None
    """The path of the layout file, if the kitchen is one of your own."""
    episodes: int = 100
    """Episodes in each of the two seats."""
    seed: int = 0
    """Where all randomness comes from."""
    out: Path | None = None
    """Write weights, counts and correlations to this file as JSON."""

    def run(self) -> int:
        """Play, count and show."""
        from cochef.evaluation import preferences
        from cochef.kitchen import layouts

        check_seed(self.seed)
        if self.episodes < 1:
            raise InputError(f"episodes is {self.episodes}; it takes a whole number from 1")
        console = Console(highlight=False)
        with console.status("playing"):
            own = layouts.get(self.layout) if self.layout else None
            layout, pairs, weights = preferences.read_pairs(self.run_directory, own)
            tally = preferences.event_counts(layout, pairs, self.seed, self.episodes)
        counts = preferences.done(tally)
        scores = counts[:, -1]
        found = preferences.preferences(weights, counts)
        title = f"{layout.name}: {len(pairs)} biased policies, {2 * self.episodes} episodes each"
        console.print(_table(found, title), f"mean score of a pair {scores.mean():.1f}, best {scores.max():.1f}")
        if self.out:
            report = {
                "layout": layout.name,
                "episodes": 2 * self.episodes,
                "names": preferences.NAMES,
                "weights": weights.tolist(),
                "counts": counts.tolist(),
                "scores": scores.tolist(),
                "preferences": [asdict(row) for row in found],
            }
            write_whole(self.out, (json.dumps(report, indent=1) + "\n").encode())
        return 0


def _table(found: "list[Preference]", title: str) -> Table:
    headings = (
        "event",
        "weight: mean count in an episode",
        "Spearman",
        "p by Holm",
        "others' influence out",
        "p by Holm",
    )
    table = Table(*headings, title=title)
    for row in found:
        means = ", ".join(f"{weight:g}: {mean:.2f}" for weight, mean in zip(row.weights, row.means, strict=True))
        figures = (
            f"{row.correlation:.2f}",
            f"{row.corrected:.1e}",
            f"{row.partial:.2f}",
            f"{row.partial_corrected:.1e}",
        )
        table.add_row(row.event, means, *figures)
    return table
