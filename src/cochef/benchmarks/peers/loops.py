"""The loops in which environments are measured that Python steps, ours and the peers'.

They need nothing but JAX and numpy.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

_ACTIONS = 6
_STEPS = 100  # of one call


def rate(play: Callable[[], int], seconds: float) -> float:
    """Kitchen steps a second of a function that plays some and says how many, over some seconds."""
    steps = 0
    begun = time.perf_counter()
    while steps == 0 or time.perf_counter() - begun < seconds:
        steps += play()
    return steps / (time.perf_counter() - begun)


class JaxEnvironment:
    """An environment with JaxMARL's signature: a compiled step of many kitchens, called in turns.

    Every step is awaited, as a loop in Python must that looks at the observations.
    """

    def __init__(self, env: Any, kitchens: int) -> None:  # noqa: ANN401
        """Compile; one kitchen is not mapped."""
        key = jax.random.key(0)
        shape = (_STEPS, len(env.agents)) + ((kitchens,) if kitchens > 1 else ())
        drawn = np.random.default_rng(0).integers(_ACTIONS, size=shape).astype(np.int32)
        self._actions = [dict(zip(env.agents, each, strict=True)) for each in drawn]
        self._kitchens = kitchens
        self._key = key if kitchens == 1 else jax.random.split(key, kitchens)
        reset, step = (
            (env.reset, env.step) if kitchens == 1 else map(jax.vmap, (env.reset, env.step))
        )
        self._step = jax.jit(step)
        self._state = jax.jit(reset)(self._key)[1]
        self.rate(seconds=0.0)

    def rate(self, seconds: float) -> float:
        """Kitchen steps a second, over at least so many seconds."""
        return rate(self._play, seconds)

    def _play(self) -> int:
        for actions in self._actions:
            observations, self._state, *told = self._step(self._key, self._state, actions)
            jax.block_until_ready((observations, told))
        return len(self._actions) * self._kitchens

    def compile_seconds(self) -> None:
        """It is not measured here."""
