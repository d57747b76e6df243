"""The loop in which every compiled simulator is measured.

It needs nothing but JAX: peers run it too, in an environment that knows nothing else of CoChef.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.compilation_cache import compilation_cache
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Int, Key

STEPS = 400  # of one call at up to 1,024 kitchens: an episode
STORED_STEPS = 10  # steps whose observations are stored before they are read

_ACTIONS = 6
_MANY_KITCHENS = 1024  # with more than these, a call has fewer steps

SimulatorState = Any  # a tree of arrays: all kitchens of a simulator
StepOutput = Any  # a tree of arrays: observations, rewards and all else that a step gives
SimulatorStep = Callable[
    [Key[Array, ""], SimulatorState, Int[Array, "2 kitchens"]],
    tuple[SimulatorState, StepOutput],
]


@dataclass(frozen=True)
class Simulator:
    """How to reset some kitchens and to step them all; a new episode follows each that ends."""

    reset: Callable[[Key[Array, ""], int], SimulatorState]
    step: SimulatorStep


def random_actions(key: Key[Array, ""], kitchens: int) -> Int[Array, "2 kitchens"]:
    """Draw an action for each chef, all six as likely to within 1 in 10,000."""
    # Both chefs' actions come from one random word: drawing numbers is dear next to stepping.
    words = jax.random.bits(key, (kitchens,), jnp.uint32)
    halves = jnp.stack([words >> 16, words & 0xFFFF])
    return ((halves * _ACTIONS) >> 16).astype(jnp.int32)


def random_rollout(
    step: SimulatorStep, kitchens: int, steps: int
) -> Callable[[SimulatorState, Key[Array, ""]], tuple[SimulatorState, Float[Array, ""]]]:
    """A program that plays on at random and returns a number that depends on all step outputs.

    The number makes XLA compute everything. The outputs of a few steps are stored, as a learner
    would, and then read: otherwise XLA would fuse the making of an observation with its use, and no
    network could use it so.
    """

    def random_step(
        state: SimulatorState, key: Key[Array, ""]
    ) -> tuple[SimulatorState, StepOutput]:
        key_act, key_step = jax.random.split(key)
        return step(key_step, state, random_actions(key_act, kitchens))

    def store_and_read(
        carry: tuple[SimulatorState, Array], keys: Key[Array, " stored"]
    ) -> tuple[tuple[SimulatorState, Array], None]:
        state, read = carry
        state, outputs = jax.lax.scan(random_step, state, keys)
        read += sum(leaf.max().astype(jnp.float32) for leaf in jax.tree.leaves(outputs))
        return (state, read), None

    def play(state: SimulatorState, key: Key[Array, ""]) -> tuple[SimulatorState, Float[Array, ""]]:
        keys = jax.random.split(key, (steps // STORED_STEPS, STORED_STEPS))
        return jax.lax.scan(store_and_read, (state, jnp.float32(0)), keys)[0]

    return play


class SimulatorRunner:
    """A simulator in some kitchens, compiled and warm."""

    def __init__(self, simulator: Simulator, kitchens: int, shards: int = 1) -> None:
        """Compile the simulator and play once; each shard of the kitchens has its own device."""
        self._simulator = simulator
        self._kitchens = kitchens
        self._shards = shards
        self._shard_kitchens = kitchens // shards
        fitting = STEPS * _MANY_KITCHENS // max(kitchens, _MANY_KITCHENS)
        self._steps = max(STORED_STEPS, fitting // STORED_STEPS * STORED_STEPS)
        key_reset, self._key = jax.random.split(jax.random.key(0))
        mesh = Mesh(np.array(jax.devices()[:shards]), ("shards",))
        spec = PartitionSpec("shards")
        play_shard = random_rollout(simulator.step, self._shard_kitchens, self._steps)

        # A device's part has an axis of length 1 for the shards in front.
        def play(
            states: SimulatorState, keys: Key[Array, " shards"]
        ) -> tuple[SimulatorState, Float[Array, " shards"]]:
            played = play_shard(jax.tree.map(lambda leaf: leaf[0], states), keys[0])
            return jax.tree.map(lambda leaf: leaf[None], played)

        begun = [
            simulator.reset(key, self._shard_kitchens)
            for key in jax.random.split(key_reset, shards)
        ]
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *begun)
        self._state = jax.device_put(stacked, NamedSharding(mesh, spec))
        program = jax.jit(
            jax.shard_map(play, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
        )
        self._play = program.lower(self._state, self._shard_keys()).compile()
        self.rate(seconds=0.0)

    def rate(self, seconds: float) -> float:
        """Kitchen steps a second, over at least so many seconds."""
        calls = 0
        begun = time.perf_counter()
        while calls == 0 or time.perf_counter() - begun < seconds:
            played = self._play(self._state, self._shard_keys())
            self._state, _ = jax.block_until_ready(played)
            calls += 1
        return calls * self._steps * self._kitchens / (time.perf_counter() - begun)

    def compile_seconds(self) -> float:
        """How much longer the first call of one step takes than the next: tracing and compiling."""
        jax.clear_caches()
        step = jax.jit(self._simulator.step)
        key_reset, key_act, key_step = jax.random.split(self._key, 3)
        state = self._simulator.reset(key_reset, self._kitchens)
        arguments = (key_step, state, random_actions(key_act, self._kitchens))
        jax.block_until_ready(arguments)
        with no_compilation_cache():
            first, second = (_seconds(step, arguments) for _ in range(2))
        return first - second

    def _shard_keys(self) -> Key[Array, " shards"]:
        """New random keys, one for each shard."""
        self._key, key_play = jax.random.split(self._key)
        return jax.random.split(key_play, self._shards)


def _seconds(step: SimulatorStep, arguments: tuple[Any, ...]) -> float:
    begun = time.perf_counter()
    jax.block_until_ready(step(*arguments))
    return time.perf_counter() - begun


@contextmanager
def no_compilation_cache() -> Iterator[None]:
    """Compile anew what an earlier run may have left on disk."""
    before = jax.config.values["jax_enable_compilation_cache"]
    try:
        jax.config.update("jax_enable_compilation_cache", False)
        compilation_cache.reset_cache()
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", before)
        compilation_cache.reset_cache()
