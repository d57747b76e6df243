"""The kitchen as a Gymnasium environment: one chef learns, a given partner plays the other."""

from functools import partial
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import Array, Int, Key

from cochef.errors import InputError
from cochef.kitchen.adapters.game import (
    FRAMES_PER_SECOND,
    MISSING_EXTRA,
    RENDER_MODES,
    Game,
    Layoutlike,
    bounds,
)
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.state import State

try:
    import gymnasium
    from gymnasium.spaces import Box, Discrete
except ImportError as error:
    raise ImportError(MISSING_EXTRA.format(name=error.name)) from error

ENVIRONMENT_ID = "CoChef/Kitchen-v0"


@runtime_checkable
class Partner(Protocol):
    """Acts for the other chef. As its decisions are compiled, it has to be a JAX tree of its parameters."""

    def begin(self, key: Key[Array, ""]) -> Any:  # noqa: ANN401
        """The memory an episode starts with."""
        ...

    def act(
        self, state: State, seat: int, memory: Any, key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], Any]:  # noqa: ANN401
        """The action for the chef in `seat`, and the memory afterwards."""
        ...


@partial(jax.jit, static_argnames="seat")
def _act(
    partner: Partner, state: State, seat: int, memory: Any, key: Key[Array, ""]
) -> tuple[Int[Array, ""], Any]:  # noqa: ANN401
    return partner.act(state, seat, memory, jax.random.fold_in(key, state.time))


class KitchenWithPartner(gymnasium.Env[np.ndarray, Any]):
    """The learner sits in `seat`, or, where that is None, in one that is drawn anew for every episode.

    The reward is the team's task reward; the info says what the learner did itself: `own_reward`, and `events` by
    name. At the horizon the episode is truncated. What chance there is, the seat and the partner's decisions,
    follows from the seed given to `reset`.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": FRAMES_PER_SECOND}  # noqa: RUF012

    def __init__(
        self,
        layout: Layoutlike,
        partner: Partner,
        seat: int | None = None,
        observation: str = "compact",
        render_mode: str | None = None,
    ) -> None:
        """A kitchen by name or layout; `observation` is grid, compact or features."""
        if seat not in (None, *range(SEATS)):
            raise InputError(
                f"seat is {seat!r}; it takes 0, 1, or None for a seat drawn every episode"
            )
        self.render_mode = render_mode
        self._game = Game(layout, observation, render_mode)
        self._partner = partner
        self._fixed_seat = seat
        self._seat: int | None = None
        seen = bounds(self._game.layout, self._game.view)
        self.observation_space = Box(seen.low, seen.high, seen.shape, seen.dtype)
        self.action_space = Discrete(len(Action))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; the info names the learner's seat. There are no options."""
        super().reset(seed=seed)
        key_begin, self._key_act = jax.random.split(jax.random.key(self.np_random.integers(2**32)))
        drawn_seat = int(self.np_random.integers(SEATS))
        self._seat = drawn_seat if self._fixed_seat is None else self._fixed_seat
        self._memory = self._partner.begin(key_begin)
        self._game.begin()
        return self._game.views()[self._seat], {"seat": self._seat}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """The learner and its partner act at once."""
        if self._seat is None:
            raise InputError("no episode is running; call reset to begin one")
        other = 1 - self._seat
        reply, self._memory = _act(
            self._partner, self._game.state, other, self._memory, self._key_act
        )
        reward, did = self._game.step([action, reply] if self._seat == 0 else [reply, action])
        info = {**did[self._seat], "seat": self._seat}
        return self._game.views()[self._seat], reward, False, self._game.over, info

    def render(self) -> Any:  # noqa: ANN401
        """The kitchen as a picture or as text, as the render mode asks."""
        return self._game.render()


gymnasium.register(ENVIRONMENT_ID, entry_point=f"{__name__}:{KitchenWithPartner.__name__}")
