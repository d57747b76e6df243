"""How fast populations learn: environment steps a second, and where the time goes.

A population's time is taken apart by three programs: an iteration as it is trained with, the same
with twice the epochs (the difference is the update), and its rollout alone. What is left of the
iteration is the critics' values, the advantages and the batch. Adaptive agents, the second stage,
play with a pool of fresh policies: how skilled partners are makes no difference to the rate.
"""

import contextlib
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Key

from cochef.benchmarks.kitchen import machine, median_ratio
from cochef.benchmarks.learning_time import LearningTimes, measure_learning_times
from cochef.benchmarks.multiply_adds import update_multiply_adds
from cochef.benchmarks.peers.process import Peer, running
from cochef.errors import InputError
from cochef.kitchen.constants import Tile
from cochef.kitchen.layout import Layout
from cochef.learning import reward_config
from cochef.learning.collect import Collector, Kitchens, Rollout, RolloutInputs
from cochef.learning.config import TrainingConfig
from cochef.learning.iteration import AXIS
from cochef.learning.partner_sampling import (
    NetworkGroup,
    PartnerIdentity,
    PartnerPool,
    Sampling,
)
from cochef.learning.population import RewardWeights, TrainState
from cochef.learning.reward_config import RewardConfig
from cochef.learning.trainer import Trainer
from cochef.methods import hsp, sp
from cochef.methods.parts.second_stage import adaptive_agents
from cochef.randomness import fast
from cochef.validation import whole_number

SELF_PLAY = "self-play"
BIASED = "HSP"
ADAPTIVE = "adaptive agents"
MATRIX = 2048  # rows and columns of the matrices whose product is the yardstick


@dataclass(frozen=True)
class TrainingBenchmark:
    """What is to be measured."""

    layout: Layout
    config: TrainingConfig
    second_stage: TrainingConfig
    populations: tuple[int, ...] = (8, 36)
    """Members in self-play; the last number is also that of the biased population and the pool."""
    agents: int = 4
    """Adaptive agents."""
    rounds: int = 3
    seconds: float = 2.0
    """How long each rate is measured in a round, at least."""
    seeds: int = 3
    """How often both sides learn to the target; 0 for never."""
    target: float = 100.0
    """The mean task return up to which learning is timed."""

    def __post_init__(self) -> None:
        """Refuse what cannot be measured."""
        whole_number(self.rounds, "rounds", 1)
        whole_number(self.seeds, "seeds", 0)
        if not self.populations or min(self.populations) < 1:
            raise InputError(
                f"populations are {self.populations}; "
                "it takes at least one, each of at least 1 member"
            )


@dataclass(frozen=True)
class IterationTiming:
    """Where the time of a population's iteration goes, in seconds, a number a round."""

    method: str
    members: int
    steps: int
    """Environment steps of an iteration, of all members."""
    multiply_adds: int
    """Of the layers in an iteration's update."""
    iteration: tuple[float, ...]
    rollout: tuple[float, ...]
    update: tuple[float, ...]

    @property
    def advantages(self) -> tuple[float, ...]:
        """What is left: values, advantages and the batch."""
        parts = zip(self.iteration, self.rollout, self.update, strict=True)
        return tuple(whole - rollout - update for whole, rollout, update in parts)

    @property
    def rates(self) -> tuple[float, ...]:
        """Environment steps a second, all learning included."""
        return tuple(self.steps / seconds for seconds in self.iteration)

    @property
    def rate(self) -> float:
        """The median over the rounds."""
        return statistics.median(self.rates)

    @property
    def speeds(self) -> tuple[float, ...]:
        """Multiply-adds a second of the update."""
        return tuple(self.multiply_adds / seconds for seconds in self.update)


@dataclass(frozen=True)
class TrainingSpeed:
    """All that was measured; ratios are medians over the rounds, each of which measures both."""

    layout: str
    config: TrainingConfig
    second_stage: TrainingConfig
    timings: tuple[IterationTiming, ...]
    product: tuple[float, ...]
    """Multiply-adds a second of a large matrix product on all devices."""
    peer_rates: Mapping[str, tuple[float, ...]]
    """Environment steps a second of the peers, by name: the feed-forward one, the recurrent one."""
    learning_times: LearningTimes | None

    @property
    def biased_share(self) -> float:
        """The biased population's rate as a share of that of self-play with as many members."""
        *_, plain, biased, _ = self.timings
        return median_ratio(biased.rates, plain.rates)

    def product_share(self, timing: IterationTiming) -> float:
        """What an update reaches of the rate of a large matrix product."""
        return median_ratio(timing.speeds, self.product)

    def peer_of(self, timing: IterationTiming) -> str | None:
        """The peer that does the same: the recurrent one for adaptive agents."""
        if not self.peer_rates:
            return None
        plain, recurrent = self.peer_rates
        return recurrent if timing.method == ADAPTIVE else plain

    def times_peer(self, timing: IterationTiming) -> float | None:
        """How many times the rate of its peer a population has."""
        peer = self.peer_of(timing)
        return None if peer is None else median_ratio(timing.rates, self.peer_rates[peer])

    def to_json(self) -> dict[str, Any]:
        """All numbers, and what they were measured with."""
        timings = [
            {
                **asdict(timing),
                "advantages": timing.advantages,
                "rates": timing.rates,
                "rate": timing.rate,
                "share_of_matrix_product": self.product_share(timing),
                "times_peer": self.times_peer(timing),
            }
            for timing in self.timings
        ]
        return {
            "layout": self.layout,
            "config": _as_json(self.config),
            "second_stage": _as_json(self.second_stage),
            "timings": timings,
            "matrix_product_multiply_adds_a_second": self.product,
            "biased_share": self.biased_share,
            "peer_rates": dict(self.peer_rates),
            "learning_times": self.learning_times.to_json() if self.learning_times else None,
            "machine": machine(),
        }


def _as_json(config: TrainingConfig) -> dict[str, Any]:
    return {**asdict(config), "network": config.network.to_json()}


def measure(
    benchmark: TrainingBenchmark, python: Path | None, log: Callable[[str], None]
) -> TrainingSpeed:
    """Measure populations, a matrix product and the peers in turns, and how long learning takes.

    The peers run in the environment of `python`; without one there are none.
    """
    layout = benchmark.layout
    config = benchmark.config
    rewards = reward_config.shipped(layout)
    with contextlib.ExitStack() as stack:
        peers = _peers(stack, layout, python, log) if python else []
        learning_times = None
        if benchmark.seeds:
            plain = peers[0] if peers else None
            learning_times = measure_learning_times(
                layout, rewards, config, benchmark.seeds, benchmark.target, plain, log
            )
        populations = []
        for members in benchmark.populations:
            log(f"compiling {SELF_PLAY} of {members}")
            trainer = sp.POPULATION.trainer(layout, rewards, config, members, seed=0)
            populations.append(_TimedPopulation(SELF_PLAY, trainer))
        members = benchmark.populations[-1]
        log(f"compiling {BIASED} of {members}")
        trainer = hsp.POPULATION.trainer(layout, rewards, config, members, seed=0)
        populations.append(_TimedPopulation(BIASED, trainer))
        log(f"compiling {benchmark.agents} {ADAPTIVE}")
        populations.append(_TimedPopulation(ADAPTIVE, _agents(benchmark, rewards)))
        product = []
        peer_rates: dict[str, list[float]] = {peer.name: [] for peer in peers}
        yardstick = _MatrixProduct()
        for number in range(1, benchmark.rounds + 1):
            log(f"round {number} of {benchmark.rounds}")
            product.append(yardstick.rate(benchmark.seconds / 2))
            for population in populations:
                population.measure(benchmark.seconds)
            for peer in peers:
                peer_rates[peer.name].append(peer.rate(benchmark.seconds))
    return TrainingSpeed(
        layout=layout.name,
        config=config,
        second_stage=benchmark.second_stage,
        timings=tuple(population.timing() for population in populations),
        product=tuple(product),
        peer_rates={name: tuple(rates) for name, rates in peer_rates.items()},
        learning_times=learning_times,
    )


def _agents(benchmark: TrainingBenchmark, rewards: RewardConfig) -> Trainer:
    """Adaptive agents with a pool of fresh policies."""
    partners = benchmark.populations[-1]
    policies = sp.POPULATION.trainer(
        benchmark.layout, rewards, benchmark.config, partners, seed=0
    ).begin()
    # Each has one learner. On the host, because the agents are divided among devices otherwise.
    networks = jax.device_get(jax.tree.map(lambda leaf: leaf[:, 0], policies.learners.actor))
    pool = PartnerPool((NetworkGroup(networks),), Sampling.STRATIFIED, PartnerIdentity.NUMBER)
    config = benchmark.second_stage.with_partners(partners)
    return adaptive_agents(benchmark.layout, rewards, config, pool, benchmark.agents, seed=0)


def _peers(
    stack: contextlib.ExitStack, layout: Layout, python: Path, log: Callable[[str], None]
) -> list[Peer]:
    """The peers that learn, if they know all that is in this layout; they end with the stack."""
    if len(layout.cells_of(Tile.TOMATO_DISPENSER)):
        log("JaxMARL knows no tomatoes: it is left out")
        return []
    log("starting and compiling JaxMARL's IPPO, feed-forward and recurrent")
    options = {"rows": layout.rows_with_starts}
    return list(stack.enter_context(running(python, "ippo", options)))


class _Seconds(NamedTuple):
    """How long an iteration and its parts took in a round."""

    iteration: float
    rollout: float
    update: float


class _TimedPopulation:
    """A population that learns on from round to round, compiled and warm, and its times so far."""

    def __init__(self, method: str, trainer: Trainer) -> None:
        twice = replace(trainer, config=replace(trainer.config, epochs=2 * trainer.config.epochs))
        state = trainer.begin()
        self._method = method
        self._trainer = trainer
        # An iteration donates its state to the next, so each program gets a copy of its own.
        self._plain = _Iterations(trainer, jax.tree.map(_copy, state))
        self._twice = _Iterations(twice, jax.tree.map(_copy, state))
        self._rollout = _Rollouts(trainer, state)
        self._measured: list[_Seconds] = []

    def measure(self, seconds: float) -> None:
        """Measure the iteration and its parts once more."""
        plain = _mean_seconds(self._plain, seconds)
        twice = _mean_seconds(self._twice, seconds)
        rollout = _mean_seconds(self._rollout, seconds)
        self._measured.append(_Seconds(plain, rollout, update=twice - plain))

    def timing(self) -> IterationTiming:
        """All that was measured."""
        trainer = self._trainer
        return IterationTiming(
            method=self._method,
            members=trainer.members,
            steps=trainer.members * trainer.config.steps_per_iteration,
            multiply_adds=update_multiply_adds(trainer),
            iteration=tuple(seconds.iteration for seconds in self._measured),
            rollout=tuple(seconds.rollout for seconds in self._measured),
            update=tuple(seconds.update for seconds in self._measured),
        )


class _Iterations:
    """Iterations of a trainer, one after the other; compiled and warm."""

    def __init__(self, trainer: Trainer, state: TrainState) -> None:
        self._trainer = trainer
        self._state = state
        self._done = 0
        self()

    def __call__(self) -> None:
        self._state, metrics = self._trainer.iterate(self._state, self._done)
        jax.block_until_ready((self._state, metrics))
        self._done += 1


class _Rollouts:
    """Rollouts of a population that has not learned anything yet; compiled and warm."""

    def __init__(self, trainer: Trainer, state: TrainState) -> None:
        split = PartitionSpec(AXIS)
        same = PartitionSpec()

        def collect(
            state: TrainState,
            weights: RewardWeights,
            keys: Key[Array, " members"],
            pool: PartnerPool | None,
        ) -> tuple[Kitchens, Rollout]:
            roles = trainer.algorithm.roles
            collector = Collector(trainer.environment, trainer.config, roles, pool)
            inputs = RolloutInputs(
                actors=state.learners.actor,
                copies=state.copies,
                event_weights=weights.events,
                task_weights=weights.task,
                keys=keys,
            )
            collected = collector.collect(inputs, state.kitchens)
            return jax.tree.map(lambda leaf: leaf[None], collected)  # devices first

        keys = jax.random.split(fast(trainer.key), trainer.members)
        sharding = NamedSharding(trainer.mesh, split)
        divided = jax.device_put((state, trainer.weights, keys), sharding)
        pool = jax.device_put(trainer.pool, NamedSharding(trainer.mesh, same))
        self._arguments = (*divided, pool)
        self._program = jax.jit(
            jax.shard_map(
                collect,
                mesh=trainer.mesh,
                in_specs=(split, split, split, same),
                out_specs=split,
                check_vma=False,
            )
        )
        self()

    def __call__(self) -> None:
        jax.block_until_ready(self._program(*self._arguments))


class _MatrixProduct:
    """A large matrix product, its rows divided among all devices; compiled and warm."""

    def __init__(self) -> None:
        devices = jax.devices()
        mesh = Mesh(np.array(devices), (AXIS,))
        matrix = jax.random.normal(jax.random.key(0), (MATRIX, MATRIX), jnp.float32)
        self._everywhere = jax.device_put(matrix, NamedSharding(mesh, PartitionSpec()))
        divided = matrix[: MATRIX // len(devices) * len(devices)]
        self._divided = jax.device_put(divided, NamedSharding(mesh, PartitionSpec(AXIS)))
        self._program = jax.jit(jnp.matmul)
        self()

    def __call__(self) -> None:
        jax.block_until_ready(self._program(self._divided, self._everywhere))

    def rate(self, seconds: float) -> float:
        """Multiply-adds a second, over at least so many seconds."""
        return len(self._divided) * MATRIX**2 / _mean_seconds(self, seconds)


def _copy(leaf: Array) -> Array:
    """A copy that lies on the same devices, which JAX forgets of empty arrays."""
    return jax.device_put(jnp.copy(leaf), leaf.sharding)


def _seconds(act: Callable[[], None]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def _mean_seconds(act: Callable[[], None], seconds: float) -> float:
    """How long it takes, the mean over at least so many seconds."""
    taken = [_seconds(act)]
    while sum(taken) < seconds:
        taken.append(_seconds(act))
    return statistics.fmean(taken)
