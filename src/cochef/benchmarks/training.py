"""How fast populations learn: environment steps a second, where the time goes, and next to a peer in the same minute.

A population's time is taken apart by three programs: an iteration as it is trained with, the same with twice the
epochs (the difference is the update), and its play alone. What is left of the iteration is judging: the critics'
values, advantages and the batch.
"""

import contextlib
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Key

from cochef.agents.networks import Network
from cochef.benchmarks.kitchen import Tell, machine, rows_with_starts
from cochef.benchmarks.peers.process import Peer, running
from cochef.benchmarks.race import Race, race
from cochef.errors import InputError
from cochef.kitchen.constants import SEATS, Tile
from cochef.kitchen.layout import Layout
from cochef.learning import reward_config
from cochef.learning.collect import Wants, play
from cochef.learning.config import TrainingConfig
from cochef.learning.ppo import new_learner
from cochef.learning.trainer import AXIS, Trainer, Training, Utility
from cochef.methods import hsp, selfplay
from cochef.randomness import fast

SELF_PLAY, BIASED = "self-play", "HSP"
MATRIX = 2048  # rows and columns of the matrices whose product is the yardstick


@dataclass(frozen=True)
class Plan:
    """What is to be measured."""

    layout: Layout
    config: TrainingConfig
    populations: tuple[int, ...] = (8, 36)
    """Members in self-play; the last number is also that of the biased population."""
    rounds: int = 3
    seconds: float = 2.0
    """How long each rate is measured in a round, at least."""
    seeds: int = 3
    """How often both sides of the race learn; 0 for no race."""
    target: float = 100.0
    """The mean task return at which a racer has arrived."""

    def __post_init__(self) -> None:
        """Refuse what cannot be measured."""
        if self.rounds < 1 or self.seeds < 0:
            raise InputError(
                f"{self.rounds} rounds and {self.seeds} seeds; it takes at least 1 round and 0 seeds"
            )
        if not self.populations or min(self.populations) < 1:
            raise InputError(
                f"populations are {self.populations}; it takes at least one, each of at least 1 member"
            )


@dataclass(frozen=True)
class Timing:
    """Where the time of a population's iteration goes, in seconds, a number a round."""

    method: str
    members: int
    steps: int
    """Environment steps of an iteration, of all members."""
    multiply_adds: int
    """Of the layers in an iteration's update."""
    iteration: tuple[float, ...]
    play: tuple[float, ...]
    update: tuple[float, ...]

    @property
    def judge(self) -> tuple[float, ...]:
        """What is left."""
        parts = zip(self.iteration, self.play, self.update, strict=True)
        return tuple(whole - play - update for whole, play, update in parts)

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
    """All that was measured. Ratios are medians over the rounds, each of which measures both."""

    layout: str
    config: TrainingConfig
    timings: tuple[Timing, ...]
    product: tuple[float, ...]
    """Multiply-adds a second of a large matrix product on all devices."""
    peer: str | None
    peer_rates: tuple[float, ...]
    race: Race | None

    @property
    def biased_share(self) -> float:
        """The rate of the biased population as a share of that of self-play with as many members."""
        *_, plain, biased = self.timings
        return ratio(biased.rates, plain.rates)

    def product_share(self, timing: Timing) -> float:
        """What an update reaches of the rate of a large matrix product."""
        return ratio(timing.speeds, self.product)

    def times_peer(self, timing: Timing) -> float | None:
        """How many times the peer's rate a population has."""
        return ratio(timing.rates, self.peer_rates) if self.peer else None

    def to_json(self) -> dict[str, Any]:
        """All of it, and what it was measured with."""
        timings = [
            {
                **asdict(timing),
                "judge": timing.judge,
                "rates": timing.rates,
                "rate": timing.rate,
                "share_of_matrix_product": self.product_share(timing),
                "times_peer": self.times_peer(timing),
            }
            for timing in self.timings
        ]
        eyes = {"eyes": self.config.network.eyes.value}
        config = asdict(self.config) | {"network": asdict(self.config.network) | eyes}
        return {
            "layout": self.layout,
            "config": config,
            "timings": timings,
            "matrix_product_multiply_adds_a_second": self.product,
            "biased_share": self.biased_share,
            "peer": self.peer,
            "peer_rates": self.peer_rates,
            "race": self.race.to_json() if self.race else None,
            "machine": machine(),
        }


def ratio(own: tuple[float, ...], other: tuple[float, ...]) -> float:
    """The median over the rounds of how many times the other one's number ours is."""
    return statistics.median(ours / its for ours, its in zip(own, other, strict=True))


def measure(plan: Plan, python: Path | None, tell: Tell) -> TrainingSpeed:
    """Populations, a matrix product and the peer in the environment of this Python, in turns; then the race."""
    rewards = reward_config.shipped(plan.layout)
    with contextlib.ExitStack() as stack:
        peer = _peer(stack, plan.layout, python, tell) if python else None
        finish = (
            race(plan.layout, rewards, plan.config, plan.seeds, plan.target, peer, tell)
            if plan.seeds
            else None
        )
        contenders = []
        for members in plan.populations:
            tell(f"compiling {SELF_PLAY} of {members}")
            trainer = selfplay.population(plan.layout, rewards, plan.config, members, seed=0)
            contenders.append(_Contender(SELF_PLAY, trainer))
        tell(f"compiling {BIASED} of {plan.populations[-1]}")
        trainer = hsp.population(plan.layout, rewards, plan.config, plan.populations[-1], seed=0)
        contenders.append(_Contender(BIASED, trainer))
        product, peer_rates = [], []
        yardstick = _MatrixProduct()
        for number in range(1, plan.rounds + 1):
            tell(f"round {number} of {plan.rounds}")
            product.append(yardstick.rate(plan.seconds / 2))
            for contender in contenders:
                contender.measure(plan.seconds)
            if peer:
                peer_rates.append(peer.rate(plan.seconds))
        timings = tuple(contender.timing() for contender in contenders)
    name = peer.name if peer else None
    return TrainingSpeed(
        plan.layout.name, plan.config, timings, tuple(product), name, tuple(peer_rates), finish
    )


def _peer(stack: contextlib.ExitStack, layout: Layout, python: Path, tell: Tell) -> Peer | None:
    """The peer that learns, in a process that ends with the stack, if it knows all that is in this kitchen."""
    if len(layout.cells_of(Tile.TOMATO_DISPENSER)):
        tell("JaxMARL knows no tomatoes: it is left out")
        return None
    tell("starting and compiling JaxMARL's IPPO")
    (peer,) = stack.enter_context(running(python, "ippo", {"rows": rows_with_starts(layout)}))
    return peer


class _Contender:
    """A population that learns on from round to round, compiled and warm, and what was measured of it."""

    def __init__(self, method: str, trainer: Trainer) -> None:
        twice = replace(trainer, config=replace(trainer.config, epochs=2 * trainer.config.epochs))
        training = trainer.begin()
        self._method, self._trainer = method, trainer
        self._plain, self._twice = (
            _Iterating(one, jax.tree.map(_copy, training)) for one in (trainer, twice)
        )
        self._turn = _Playing(trainer, training)
        self._measured: list[tuple[float, float, float]] = []

    def measure(self, seconds: float) -> None:
        """Measure the iteration and its parts once more."""
        plain, twice, turn = (
            _mean_seconds(part, seconds) for part in (self._plain, self._twice, self._turn)
        )
        self._measured.append((plain, turn, twice - plain))

    def timing(self) -> Timing:
        """All that was measured."""
        members = self._trainer.utility.order.shape[0]
        iteration, turn, update = zip(*self._measured, strict=True)
        steps = members * self._trainer.config.steps_per_iteration
        return Timing(
            self._method,
            members,
            steps,
            update_multiply_adds(self._trainer),
            iteration,
            turn,
            update,
        )


class _Iterating:
    """Iterations of a trainer, one after the other; compiled and warm."""

    def __init__(self, trainer: Trainer, training: Training) -> None:
        self._trainer, self._training, self._done = trainer, training, 0
        self()

    def __call__(self) -> None:
        self._training, progress = self._trainer.iterate(self._training, self._done)
        jax.block_until_ready((self._training, progress))
        self._done += 1


class _Playing:
    """Turns played by a trainer's population before it has learned anything; compiled and warm."""

    def __init__(self, trainer: Trainer, training: Training) -> None:
        split = PartitionSpec(AXIS)

        def turn(training: Training, utility: Utility, keys: Key[Array, " members"]) -> Any:  # noqa: ANN401
            wants = Wants(utility.events, utility.order)
            actors = training.learners.actor
            played = play(
                trainer.game,
                trainer.config,
                actors,
                wants,
                training.table,
                keys,
                trainer.recipe.seating,
            )
            return jax.tree.map(lambda leaf: leaf[None], played)  # devices first

        keys = jax.random.split(fast(trainer.key), len(training.members))
        self._arguments = jax.device_put(
            (training, trainer.utility, keys), NamedSharding(trainer.mesh, split)
        )
        spread = jax.shard_map(
            turn, mesh=trainer.mesh, in_specs=split, out_specs=split, check_vma=False
        )
        self._program = jax.jit(spread)
        self()

    def __call__(self) -> None:
        jax.block_until_ready(self._program(*self._arguments))


def update_multiply_adds(trainer: Trainer) -> int:
    """Multiply-adds of the layers of all actors and critics in an iteration's update."""
    config, game = trainer.config, trainer.game
    learner = eqx.filter_eval_shape(new_learner, config, game.spec, game.actions, jax.random.key(0))
    rows = trainer.utility.order.shape[0] * SEATS * config.steps_per_iteration
    return config.epochs * rows * (multiply_adds(learner.actor) + multiply_adds(learner.critic))


def multiply_adds(network: Network) -> int:
    """Multiply-adds of a network's layers to learn from one row.

    A layer takes three products: forward, the gradient of its weights, and that of its input, which the first needs
    not. Convolutions count as if nothing were cut off at the edges.
    """
    cells = math.prod(network.spec.shape[:-1])
    layers = [cells * math.prod(convolution.kernel.shape) for convolution in network.convolutions]
    linear = [*network.layers, network.head]
    if network.memory:
        linear += [network.memory.from_input, network.memory.from_memory]
    layers += [math.prod(layer.weight.shape) for layer in linear]
    return 3 * sum(layers) - layers[0]


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
