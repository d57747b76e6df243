"""How fast scripted partners play next to random actions, and how long an evaluation takes."""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import jax

from cochef.agents import names, scripted
from cochef.benchmarks.kitchen import machine, median_ratio
from cochef.evaluation.crossplay import Player, evaluate
from cochef.kitchen.layout import Layout
from cochef.rollout import Matchup, play_episodes

RANDOM = "random"


@dataclass(frozen=True)
class PartnerSpeed:
    """Kitchen steps a second with one kind of agent in both seats; and an evaluation's time.

    There is a rate for each round.
    """

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
        """The rate as a share of that of random actions, the median over the rounds."""
        return median_ratio(self.rates[name], self.rates[RANDOM])

    def to_json(self) -> dict[str, Any]:
        """All numbers, and what they were measured with."""
        shares = {name: self.share(name) for name in self.rates}
        return {**asdict(self), "share_of_random": shares, "machine": machine()}


def measure(
    layout: Layout,
    kitchens: int,
    rounds: int,
    partners: int,
    episodes: int,
    log: Callable[[str], None],
) -> PartnerSpeed:
    """Measure random actions and every script of a layout in turns, then an evaluation."""
    everybody = [RANDOM, *(f"script:{name}" for name in scripted.names_for(layout))]
    rates: dict[str, list[float]] = {name: [] for name in everybody}
    for number in range(rounds + 1):  # round 0 compiles
        for name in everybody:
            log(f"{name}, round {number} of {rounds}" if number else f"compiling {name}")
            seconds = _episode_seconds(layout, name, kitchens, number)
            if number:
                rates[name].append(kitchens * layout.horizon / seconds)
    taking_part = [Player(f"partner {i}", everybody[i % len(everybody)]) for i in range(partners)]
    seconds = []
    for seed in range(2):
        log("evaluating" if seed else "compiling an evaluation")
        agents = [Player("agent", everybody[-1])]
        begun = time.perf_counter()
        evaluate(layout, agents, taking_part, episodes=episodes, seed=seed)
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


def _episode_seconds(layout: Layout, name: str, kitchens: int, seed: int) -> float:
    """How long an episode in all kitchens takes with this agent in both seats."""
    agent = names.load(name, layout)
    matchups = (Matchup(0, 1, kitchens),)
    begun = time.perf_counter()
    jax.block_until_ready(play_episodes(layout, (agent, agent), matchups, jax.random.key(seed)))
    return time.perf_counter() - begun
