"""How long it takes to learn: seconds until the mean task return reaches a target.

Our learner and a peer's learn in turns.
"""

import math
import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import jax
import numpy as np

from cochef.benchmarks.loop import no_compilation_cache
from cochef.benchmarks.peers.process import Peer
from cochef.benchmarks.peers.service import EPISODES, LearningTime
from cochef.kitchen.layout import Layout
from cochef.learning.config import TrainingConfig
from cochef.learning.reward_config import RewardConfig
from cochef.learning.trainer import Trainer
from cochef.methods import sp

TOGETHER = 4  # seeds that are trained at once


@dataclass(frozen=True)
class LearningTimes:
    """How long each seed learned, without compiling, on our side and on a peer's."""

    target: float
    alone: tuple[LearningTime, ...]  # ours, a seed after the other: one member, so one device
    together: tuple[LearningTime, ...]  # ours, all seeds at once, on the clock of all
    peer: tuple[LearningTime, ...]

    @property
    def together_seconds(self) -> float | None:
        """The seconds per seed among those trained at once; None if one missed the target.

        The last to reach the target counts.
        """
        if not all(one.reached for one in self.together):
            return None
        return max(one.seconds for one in self.together) / len(self.together)

    @property
    def share(self) -> float | None:
        """Our median time alone as a share of the peer's.

        None without a peer, or if one of ours missed the target.
        """
        if not self.peer or not all(one.reached for one in self.alone):
            return None
        return _median_seconds(self.alone) / _median_seconds(self.peer)

    def to_json(self) -> dict[str, Any]:
        """All numbers."""
        return {
            **asdict(self),
            "together_seconds_a_seed": self.together_seconds,
            "share_of_peer": self.share,
        }


def measure_learning_times(
    layout: Layout,
    rewards: RewardConfig,
    config: TrainingConfig,
    seeds: int,
    target: float,
    peer: Peer | None,
    log: Callable[[str], None],
) -> LearningTimes:
    """Let both sides learn with some seeds, in turns, and then ours with all at once."""

    def population(members: int, seed: int) -> Trainer:
        return sp.POPULATION.trainer(layout, rewards, config, members, seed)

    log("compiling to learn alone and together")
    compile_alone = compile_seconds(population(1, 0))
    compile_together = compile_seconds(population(TOGETHER, 0))
    alone = []
    others = []
    for seed in range(seeds):
        progress = f"learning to {target:g}, seed {seed + 1} of {seeds}"
        log(progress)
        alone += learn(population(1, seed), target, compile_alone)
        if peer:
            log(f"{progress}: {peer.name}")
            others.append(peer.learn(seed, target, config.total_steps))
    log(f"learning to {target:g}, {TOGETHER} seeds at once")
    together = learn(population(TOGETHER, seeds), target, compile_together)
    return LearningTimes(target, tuple(alone), together, tuple(others))


def learn(trainer: Trainer, target: float, compiled_in: float) -> tuple[LearningTime, ...]:
    """Learn until every member's mean task return has reached the target once, or to the end.

    The mean is that of the last iterations that make up about as many episodes as the peers' mean
    does. The result has an entry for each member.
    """
    config = trainer.config
    kitchens = config.kitchens - config.random_start_kitchens
    steps = EPISODES * trainer.environment.horizon
    window = math.ceil(steps / (kitchens * config.rollout_steps))
    returns: deque[np.ndarray] = deque(maxlen=window)
    state = jax.block_until_ready(trainer.begin())
    results: dict[int, LearningTime] = {}
    members = range(trainer.members)
    begun = time.perf_counter()
    for iteration in range(config.iterations):
        state, metrics = trainer.iterate(state, iteration)
        returns.append(np.asarray(metrics.task_return))
        means = np.mean(returns, axis=0) if len(returns) == window else None
        last = iteration + 1 == config.iterations
        for member in members:
            reached = means is not None and bool(means[member] >= target)
            if member not in results and (reached or last):
                results[member] = LearningTime(
                    reached=reached,
                    mean_return=None if means is None else float(means[member]),
                    steps=(iteration + 1) * config.steps_per_iteration,
                    seconds=time.perf_counter() - begun,
                    compile_seconds=compiled_in,
                )
        if len(results) == len(members):
            break
    return tuple(results[member] for member in members)


def compile_seconds(trainer: Trainer) -> float:
    """How long a start and an iteration take to trace and compile, with nothing from the disk."""
    jax.clear_caches()
    with no_compilation_cache():
        begun = time.perf_counter()
        state, _ = jax.block_until_ready(trainer.iterate(trainer.begin(), 0))
        compiled = time.perf_counter()
        jax.block_until_ready(trainer.iterate(state, 1))
        return (compiled - begun) - (time.perf_counter() - compiled)


def _median_seconds(results: tuple[LearningTime, ...]) -> float:
    return statistics.median(one.seconds for one in results)
