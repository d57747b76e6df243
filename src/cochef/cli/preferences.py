"""`cochef preferences`: whether biased policies do what their hidden rewards pay for."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from rich.console import Console
from rich.table import Table

from cochef.cli.arguments import OwnLayout, Seed, check_seed
from cochef.cli.output import write_json
from cochef.validation import whole_number

if TYPE_CHECKING:
    from cochef.evaluation.preferences import EventPreference

_HEADINGS = (
    "event",
    "weight: mean count in an episode",
    "Spearman",
    "p by Holm",
    "others' influence out",
    "p by Holm",
)


@dataclass
class ShowPreferences:
    """Correlate the events that HSP's biased policies cause with their hidden rewards.

    The biased policies play with the partners that they were trained with.
    """

    run_directory: tyro.conf.Positional[Path]
    """The directory of a finished `cochef train hsp`."""
    layout: OwnLayout = None
    episodes: int = 100
    """Episodes in each of the two seats."""
    seed: Seed = 0
    out: Path | None = None
    """Write weights, counts and correlations to this file as JSON."""

    def run(self) -> int:
        """Play, count and show."""
        from cochef.evaluation import preferences
        from cochef.kitchen import layouts

        check_seed(self.seed)
        whole_number(self.episodes, "episodes", 1)
        console = Console(highlight=False)
        with console.status("playing"):
            own = layouts.get(self.layout) if self.layout else None
            layout, pairs, weights = preferences.read_pairs(self.run_directory, own)
            found = preferences.event_counts(layout, pairs, self.seed, self.episodes)
        counts = found.by_name
        scores = counts[:, -1]
        rows = preferences.preferences(weights, counts)
        title = f"{layout.name}: {len(pairs)} biased policies, {2 * self.episodes} episodes each"
        summary = f"mean score of a pair {scores.mean():.1f}, best {scores.max():.1f}"
        console.print(_table(rows, title), summary)
        if self.out:
            report = {
                "layout": layout.name,
                "episodes": 2 * self.episodes,
                "names": preferences.NAMES,
                "weights": weights.tolist(),
                "counts": counts.tolist(),
                "scores": scores.tolist(),
                "preferences": [asdict(row) for row in rows],
            }
            write_json(self.out, report)
        return 0


def _table(found: "list[EventPreference]", title: str) -> Table:
    table = Table(*_HEADINGS, title=title)
    for row in found:
        means = zip(row.weights, row.means, strict=True)
        table.add_row(
            row.event,
            ", ".join(f"{weight:g}: {mean:.2f}" for weight, mean in means),
            f"{row.correlation:.2f}",
            f"{row.corrected:.1e}",
            f"{row.partial:.2f}",
            f"{row.partial_corrected:.1e}",
        )
    return table
