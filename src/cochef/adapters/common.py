"""What the environments share: their settings, what chefs observe, and checks of what is given."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Shaped

from cochef import validation
from cochef.errors import InputError, shown
from cochef.kitchen import layouts, observation
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.features import FEATURES, feature_peaks, features
from cochef.kitchen.layout import Layout
from cochef.kitchen.layouts import LayoutLike
from cochef.kitchen.state import State
from cochef.kitchen.stepping import over_kitchens
from cochef.learning import reward_config

CHEFS = tuple(f"chef_{seat}" for seat in range(SEATS))
RENDER_MODES = ("human", "rgb_array", "ansi")
FRAMES_PER_SECOND = 6
PAPER_SHAPING = "paper"
DEFAULT_PARTNER = "random"

OBSERVATIONS: Mapping[str, Callable[[Layout, State], Shaped[Array, "..."]]] = {
    "grid": observation.grid,
    "compact": observation.compact,
    "features": features,
}


@dataclass(frozen=True)
class Bounds:
    """The shape and type of an observation, and the least and greatest number in it."""

    shape: tuple[int, ...]
    dtype: type
    low: int
    high: int


@dataclass(frozen=True)
class KitchenSettings:
    """What an environment plays and what it hands out; programs are compiled for it.

    Observations are floats from 0 to 1 (features: -1 to 1), each number divided by the largest it
    can be, as learners like them. Raw ones are the whole numbers themselves, as bytes (features: as
    floats).
    """

    layout: Layout
    observation: str = "compact"
    raw: bool = False
    shaping: tuple[float, ...] = ()  # the shaped reward of each event

    @cached_property
    def peaks(self) -> np.ndarray:
        """The largest size of each number of a raw observation."""
        if self.observation == "grid":
            return observation.grid_peaks(self.layout)
        if self.observation == "compact":
            return observation.compact_peaks(self.layout)
        return feature_peaks(self.layout)

    @property
    def bounds(self) -> Bounds:
        """What one chef's observation can hold."""
        shapes = {
            "grid": (self.layout.height, self.layout.width, observation.PLANES),
            "compact": (sum(observation.compact_sizes(self.layout)),),
            "features": (FEATURES,),
        }
        shape = shapes[self.observation]
        low = -1 if self.observation == "features" else 0
        if not self.raw:
            return Bounds(shape, np.float32, low, 1)
        if self.observation == "features":
            most = int(self.peaks.max())
            return Bounds(shape, np.float32, -most, most)
        return Bounds(shape, np.uint8, 0, np.iinfo(np.uint8).max)

    def observe(self, states: State, seats: int = SEATS) -> Shaped[Array, "seats ..."]:
        """The observations of the first seats in many kitchens: [seats, kitchens, ...]."""
        if self.observation == "features":
            seen = over_kitchens(lambda state: features(self.layout, state))(states)[:seats]
        elif self.observation == "grid":
            seen = observation.grid(self.layout, states, seats)
        else:
            seen = observation.compact(self.layout, states, seats)
        return self.scaled(jnp.moveaxis(seen, -1, 1))

    def observe_one(self, state: State) -> Shaped[Array, "2 ..."]:
        """The observations of both chefs in one kitchen."""
        return self.scaled(OBSERVATIONS[self.observation](self.layout, state))

    def scaled(self, raw: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
        """Raw observations as the settings ask for them."""
        return raw if self.raw else raw * jnp.asarray(1 / self.peaks, jnp.float32)

    def shaped_rewards(self, events: Bool[Array, "*batch events"]) -> Float[Array, "*batch"]:
        """What the shaping pays for events."""
        paid = jnp.zeros(events.shape[:-1], jnp.float32)
        # One by one: they are few, and XLA cannot put a large sum into one kernel with the rest.
        for event, weight in enumerate(self.shaping):
            if weight:
                paid += jnp.where(events[..., event], weight, 0)
        return paid

    def state_settings(self) -> "KitchenSettings":
        """The settings whose observation of chef 0 holds all that both chefs can know."""
        lossless = "grid" if self.observation == "grid" else "compact"
        return replace(self, observation=lossless)


def settings(
    layout: LayoutLike,
    observation: str,
    *,
    raw: bool = False,
    horizon: int | None = None,
    shaping: str = PAPER_SHAPING,
) -> KitchenSettings:
    """Settings from what a person gave, checked."""
    found = layouts.resolve(layout)
    if horizon is not None:
        limited = validation.whole_number(horizon, "horizon", 1, layouts.MAX_HORIZON)
        found = replace(found, horizon=limited)
    return KitchenSettings(
        layout=found,
        observation=validation.known(observation, "observation", OBSERVATIONS),
        raw=validation.truth(raw, "raw"),
        shaping=tuple(reward_config.as_vector(_shaping(shaping, found)).tolist()),
    )


def _shaping(name: object, layout: Layout) -> reward_config.EventWeights:
    """The weights of the shaped reward of this name: the paper's, or those of a reward file."""
    if name == PAPER_SHAPING:
        return reward_config.shipped(layout).shaping
    if isinstance(name, str | Path) and str(name).endswith(".toml"):
        return reward_config.read(Path(name)).shaping
    raise InputError(
        f"unknown shaping {shown(name)}; known: {PAPER_SHAPING}, or the path of a .toml reward file"
    )


def shaping_share(value: object) -> float:
    """How much of the shaped reward is added to the task reward: from 0 to 1."""
    return validation.number(value, "shaping_share", 0, 1)


def render_mode(value: object) -> str | None:
    """One of the render modes, or None."""
    if value is not None and value not in RENDER_MODES:
        raise InputError(
            f"unknown render mode {value!r}; known: {', '.join(RENDER_MODES)}, or None"
        )
    return None if value is None else str(value)


def to_action(action: Any, seat: int) -> int:  # noqa: ANN401
    """The number of an action, checked."""
    try:
        number = operator.index(action)
    except TypeError:
        number = -1
    if not 0 <= number < len(Action):
        raise InputError(f"the action of {CHEFS[seat]} is {action!r}; allowed: {_ALLOWED}")
    return number


def to_actions(actions: Any, kitchens: int) -> np.ndarray:  # noqa: ANN401
    """An action for each of many kitchens, checked."""
    numbers = np.asarray(actions)
    if numbers.shape != (kitchens,) or numbers.dtype.kind not in "iu":
        raise InputError(
            f"actions are {numbers.dtype}{list(numbers.shape)}; it takes {kitchens} whole numbers"
        )
    # One look at all of them: a negative number is a huge one without its sign.
    if numbers.astype(np.uint64).max() >= len(Action):
        first = int(((numbers < 0) | (numbers >= len(Action))).argmax())
        raise InputError(f"the action in kitchen {first} is {numbers[first]}; allowed: {_ALLOWED}")
    return numbers.astype(np.int32)


_ALLOWED = ", ".join(f"{one.value} {one.name.lower()}" for one in Action)
