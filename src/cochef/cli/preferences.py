"""`cochef preferences`: whether biased policies do what their hidden rewards pay for."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console

from cochef.cli.arguments import OwnLayout, Seed, check_seed
from cochef.cli.output import JsonOption, print_json, print_line, print_rows
from cochef.files import write_json
from cochef.validation import whole_number


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
    json: JsonOption = False

    def run(self) -> int:
        """Play, count and show."""
        from cochef.evaluation import preferences
        from cochef.kitchen import layouts

        check_seed(self.seed)
        whole_number(self.episodes, "episodes", 1)
        with Console(stderr=True).status("playing"):
            own = layouts.get(self.layout) if self.layout else None
            pairs = preferences.read_pairs(self.run_directory, own)
            report = preferences.report(pairs, self.episodes, self.seed)
        if self.json:
            print_json(report)
        else:
            policies = f"{len(pairs.agents)} biased policies, {report['episodes']} episodes each"
            rows = list(map(_row, report["preferences"]))
            print_rows(rows, f"{pairs.layout.name}: {policies}", whole=("event",))
            scores = report["scores"]
            mean = sum(scores) / len(scores)
            print_line(f"mean score of a pair {mean:.1f}, best {max(scores):.1f}")
        if self.out:
            write_json(self.out, report)
        return 0


def _row(found: Mapping[str, Any]) -> dict[str, str]:
    means = zip(found["weights"], found["means"], strict=True)
    return {
        "event": found["event"],
        "weight: mean count in an episode": ", ".join(
            f"{weight:g}: {mean:.2f}" for weight, mean in means
        ),
        "Spearman": f"{found['correlation']:.2f}",
        "p by Holm": f"{found['corrected']:.1e}",
        "others' influence out": f"{found['partial']:.2f}",
        "its p by Holm": f"{found['partial_corrected']:.1e}",
    }
