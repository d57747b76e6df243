"""How fast scripted partners play, next to random actions in the same minute, and how long an evaluation takes."""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import jax

from cochef.agents import names, scripted
from cochef.benchmarks.kitchen import machine
from cochef.evaluation.crossplay import Player, evaluate
from cochef.kitchen.layout import Layout
from cochef.rollout import play_episodes

RANDOM = "random"


@dataclass(frozen=True)
class PartnerSpeed:
    """Kitchen steps a second with both seats taken by one kind of agent, a rate a round; and an evaluation's time."""

    layout: str
    kitchens: int
    rates: dict[str, tuple[float, ...]]
    evaluation_partners: int
    evaluation_episodes: int
    evaluation_seconds: float
    evaluation_compile_seconds: float

    def rate(self, name: str) -> float:
        """The median over the rounds."""
        return statistics.median(self.rates[name])

    def share(self, name: str) -> float:
        """The rate as a share of that of random actions, the median over rounds that measured both."""
        return statistics.median(own / other for own, other in zip(self.rates[name], self.rates[RANDOM], strict=True))

    def to_json(self) -> dict[str, Any]:
        """All of it, and what it was measured with."""
        shares = {name: self.share(name) for name in self.rates}
        return {**asdict(self), "share_of_random": shares, "machine": machine()}


def measure(
    layout: Layout, kitchens: int, rounds: int, partners: int, episodes: int, tell: Callable[[str], None]
) -> PartnerSpeed:
    """Measure random actions and every script of a kitchen in turns, then an evaluation with some partners."""
    everybody = [RANDOM, *(f"script:{name}" for name in scripted.names_for(layout))]
    rates: dict[str, list[float]] = {name: [] for name in everybody}
    for number in range(rounds + 1):
        for name in everybody:
            tell(f"{name}, round {number} of {rounds}" if number else f"compiling {name}")
            agent = names.load(name, layout)
            begun = time.perf_counter()
            jax.block_until_ready(play_episodes(layout, (agent, agent), ((0, 1, kitchens),), jax.random.key(number)))
            if number:
                rates[name].append(kitchens * layout.horizon / (time.perf_counter() - begun))
    taking_part = [Player(f"partner {i}", everybody[i % len(everybody)]) for i in range(partners)]
    seconds = []
    for seed in range(2):
        tell("evaluating" if seed else "compiling an evaluation")
        begun = time.perf_counter()
        evaluate(layout, [Player("agent", everybody[-1])], taking_part, episodes=episodes, seed=seed)
        seconds.append(time.perf_counter() - begun)
    return PartnerSpeed(
        layout=layout.name,
        kitchens=kitchens,
        rates={name: tuple(found) for name, found in rates.items()},
        evaluation_partners=partners,
        evaluation_episodes=episodes,
        evaluation_seconds=seconds[1],
        evaluation_compile_seconds=seconds[0] - seconds[1],
    )
