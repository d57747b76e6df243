"""The kitchen as a Gymnasium environment: one chef learns, a given partner plays the other."""

from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Int, Key

from cochef.adapters.common import (
    FRAMES_PER_SECOND,
    MISSING_EXTRA,
    RENDER_MODES,
    Layoutlike,
    RunningEpisode,
)
from cochef.agents.agent import Agent, Carry
from cochef.errors import InputError
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.state import State

try:
    import gymnasium
    from gymnasium.spaces import Box, Discrete
except ImportError as error:
    raise ImportError(MISSING_EXTRA.format(name=error.name)) from error

ENVIRONMENT_ID = "CoChef/Kitchen-v0"


@partial(jax.jit, static_argnames="seat")
def _act(
    partner: Agent, state: State, seat: int, carry: Carry, key: Key[Array, ""]
) -> tuple[Int[Array, ""], Carry]:
    return partner.act(state, seat, carry, jax.random.fold_in(key, state.time))


class KitchenWithPartner(gymnasium.Env[np.ndarray, Any]):
    """One chef of a kitchen; an agent plays the other.

    The learner sits in `seat`, or, where that is None, in one that is drawn for every episode. The
    reward is the team's task reward; the info says what the learner did itself: `own_reward`, and
    `events` by name. At the horizon the episode is truncated. All randomness, the seat and the
    partner's actions, follows from the seed given to `reset`.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": FRAMES_PER_SECOND}  # noqa: RUF012

    def __init__(
        self,
        layout: Layoutlike,
        partner: Agent,
        seat: int | None = None,
        observation: str = "compact",
        render_mode: str | None = None,
    ) -> None:
        """A layout or its name; `observation` is grid, compact or features."""
        if seat not in (None, *range(SEATS)):
            raise InputError(
                f"seat is {seat!r}; it takes 0, 1, or None for a seat drawn every episode"
            )
        self.render_mode = render_mode
        self._episode = RunningEpisode(layout, observation, render_mode)
        self._partner = partner
        self._fixed_seat = seat
        self._seat: int | None = None
        seen = self._episode.bounds
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
        self._carry = self._partner.begin(key_begin)
        self._episode.reset()
        return self._episode.observations()[self._seat], {"seat": self._seat}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """The learner and its partner act at once."""
        if self._seat is None:
            raise InputError("no episode is running; call reset to begin one")
        other = 1 - self._seat
        reply, self._carry = _act(
            self._partner, self._episode.state, other, self._carry, self._key_act
        )
        reward, did = self._episode.step([action, reply] if self._seat == 0 else [reply, action])
        info = {**did[self._seat], "seat": self._seat}
        return self._episode.observations()[self._seat], reward, False, self._episode.is_over, info

    def render(self) -> Any:  # noqa: ANN401
        """The kitchen as a picture or as text, as the render mode asks."""
        return self._episode.render()


gymnasium.register(ENVIRONMENT_ID, entry_point=f"{__name__}:{KitchenWithPartner.__name__}")
