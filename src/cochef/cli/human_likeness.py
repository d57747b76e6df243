"""`cochef human-likeness`: whether human models share the work as people do."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track

from cochef.cli.arguments import Seed, check_ending, check_seed, check_some
from cochef.cli.output import JsonOption, print_json, print_line, print_result
from cochef.validation import number

MAX_EPISODES = 10_000
MAX_STEPS = 10_000
ENDINGS = (".png", ".svg", ".pdf")


@dataclass
class CompareHumanLikeness:
    """Compare people and both kinds of human models by who cooks and who delivers.

    Prints a table and draws the paper's figure 8, a row of panels for each kind.
    """

    out: Path = Path("out/human_likeness.png")
    """The picture to write: .png, .svg or .pdf."""
    layouts: tuple[str, ...] = ("asymmetric_advantages", "coordination_ring", "counter_circuit")
    """Layouts that people played, a panel each."""
    episodes: int = 100
    """Episodes of a model with itself, in each layout."""
    steps: int = 400
    """How long such an episode lasts; people played about 1,200 steps."""
    seed: Seed = 0
    json: JsonOption = False

    def run(self) -> int:
        """Replay the people's games, let the models play, and show both."""
        self._check()
        from cochef.evaluation import human_likeness, plots
        from cochef.kitchen import layouts

        chosen = [layouts.get(name) for name in self.layouts]
        wanted = [(layout, model) for layout in chosen for model in human_likeness.MODELS]
        found = []
        for layout, model in track(wanted, "people and models", console=Console(stderr=True)):
            found.append(
                human_likeness.compare(
                    layout, model, episodes=self.episodes, steps=self.steps, seed=self.seed
                )
            )
        plots.save(plots.human_likeness(found), self.out)
        table = human_likeness.table(found)
        if self.json:
            print_json([dict(zip(table.header, row, strict=True)) for row in table.rows])
            return 0
        print_result(table)
        print_line(f"written: {self.out}")
        return 0

    def _check(self) -> None:
        """Refuse what cannot be used before any work is done."""
        check_seed(self.seed)
        remedy = "give at least one that people played, such as coordination_ring"
        check_some(self.layouts, "layouts", remedy)
        number(self.episodes, "episodes", 1, MAX_EPISODES)
        number(self.steps, "steps", 1, MAX_STEPS)
        check_ending(self.out, ENDINGS)
