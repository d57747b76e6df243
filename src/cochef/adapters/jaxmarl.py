"""The kitchen with the signature of a JaxMARL environment, without needing JaxMARL.

All methods can be compiled and mapped over keys, states and actions. Where JaxMARL is installed,
the spaces are of its own classes, which its wrappers ask for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from cochef import runtime
from cochef.adapters import common
from cochef.adapters.common import KitchenSettings
from cochef.kitchen import dynamics
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.layouts import LayoutLike
from cochef.kitchen.state import State, start

AGENTS = tuple(f"agent_{seat}" for seat in range(SEATS))  # as JaxMARL's programs expect them

Observations = dict[str, Shaped[Array, "..."]]
# JaxMARL fixes the order: observations, state, rewards, dones, infos.
_StepResult = tuple[
    Observations,
    State,
    dict[str, Float[Array, ""]],
    dict[str, Bool[Array, ""]],
    dict[str, Any],
]


@dataclass(frozen=True)
class Discrete:
    """The whole numbers from 0 to n - 1."""

    n: int
    dtype: type = jnp.int32
    shape: tuple[int, ...] = ()

    def sample(self, key: PRNGKeyArray) -> Int[Array, ""]:
        """One of them, each as likely."""
        return jax.random.randint(key, self.shape, 0, self.n, self.dtype)

    def contains(self, x: Any) -> Bool[Array, ""]:  # noqa: ANN401
        """Whether x is one of them."""
        return jnp.logical_and(jnp.asarray(x) >= 0, jnp.asarray(x) < self.n)


@dataclass(frozen=True)
class Box:
    """Arrays of one shape and type, all numbers from `low` to `high`."""

    low: int
    high: int
    shape: tuple[int, ...]
    dtype: type

    def sample(self, key: PRNGKeyArray) -> Shaped[Array, "..."]:
        """Any such array, all numbers drawn alike."""
        if jnp.issubdtype(self.dtype, jnp.integer):
            drawn = jax.random.randint(key, self.shape, self.low, self.high + 1)
            return drawn.astype(self.dtype)
        return jax.random.uniform(key, self.shape, self.dtype, self.low, self.high)

    def contains(self, x: Any) -> Bool[Array, ""]:  # noqa: ANN401
        """Whether all numbers of x are within the bounds."""
        return jnp.logical_and(
            jnp.all(jnp.asarray(x) >= self.low), jnp.all(jnp.asarray(x) <= self.high)
        )


def _spaces(settings: KitchenSettings) -> tuple[Any, Any]:
    """What one agent observes and does: in JaxMARL's classes if it is there, otherwise in ours."""
    try:
        from jaxmarl.environments import spaces  # noqa: PLC0415  # pyright: ignore[reportMissingImports]
    except ImportError:
        box, discrete = Box, Discrete
    else:
        box, discrete = spaces.Box, spaces.Discrete
    seen = settings.bounds
    return box(seen.low, seen.high, seen.shape, seen.dtype), discrete(len(Action))


class MultiAgentKitchen:
    """Two agents, `agent_0` and `agent_1`, share the task reward.

    The infos hold what a learner may add to it, `shaped_reward` by agent, and with an axis over
    agents `own_reward` and `truncated`: JaxMARL knows only one kind of end, so `dones` are true at
    the horizon, and `truncated` says that it was no end of the task. With `events` they also hold
    the events, one entry per `Event`.
    """

    name = "cochef_kitchen"

    def __init__(
        self,
        layout: LayoutLike = "cramped_room",
        observation: str = "compact",
        *,
        raw: bool = False,
        horizon: int | None = None,
        shaping: str = common.PAPER_SHAPING,
        events: bool = False,
    ) -> None:
        """A layout, its name or the path of its file; docs/environments.md explains the options."""
        runtime.keep_compiled_programs_unless_kept()
        self._settings = common.settings(
            layout, observation, raw=raw, horizon=horizon, shaping=shaping
        )
        self._tells_events = events
        self.layout = self._settings.layout
        self.max_steps = self.layout.horizon
        self.agents = list(AGENTS)
        self.num_agents = len(AGENTS)
        seen, actions = _spaces(self._settings)
        self.observation_spaces = dict.fromkeys(AGENTS, seen)
        self.action_spaces = dict.fromkeys(AGENTS, actions)

    def __eq__(self, other: object) -> bool:
        """Equal environments share their compiled programs."""
        if not isinstance(other, MultiAgentKitchen):
            return False
        return (self._settings, self._tells_events) == (other._settings, other._tells_events)

    def __hash__(self) -> int:
        """The hash of the settings."""
        return hash((self._settings, self._tells_events))

    def observation_space(self, agent: str = AGENTS[0]) -> Any:  # noqa: ANN401
        """What the agent can see."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str = AGENTS[0]) -> Any:  # noqa: ANN401
        """The six actions."""
        return self.action_spaces[agent]

    @partial(jax.jit, static_argnums=0)
    def reset(self, key: PRNGKeyArray) -> tuple[Observations, State]:
        """The observations and the state at the start of an episode, which is always the same."""
        state = start(self.layout)
        return self.get_obs(state), state

    @partial(jax.jit, static_argnums=0)
    def step(
        self,
        key: PRNGKeyArray,
        state: State,
        actions: Mapping[str, Any],
        reset_state: State | None = None,
    ) -> _StepResult:
        """Both agents act; where that ends the episode, the next begins (at `reset_state`)."""
        observations, after, rewards, dones, infos = self.step_env(key, state, actions)
        fresh = self.reset(key) if reset_state is None else (self.get_obs(reset_state), reset_state)
        observations, after = jax.tree.map(
            lambda new, old: jnp.where(dones["__all__"], new, old), fresh, (observations, after)
        )
        return observations, after, rewards, dones, infos

    @partial(jax.jit, static_argnums=0)
    def step_env(self, key: PRNGKeyArray, state: State, actions: Mapping[str, Any]) -> _StepResult:
        """Both agents act; nothing begins anew by itself."""
        joint = jnp.stack([jnp.asarray(actions[agent], jnp.int32) for agent in AGENTS])
        after, outcome = dynamics.step(self.layout, state, joint)
        over = after.time >= self.layout.horizon
        shaped_rewards = self._settings.shaped_rewards(outcome.events)
        infos = {
            "shaped_reward": dict(zip(AGENTS, shaped_rewards, strict=True)),
            "own_reward": outcome.reward,
            "truncated": jnp.full(SEATS, over),
        }
        if self._tells_events:
            infos["events"] = outcome.events
        rewards = dict.fromkeys(AGENTS, outcome.reward.sum())
        dones = dict.fromkeys((*AGENTS, "__all__"), over)
        return self.get_obs(after), after, rewards, dones, infos

    @partial(jax.jit, static_argnums=0)
    def get_obs(self, state: State) -> Observations:
        """What each agent sees."""
        return dict(zip(AGENTS, self._settings.observe_one(state), strict=True))

    def get_avail_actions(self, state: State) -> dict[str, Bool[Array, "6"]]:
        """Every action is allowed at any time."""
        return {agent: jnp.ones(len(Action), bool) for agent in AGENTS}
