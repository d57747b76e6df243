"""What the environments share: observations, their bounds, and an episode stepped from Python."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Shaped

from cochef import validation
from cochef.errors import InputError
from cochef.kitchen import dynamics, layouts, observation, recipes
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.features import FEATURES, features
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State, start
from cochef.kitchen.text import draw, event_names

CHEFS = tuple(f"chef_{seat}" for seat in range(SEATS))
RENDER_MODES = ("rgb_array", "ansi")
FRAMES_PER_SECOND = 6

MISSING_EXTRA = '{name} is not installed; to use this environment, run: pip install "cochef[envs]"'

OBSERVATIONS: Mapping[str, Callable[[Layout, State], Shaped[Array, "2 ..."]]] = {
    "grid": observation.grid,
    "compact": observation.compact,
    "features": features,
}

Layoutlike = Layout | str

_step = jax.jit(dynamics.step, static_argnums=0)


@dataclass(frozen=True)
class Bounds:
    """The shape and type of an observation, and the least and greatest number in it."""

    shape: tuple[int, ...]
    dtype: type
    low: int
    high: int


def to_layout(layout: Layoutlike) -> Layout:
    """The layout itself, or the one of this name."""
    return layouts.get(layout) if isinstance(layout, str) else layout


def bounds(layout: Layout, kind: str) -> Bounds:
    """What one chef's observation of a kind can hold."""
    byte = np.iinfo(np.uint8).max
    if kind == "grid":
        return Bounds((layout.height, layout.width, observation.PLANES), np.uint8, 0, byte)
    if kind == "compact":
        return Bounds((sum(observation.compact_sizes(layout)),), np.uint8, 0, byte)
    side = max(layout.width, layout.height)
    longest = int(recipes.cooking_times(layout).max())
    return Bounds((FEATURES,), np.float32, -side, max(side, longest))


@partial(jax.jit, static_argnums=(0, 1))
def observe(layout: Layout, kind: str, state: State) -> Shaped[Array, "2 ..."]:
    """The observations of both chefs."""
    return OBSERVATIONS[kind](layout, state)


class RunningEpisode:
    """An episode stepped from Python; what it returns is new data on every call."""

    def __init__(self, layout: Layoutlike, observation: str, render_mode: str | None) -> None:
        """An episode at its start; `observation` is one of OBSERVATIONS."""
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise InputError(
                f"unknown render mode {render_mode!r}; known: {', '.join(RENDER_MODES)}, or None"
            )
        self.layout = to_layout(layout)
        self._observation = validation.known(observation, "observation", OBSERVATIONS)
        self._render_mode = render_mode
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self.state = start(self.layout)
        self.score = 0.0

    @property
    def bounds(self) -> Bounds:
        """What one chef's observation can hold."""
        return bounds(self.layout, self._observation)

    @property
    def is_over(self) -> bool:
        """Whether the horizon is reached."""
        return int(self.state.time) >= self.layout.horizon

    def step(self, actions: Sequence[Any]) -> tuple[float, list[dict[str, Any]]]:
        """The team's reward for a joint action, and for each chef its own reward and events."""
        if self.is_over:
            raise InputError(
                f"the episode ended after {self.layout.horizon} steps; call reset to begin another"
            )
        numbers = [_to_action(action, seat) for seat, action in enumerate(actions)]
        self.state, outcome = _step(self.layout, self.state, np.array(numbers, np.int32))
        rewards = np.asarray(outcome.reward)
        events = np.asarray(outcome.events)
        team_reward = float(rewards.sum())
        self.score += team_reward
        infos = [
            {"own_reward": float(rewards[seat]), "events": event_names(events[seat])}
            for seat in range(SEATS)
        ]
        return team_reward, infos

    def observations(self) -> list[np.ndarray]:
        """What each chef sees now."""
        both = np.asarray(observe(self.layout, self._observation, self.state))
        return [np.array(own) for own in both]

    def render(self) -> np.ndarray | str | None:
        """The kitchen as a picture or as text, as the render mode asks."""
        if self._render_mode is None:
            return None
        if self._render_mode == "ansi":
            return draw(self.layout, self.state)
        # Pillow is loaded only when a picture is asked for.
        from cochef.kitchen.render import render_state  # noqa: PLC0415

        return np.array(render_state(self.layout, self.state, score=self.score).convert("RGB"))


def _to_action(action: Any, seat: int) -> int:  # noqa: ANN401
    try:
        number = operator.index(action)
    except TypeError:
        number = -1
    if not 0 <= number < len(Action):
        allowed = ", ".join(f"{one.value} {one.name.lower()}" for one in Action)
        raise InputError(f"the action of {CHEFS[seat]} is {action!r}; allowed: {allowed}")
    return number
