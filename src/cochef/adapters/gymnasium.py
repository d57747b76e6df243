"""The kitchen as a Gymnasium environment: one chef learns, a partner plays the other."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from cochef.adapters import common
from cochef.adapters.common import FRAMES_PER_SECOND, RENDER_MODES
from cochef.adapters.pictures import Renderer
from cochef.adapters.programs import MAX_SEED, KitchenStepper
from cochef.agents import names
from cochef.agents.agent import Agent
from cochef.errors import InputError, missing_extra, shown
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.layout import Layout
from cochef.kitchen.layouts import LayoutLike
from cochef.kitchen.text import event_names

try:
    import gymnasium
    from gymnasium.spaces import Box, Discrete
except ImportError as error:
    raise ImportError(missing_extra(error.name, "envs")) from error

Partnerlike = Agent | str


class KitchenWithPartner(gymnasium.Env[np.ndarray, Any]):
    """One chef of a kitchen; an agent plays the other.

    The learner sits in `seat`, or, where that is None, in one that is drawn for every episode. The
    reward is the team's task reward, plus `shaping_share` of the learner's shaped reward. The info
    says what the learner did itself: `own_reward` and `shaped_reward`, and `events` by name. At the
    horizon the episode is truncated. All randomness, the seat and the partner's actions, follows
    from the seed given to `reset`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (a plain attribute is what Gymnasium reads)
        "render_modes": list(RENDER_MODES),
        "render_fps": FRAMES_PER_SECOND,
    }

    def __init__(  # noqa: PLR0913  (an environment's options are keywords)
        self,
        layout: LayoutLike = "cramped_room",
        partner: Partnerlike = common.DEFAULT_PARTNER,
        seat: int | None = None,
        observation: str = "compact",
        *,
        raw: bool = False,
        horizon: int | None = None,
        shaping: str = common.PAPER_SHAPING,
        shaping_share: float = 0.0,
        render_mode: str | None = None,
    ) -> None:
        """A layout and a partner, or their names; docs/environments.md explains the options."""
        self._settings = common.settings(
            layout, observation, raw=raw, horizon=horizon, shaping=shaping
        )
        self.shaping_share = common.shaping_share(shaping_share)
        self.render_mode = common.render_mode(render_mode)
        loader = partner_loader(partner, self._settings.layout)
        self._stepper = KitchenStepper(self._settings, 1, loader, check_seat(seat))
        self._renderer = Renderer(self._stepper, self._settings.layout, self.render_mode)
        self.observation_space, self.action_space = spaces(self._settings)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; the info names the learner's seat. There are no options."""
        super().reset(seed=seed)
        first = self._stepper.episodes is None and seed is None
        seeds = [int(self.np_random.integers(MAX_SEED))] if first else None
        observations, seats = self._stepper.reset(seeds if seed is None else [seed])
        self._seat = int(seats[0])
        self._renderer.begin()
        return observations[0, 0], {"seat": self._seat}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """The learner and its partner act at once."""
        self._stepper.check_running()
        number = common.to_action(action, self._seat)
        result = self._stepper.step(np.array([number], np.int32))
        team_reward = float(result.team_reward[0])
        shaped_reward = float(result.shaped_rewards[0, 0])
        self._renderer.step(result.team_reward)
        info = {
            "seat": self._seat,
            "own_reward": float(result.own_rewards[0, 0]),
            "shaped_reward": shaped_reward,
            "events": event_names(result.events[0, 0]),
        }
        reward = team_reward + self.shaping_share * shaped_reward
        return result.observations[0, 0], reward, False, not self._stepper.is_running, info

    def render(self) -> Any:  # noqa: ANN401
        """The kitchen as a picture or as text, as the render mode asks; a window is updated."""
        return self._renderer.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()


def spaces(settings: common.KitchenSettings) -> tuple[Box, Discrete]:
    """What one chef sees and does, as spaces of Gymnasium."""
    seen = settings.bounds
    return Box(seen.low, seen.high, seen.shape, seen.dtype), Discrete(len(Action))


def check_seat(seat: object) -> int | None:
    """A seat, or None for one that is drawn."""
    if seat not in (None, *range(SEATS)):
        raise InputError(f"seat is {seat!r}; it takes 0, 1, or None for a seat drawn every episode")
    return seat if isinstance(seat, int) else None


def partner_loader(partner: object, layout: Layout) -> Callable[[], Agent]:
    """How the partner is had when the first episode begins."""
    if isinstance(partner, str):
        # Parameters from a file are arrays of JAX, which must not run before a process is forked.
        if names.files(partner):
            return partial(names.load, partner, layout)
        partner = names.load(partner, layout)
    if not isinstance(partner, Agent):
        raise InputError(f"partner is {shown(partner)}; it takes an agent or an agent's name")
    return partial(_given, partner)


def _given(partner: Agent) -> Agent:
    return partner
