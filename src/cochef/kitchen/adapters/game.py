"""What the environments share: how a chef's view looks from outside, and a game stepped one action at a time."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Shaped

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

Layoutlike = Layout | str

step = jax.jit(dynamics.step, static_argnums=0)


class View(Enum):
    """What a chef is shown of the kitchen."""

    GRID = "grid"
    COMPACT = "compact"
    FEATURES = "features"


@dataclass(frozen=True)
class Bounds:
    """The shape and type of a view, and the least and greatest number that can occur in it."""

    shape: tuple[int, ...]
    dtype: type
    low: int
    high: int


def to_layout(layout: Layoutlike) -> Layout:
    """The layout itself, or the one of this name."""
    return layouts.get(layout) if isinstance(layout, str) else layout


def to_view(name: str) -> View:
    """The view of this name."""
    try:
        return View(name)
    except ValueError:
        raise InputError(
            f"unknown observation {name!r}; known: {', '.join(view.value for view in View)}"
        ) from None


def bounds(layout: Layout, view: View) -> Bounds:
    """What one chef's view can hold."""
    byte = np.iinfo(np.uint8).max
    if view is View.GRID:
        return Bounds((layout.height, layout.width, observation.PLANES), np.uint8, 0, byte)
    if view is View.COMPACT:
        return Bounds((sum(observation.compact_sizes(layout)),), np.uint8, 0, byte)
    side = max(layout.width, layout.height)
    return Bounds(
        (FEATURES,), np.float32, -side, max(side, int(recipes.cooking_times(layout).max()))
    )


@partial(jax.jit, static_argnums=(0, 1))
def observe(layout: Layout, view: View, state: State) -> Shaped[Array, "2 ..."]:
    """The views of both chefs."""
    show = {View.GRID: observation.grid, View.COMPACT: observation.compact, View.FEATURES: features}
    return show[view](layout, state)


class Game:
    """An episode in progress, stepped from Python; what it shows and tells is new data on every call."""

    def __init__(self, layout: Layoutlike, view: str, render_mode: str | None) -> None:
        """A game at its start."""
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise InputError(
                f"unknown render mode {render_mode!r}; known: {', '.join(RENDER_MODES)}, or None"
            )
        self.layout = to_layout(layout)
        self.view = to_view(view)
        self._render_mode = render_mode
        self.begin()

    def begin(self) -> None:
        """Everything is as at the start of an episode."""
        self.state = start(self.layout)
        self.score = 0.0

    @property
    def over(self) -> bool:
        """Whether the horizon is reached."""
        return int(self.state.time) >= self.layout.horizon

    def step(self, actions: Sequence[Any]) -> tuple[float, list[dict[str, Any]]]:
        """The team's reward for a joint action, and what each chef did: its own reward and events by name."""
        if self.over:
            raise InputError(
                f"the episode ended after {self.layout.horizon} steps; call reset to begin another"
            )
        joint = np.array(
            [_to_action(action, seat) for seat, action in enumerate(actions)], np.int32
        )
        self.state, outcome = step(self.layout, self.state, joint)
        rewards, events = np.asarray(outcome.reward), np.asarray(outcome.events)
        self.score += float(rewards.sum())
        return float(rewards.sum()), [
            {"own_reward": float(rewards[seat]), "events": event_names(events[seat])}
            for seat in range(SEATS)
        ]

    def views(self) -> list[np.ndarray]:
        """What each chef sees now."""
        return [np.array(view) for view in np.asarray(observe(self.layout, self.view, self.state))]

    def render(self) -> np.ndarray | str | None:
        """The kitchen as a picture or as text, as the render mode asks."""
        if self._render_mode is None:
            return None
        if self._render_mode == "ansi":
            return draw(self.layout, self.state)
        from cochef.kitchen.render import render_state  # noqa: PLC0415  (drawing is loaded when first asked for)

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
