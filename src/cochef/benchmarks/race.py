"""How long it takes to learn: seconds until the mean task return reaches a target, ours and a peer's in turns."""

import math
import statistics
import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

import jax
import numpy as np

from cochef.benchmarks.kitchen import Tell
from cochef.benchmarks.loop import nothing_from_disk
from cochef.benchmarks.peers.process import Peer
from cochef.benchmarks.peers.service import EPISODES, Learnt
from cochef.kitchen.layout import Layout
from cochef.learning.config import TrainingConfig
from cochef.learning.reward_config import RewardConfig
from cochef.learning.trainer import Trainer
from cochef.methods import selfplay

TOGETHER = 4  # seeds that are trained at once


@dataclass(frozen=True)
class Race:
    """How the racers learned; the clock runs without compiling. Ours alone has one member, so uses one device."""

    target: float
    alone: tuple[Learnt, ...]  # ours, a seed after the other
    together: tuple[Learnt, ...]  # ours, all seeds at once: the clock of all, read when each arrived
    peer: tuple[Learnt, ...]

    @property
    def together_seconds(self) -> float | None:
        """What a seed costs among those trained at once: the time of the last to arrive, divided by all; or none."""
        if not all(learnt.reached for learnt in self.together):
            return None
        return max(learnt.seconds for learnt in self.together) / len(self.together)

    @property
    def share(self) -> float | None:
        """Our median time alone as a share of the peer's; none without a peer, or if one of ours did not arrive."""
        if not self.peer or not all(learnt.reached for learnt in self.alone):
            return None
        return _median_seconds(self.alone) / _median_seconds(self.peer)

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {**asdict(self), "together_seconds_a_seed": self.together_seconds, "share_of_peer": self.share}


def race(
    layout: Layout,
    rewards: RewardConfig,
    config: TrainingConfig,
    seeds: int,
    target: float,
    peer: Peer | None,
    tell: Tell,
) -> Race:
    """Let both sides learn with some seeds, in turns, and then ours with all at once."""
    alone, others = [], []
    tell("compiling to learn alone and together")
    population = lambda members, seed: selfplay.population(layout, rewards, config, members, seed)  # noqa: E731
    compile_alone, compile_together = (compile_seconds(population(members, 0)) for members in (1, TOGETHER))
    for seed in range(seeds):
        tell(f"learning to {target:g}, seed {seed + 1} of {seeds}")
        alone += learn(population(1, seed), target, compile_alone)
        if peer:
            tell(f"learning to {target:g}, seed {seed + 1} of {seeds}: {peer.name}")
            others.append(peer.learn(seed, target, config.total))
    tell(f"learning to {target:g}, {TOGETHER} seeds at once")
    together = learn(population(TOGETHER, seeds), target, compile_together)
    return Race(target, tuple(alone), together, tuple(others))


def learn(trainer: Trainer, target: float, compiled_in: float) -> tuple[Learnt, ...]:
    """Learn until every member's mean task return has reached the target once, or all is learned: a result each.

    The mean is that of the last iterations that make up about as many episodes as the peers' mean does.
    """
    config = trainer.config
    kitchens = config.kitchens - config.scattered_kitchens
    window = math.ceil(EPISODES * trainer.game.horizon / (kitchens * config.steps))
    returns: deque[np.ndarray] = deque(maxlen=window)
    training = jax.block_until_ready(trainer.begin())
    results: dict[int, Learnt] = {}
    members = range(len(training.members))
    begun = time.perf_counter()
    for iteration in range(config.iterations):
        training, progress = trainer.iterate(training, iteration)
        returns.append(np.asarray(progress.task))
        means = np.mean(returns, axis=0) if len(returns) == window else None
        last = iteration + 1 == config.iterations
        for member in members:
            reached = means is not None and bool(means[member] >= target)
            if member not in results and (reached or last):
                mean = None if means is None else float(means[member])
                steps = (iteration + 1) * config.steps_per_iteration
                results[member] = Learnt(reached, mean, steps, time.perf_counter() - begun, compiled_in)
        if len(results) == len(members):
            break
    return tuple(results[member] for member in members)


def compile_seconds(trainer: Trainer) -> float:
    """How long a beginning and an iteration take to trace and compile; nothing comes from the disk."""
    jax.clear_caches()
    with nothing_from_disk():
        begun = time.perf_counter()
        training, _ = jax.block_until_ready(trainer.iterate(trainer.begin(), 0))
        compiled = time.perf_counter()
        jax.block_until_ready(trainer.iterate(training, 1))
        return (compiled - begun) - (time.perf_counter() - compiled)


def _median_seconds(results: tuple[Learnt, ...]) -> float:
    return statistics.median(learnt.seconds for learnt in results)
