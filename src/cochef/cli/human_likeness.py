"""`cochef human-likeness`: whether proxies share the work as people do."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track

from cochef.cli.arguments import Seed, check_ending, check_seed
from cochef.cli.output import print_line
from cochef.errors import InputError
from cochef.validation import number

MAX_EPISODES = 10_000
MAX_STEPS = 10_000
ENDINGS = (".png", ".svg", ".pdf")


@dataclass
class CompareHumanLikeness:
    """Compare people and their proxies by who cooks and who delivers.

    Prints a table and draws the paper's figure.
    """

    out: Path = Path("out/human_likeness.png")
    """The picture to write: .png, .svg or .pdf."""
    layouts: tuple[str, ...] = ("asymmetric_advantages", "coordination_ring", "counter_circuit")
    """Layouts that people played, a panel each."""
    episodes: int = 100
    """Episodes of a proxy with itself, in each layout."""
    steps: int = 400
    """How long such an episode lasts; people played about 1,200 steps."""
    seed: Seed = 0

    def run(self) -> int:
        """Replay the people's games, let the proxies play, and show both."""
        self._check()
        from cochef.evaluation import human_likeness, plots
        from cochef.kitchen import layouts

        chosen = [layouts.get(name) for name in self.layouts]
        found = [
            human_likeness.compare(layout, episodes=self.episodes, steps=self.steps, seed=self.seed)
            for layout in track(chosen, "people and proxies", console=Console(stderr=True))
        ]
        plots.save(plots.human_likeness(found), self.out)
        Console(highlight=False, soft_wrap=True).print(human_likeness.table(found).rich())
        print_line(f"written: {self.out}")
        return 0

    def _check(self) -> None:
        """Refuse what cannot be used before any work is done."""
        check_seed(self.seed)
        if not self.layouts:
            raise InputError(
                "no layouts; give at least one that people played, such as coordination_ring"
            )
        number(self.episodes, "episodes", 1, MAX_EPISODES)
        number(self.steps, "steps", 1, MAX_STEPS)
        check_ending(self.out, ENDINGS)
