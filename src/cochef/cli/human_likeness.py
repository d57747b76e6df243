"""`cochef human-likeness`: whether proxies share the work as people do."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track

from cochef.cli.seeds import check_seed
from cochef.errors import InputError

MAX_EPISODES = 10_000
MAX_STEPS = 10_000
ENDINGS = (".png", ".svg", ".pdf")


@dataclass
class HumanLikeness:
    """Compare people and their proxies by who cooks and who delivers: a table, and the paper's figure in a file."""

    out: Path = Path("out/human_likeness.png")
    """The picture to write: .png, .svg or .pdf."""
    layouts: tuple[str, ...] = ("asymmetric_advantages", "coordination_ring", "counter_circuit")
    """Kitchens that people played, a panel each."""
    episodes: int = 100
    """Episodes of a proxy with itself, in each kitchen."""
    steps: int = 400
    """How long such an episode lasts; people played about 1,200 steps."""
    seed: int = 0
    """Where all randomness comes from."""

    def run(self) -> int:
        """Replay the people's games, let the proxies play, and show both."""
        self._check()
        from cochef.evaluation import human_likeness, plots
        from cochef.kitchen import layouts

        kitchens = [layouts.get(name) for name in self.layouts]
        found = [
            human_likeness.compare(layout, episodes=self.episodes, steps=self.steps, seed=self.seed)
            for layout in track(kitchens, "people and proxies", console=Console(stderr=True))
        ]
        plots.save(plots.human_likeness(found), self.out)
        console = Console(highlight=False, soft_wrap=True)
        console.print(human_likeness.table(found).rich())
        console.print(f"written: {self.out}", markup=False)
        return 0

    def _check(self) -> None:
        """Complain about what cannot be used before any work is done."""
        check_seed(self.seed)
        if not self.layouts:
            raise InputError("no layouts; give at least one that people played, such as coordination_ring")
        for name, value, most in (("episodes", self.episodes, MAX_EPISODES), ("steps", self.steps, MAX_STEPS)):
            if not 1 <= value <= most:
                raise InputError(f"{name} is {value}; it takes a number from 1 to {most}")
        if self.out.suffix.lower() not in ENDINGS:
            raise InputError(f"unknown ending of {str(self.out)!r}; known: {', '.join(ENDINGS)}")
