"""Many kitchens as one vector environment of Gymnasium, stepped by one compiled program."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cochef import validation
from cochef.adapters import common
from cochef.adapters.common import FRAMES_PER_SECOND
from cochef.adapters.gymnasium import Partnerlike, check_seat, partner_loader, spaces
from cochef.adapters.pictures import Renderer
from cochef.adapters.programs import MAX_SEED, KitchenStepper, StepArrays
from cochef.errors import InputError, missing_extra, shown
from cochef.kitchen.layouts import LayoutLike

try:
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise ImportError(missing_extra(error.name, "envs")) from error

MAX_KITCHENS = 2**16

Infos = dict[str, Any]


class VectorKitchens(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """One chef in each of many kitchens; an agent plays all the others.

    Kitchen k plays as the single environment does that was reset with the k-th seed. All episodes
    are equally long, so they end and begin together. The infos are arrays over the kitchens:
    `seat`, `own_reward`, `shaped_reward`, and `events`, a truth value for each `Event`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (a plain attribute is what Gymnasium reads)
        "render_modes": ["rgb_array", "ansi"],
        "render_fps": FRAMES_PER_SECOND,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(  # noqa: PLR0913  (an environment's options are keywords)
        self,
        num_envs: int = 1,
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
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        """As the single environment, in `num_envs` kitchens; one picture a kitchen."""
        self.num_envs = validation.whole_number(num_envs, "num_envs", 1, MAX_KITCHENS)
        self._settings = common.settings(
            layout, observation, raw=raw, horizon=horizon, shaping=shaping
        )
        self.shaping_share = common.shaping_share(shaping_share)
        self._autoreset = _autoreset_mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self._autoreset}
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InputError(
                f"unknown render mode {render_mode!r} of many kitchens; known: rgb_array, ansi, "
                "or None"
            )
        self.render_mode = render_mode
        loader = partner_loader(partner, self._settings.layout)
        self._stepper = KitchenStepper(self._settings, self.num_envs, loader, check_seat(seat))
        self._renderer = Renderer(self._stepper, self._settings.layout, render_mode)
        self.single_observation_space, self.single_action_space = spaces(self._settings)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, Infos]:
        """Begin an episode in every kitchen; kitchen k takes the k-th seed, or `seed` + k."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        if options:
            raise InputError(f"options are {shown(options)}; there are none")
        if seed is None and self._stepper.episodes is None:
            seed = int(self.np_random.integers(MAX_SEED // 2))
        return self._begin(None if seed is None else self._seeds(seed))

    def _seeds(self, seed: int | Sequence[int]) -> list[int]:
        if isinstance(seed, int | np.integer):
            return [int(seed) + kitchen for kitchen in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise InputError(f"{len(seed)} seeds for {self.num_envs} kitchens; it takes one each")
        return [int(one) for one in seed]

    def _begin(self, seeds: list[int] | None) -> tuple[np.ndarray, Infos]:
        observations, self._seats = self._stepper.reset(seeds)
        self._renderer.begin()
        return observations[:, 0], self._told({"seat": self._seats.copy()})

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Infos]:
        """All learners and their partners act at once."""
        nobody = np.zeros(self.num_envs, bool)
        self._stepper.check_begun()
        is_over = not self._stepper.is_running
        if is_over and self._autoreset is AutoresetMode.NEXT_STEP:
            observations, infos = self._begin(None)
            return observations, np.zeros(self.num_envs), nobody, nobody.copy(), infos
        self._stepper.check_running()
        result = self._stepper.step(common.to_actions(actions, self.num_envs))
        rewards = result.team_reward.astype(np.float64)
        self._renderer.step(result.team_reward)
        if self.shaping_share:
            rewards += self.shaping_share * result.shaped_rewards[:, 0]
        infos = self._told(self._facts(result))
        observations = result.observations[:, 0]
        truncated = np.full(self.num_envs, not self._stepper.is_running)
        if truncated[0] and self._autoreset is AutoresetMode.SAME_STEP:
            observations, infos = self._restarted(observations, infos)
        return observations, rewards, nobody, truncated, infos

    def _facts(self, result: StepArrays) -> Infos:
        return {
            "seat": self._seats.copy(),
            "own_reward": result.own_rewards[:, 0],
            "shaped_reward": result.shaped_rewards[:, 0],
            "events": result.events[:, 0],
        }

    def _restarted(self, last: np.ndarray, infos: Infos) -> tuple[np.ndarray, Infos]:
        """The next episodes' first observations; the infos hold the last of the old ones."""
        observations, begun = self._begin(None)
        finals = np.empty(self.num_envs, object)
        finals[:] = list(last)
        return observations, begun | self._told({"final_obs": finals, "final_info": infos})

    def _told(self, infos: Infos) -> Infos:
        """The infos with Gymnasium's masks, which say in which kitchens each is told: in all."""
        everywhere = np.ones(self.num_envs, bool)
        return infos | {f"_{name}": everywhere for name in infos}

    def render(self) -> tuple[Any, ...] | None:
        """A picture or text of each kitchen."""
        if self.render_mode is None:
            return None
        self._stepper.check_begun()
        return tuple(map(self._renderer.render, range(self.num_envs)))


def _autoreset_mode(mode: object) -> AutoresetMode:
    for known in AutoresetMode:
        if mode in (known, known.value):
            return known
    allowed = ", ".join(repr(known.value) for known in AutoresetMode)
    raise InputError(f"autoreset_mode is {shown(mode)}; allowed: {allowed}")
