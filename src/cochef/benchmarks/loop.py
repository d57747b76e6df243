"""The loop in which every compiled simulator is measured.

Needs nothing but JAX: peers run it too, in an environment that knows nothing else of CoChef.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.compilation_cache import compilation_cache
from jaxtyping import Array, Float, Int, Key

STEPS = 400  # of one call at up to 1,024 kitchens: an episode
KEPT = 10  # steps whose observations are stored before they are read

_ACTIONS = 6
_MANY = 1024

State = Any  # a tree of arrays: all kitchens of a simulator
Shown = Any  # a tree of arrays: all that a step shows
Step = Callable[[Key[Array, ""], State, Int[Array, "2 kitchens"]], tuple[State, Shown]]


@dataclass(frozen=True)
class Simulator:
    """How to begin in some kitchens, and how to step them all; an episode that ends is followed by the next."""

    begin: Callable[[Key[Array, ""], int], State]
    step: Step


def random_actions(key: Key[Array, ""], kitchens: int) -> Int[Array, "2 kitchens"]:
    """An action for each chef, all six as likely to within 1 in 10,000; both come from one random word."""
    words = jax.random.bits(key, (kitchens,), jnp.uint32)
    halves = jnp.stack([words >> 16, words & 0xFFFF])
    return ((halves * _ACTIONS) >> 16).astype(jnp.int32)


def playing(step: Step, kitchens: int, steps: int) -> Callable[[State, Key[Array, ""]], tuple[State, Float[Array, ""]]]:
    """A program that plays on at random; its number depends on all that was shown, so all of it is computed.

    What a few steps show is stored, as a learner would, and then read: otherwise XLA would melt the making of an
    observation into its use, and no network could use it so.
    """

    def tick(state: State, key: Key[Array, ""]) -> tuple[State, Shown]:
        key_act, key_step = jax.random.split(key)
        return step(key_step, state, random_actions(key_act, kitchens))

    def stretch(carry: tuple[State, Array], keys: Key[Array, " kept"]) -> tuple[tuple[State, Array], None]:
        state, read = carry
        state, shown = jax.lax.scan(tick, state, keys)
        return (state, read + sum(leaf.max().astype(jnp.float32) for leaf in jax.tree.leaves(shown))), None

    def play(state: State, key: Key[Array, ""]) -> tuple[State, Float[Array, ""]]:
        keys = jax.random.split(key, (steps // KEPT, KEPT))
        return jax.lax.scan(stretch, (state, jnp.float32(0)), keys)[0]

    return play


class Runner:
    """A simulator in some kitchens, compiled and warm."""

    def __init__(self, simulator: Simulator, kitchens: int) -> None:
        """Ready to be measured."""
        self._simulator, self._kitchens = simulator, kitchens
        self._steps = max(KEPT, STEPS * _MANY // max(kitchens, _MANY) // KEPT * KEPT)
        key_begin, self._key = jax.random.split(jax.random.key(0))
        self._state = simulator.begin(key_begin, kitchens)
        self._play = jax.jit(playing(simulator.step, kitchens, self._steps)).lower(self._state, self._key).compile()
        self.rate(seconds=0.0)

    def rate(self, seconds: float) -> float:
        """Kitchen steps a second, over at least so many seconds."""
        calls, begun = 0, time.perf_counter()
        while calls == 0 or time.perf_counter() - begun < seconds:
            self._key, key_play = jax.random.split(self._key)
            self._state, _ = jax.block_until_ready(self._play(self._state, key_play))
            calls += 1
        return calls * self._steps * self._kitchens / (time.perf_counter() - begun)

    def compile_seconds(self) -> float:
        """How much longer the first call of one step takes than the next: tracing and compiling."""
        jax.clear_caches()
        step = jax.jit(self._simulator.step)
        key_act, key_step = jax.random.split(self._key)
        arguments = (key_step, self._state, random_actions(key_act, self._kitchens))
        jax.block_until_ready(arguments)
        with nothing_from_disk():
            first, next_one = (_seconds(step, arguments) for _ in range(2))
        return first - next_one


def _seconds(step: Step, arguments: tuple[Any, ...]) -> float:
    begun = time.perf_counter()
    jax.block_until_ready(step(*arguments))
    return time.perf_counter() - begun


@contextmanager
def nothing_from_disk() -> Iterator[None]:
    """Compile anew what an earlier run may have left on disk."""
    before = jax.config.values["jax_enable_compilation_cache"]
    try:
        jax.config.update("jax_enable_compilation_cache", False)
        compilation_cache.reset_cache()
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", before)
        compilation_cache.reset_cache()
