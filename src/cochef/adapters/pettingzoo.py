"""The kitchen as a PettingZoo environment: both chefs act at once."""

from typing import Any

import numpy as np

from cochef.adapters.common import (
    CHEFS,
    FRAMES_PER_SECOND,
    MISSING_EXTRA,
    RENDER_MODES,
    Layoutlike,
    RunningEpisode,
)
from cochef.errors import InputError
from cochef.kitchen.constants import Action

try:
    from gymnasium.spaces import Box, Discrete, Space
    from pettingzoo import ParallelEnv
except ImportError as error:
    raise ImportError(MISSING_EXTRA.format(name=error.name)) from error


class ParallelKitchen(ParallelEnv[str, np.ndarray, Any]):
    """Two chefs, `chef_0` and `chef_1`, share the task reward; at the horizon both are truncated.

    A chef's info says what it did itself: `own_reward`, and `events` by name.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (a plain attribute is what PettingZoo reads)
        "name": "cochef_kitchen_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": FRAMES_PER_SECOND,
        "is_parallelizable": True,
    }

    def __init__(
        self, layout: Layoutlike, observation: str = "compact", render_mode: str | None = None
    ) -> None:
        """A layout or its name; `observation` is grid, compact or features."""
        self.render_mode = render_mode
        self._episode = RunningEpisode(layout, observation, render_mode)
        self.possible_agents = list(CHEFS)
        self.agents: list[str] = []
        seen = self._episode.bounds
        self.observation_spaces = {
            chef: Box(seen.low, seen.high, seen.shape, seen.dtype) for chef in CHEFS
        }
        self.action_spaces = {chef: Discrete(len(Action)) for chef in CHEFS}

    def observation_space(self, agent: str) -> Space[np.ndarray]:
        """What the chef can see."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """The six actions."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]:
        """Begin an episode. Nothing is random, so the seed is not used; there are no options."""
        self.agents = list(CHEFS)
        self._episode.reset()
        return self._observations(), {chef: {} for chef in CHEFS}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[
        dict[str, np.ndarray],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Both chefs act; the reward is the team's."""
        if not self.agents:
            raise InputError("no episode is running; call reset to begin one")
        if set(actions) != set(CHEFS):
            given = ", ".join(map(str, actions)) or "nobody"
            raise InputError(f"actions for {given}; it takes {' and '.join(CHEFS)}")
        reward, did = self._episode.step([actions[chef] for chef in CHEFS])
        over = self._episode.is_over
        self.agents = [] if over else list(CHEFS)
        return (
            self._observations(),
            dict.fromkeys(CHEFS, reward),
            dict.fromkeys(CHEFS, False),
            dict.fromkeys(CHEFS, over),
            dict(zip(CHEFS, did, strict=True)),
        )

    def _observations(self) -> dict[str, np.ndarray]:
        return dict(zip(CHEFS, self._episode.observations(), strict=True))

    def render(self) -> np.ndarray | str | None:
        """The kitchen as a picture or as text, as the render mode asks."""
        return self._episode.render()
