"""The kitchen as a PettingZoo environment: both chefs act at once."""

from typing import Any

import numpy as np

from cochef.adapters import common
from cochef.adapters.common import CHEFS, FRAMES_PER_SECOND, RENDER_MODES
from cochef.adapters.pictures import Renderer
from cochef.adapters.programs import KitchenStepper
from cochef.errors import InputError, missing_extra
from cochef.kitchen.layouts import LayoutLike
from cochef.kitchen.text import event_names

try:
    from gymnasium.spaces import Space
    from pettingzoo import ParallelEnv

    from cochef.adapters.gymnasium import spaces
except ImportError as error:
    raise ImportError(missing_extra(error.name, "envs")) from error


class ParallelKitchen(ParallelEnv[str, np.ndarray, Any]):
    """Two chefs, `chef_0` and `chef_1`, share the task reward; at the horizon both are truncated.

    To the team's task reward each adds `shaping_share` of its own shaped reward. A chef's info says
    what it did itself: `own_reward` and `shaped_reward`, and `events` by name. `state` is chef_0's
    observation: the 26 planes where chefs see the grid, and the compact vector otherwise.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (a plain attribute is what PettingZoo reads)
        "name": "cochef_kitchen_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": FRAMES_PER_SECOND,
        "is_parallelizable": True,
    }

    def __init__(
        self,
        layout: LayoutLike = "cramped_room",
        observation: str = "compact",
        *,
        raw: bool = False,
        horizon: int | None = None,
        shaping: str = common.PAPER_SHAPING,
        shaping_share: float = 0.0,
        render_mode: str | None = None,
    ) -> None:
        """A layout, its name or the path of its file; docs/environments.md explains the options."""
        self._settings = common.settings(
            layout, observation, raw=raw, horizon=horizon, shaping=shaping
        )
        self.shaping_share = common.shaping_share(shaping_share)
        self.render_mode = common.render_mode(render_mode)
        self._stepper = KitchenStepper(self._settings, 1)
        self._renderer = Renderer(self._stepper, self._settings.layout, self.render_mode)
        self.possible_agents = list(CHEFS)
        self.agents: list[str] = []
        both = {chef: spaces(self._settings) for chef in CHEFS}
        self.observation_spaces = {chef: seen for chef, (seen, _) in both.items()}
        self.action_spaces = {chef: actions for chef, (_, actions) in both.items()}
        self.state_space, _ = spaces(self._settings.state_settings())

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
        observations, _ = self._stepper.reset([0])
        self._renderer.begin()
        return dict(zip(CHEFS, observations[0], strict=True)), {chef: {} for chef in CHEFS}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[
        dict[str, np.ndarray],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Both chefs act; the reward is the team's, and each one's share of the shaped reward."""
        if not self.agents:
            raise InputError("no episode is running; call reset to begin one")
        if set(actions) != set(CHEFS):
            given = ", ".join(map(str, actions)) or "nobody"
            raise InputError(f"actions for {given}; it takes {' and '.join(CHEFS)}")
        numbers = [[common.to_action(actions[chef], seat)] for seat, chef in enumerate(CHEFS)]
        result = self._stepper.step(np.array(numbers, np.int32))
        team_reward = float(result.team_reward[0])
        self._renderer.step(result.team_reward)
        shaped_rewards = result.shaped_rewards[0].tolist()
        infos = {
            chef: {
                "own_reward": float(result.own_rewards[0, seat]),
                "shaped_reward": shaped_rewards[seat],
                "events": event_names(result.events[0, seat]),
            }
            for seat, chef in enumerate(CHEFS)
        }
        rewards = [team_reward + self.shaping_share * shaped for shaped in shaped_rewards]
        over = not self._stepper.is_running
        self.agents = [] if over else list(CHEFS)
        return (
            dict(zip(CHEFS, result.observations[0], strict=True)),
            dict(zip(CHEFS, rewards, strict=True)),
            dict.fromkeys(CHEFS, False),
            dict.fromkeys(CHEFS, over),
            infos,
        )

    def state(self) -> np.ndarray:
        """The whole kitchen, as chef_0 sees it."""
        self._stepper.check_begun()
        return self._stepper.observe(self._settings.state_settings())[0, 0]

    def render(self) -> np.ndarray | str | None:
        """The kitchen as a picture or as text, as the render mode asks; a window is updated."""
        return self._renderer.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()
