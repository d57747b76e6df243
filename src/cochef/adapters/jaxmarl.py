"""The kitchen with the signature of a JaxMARL environment, without needing JaxMARL.

All methods can be compiled and mapped over keys, states and actions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from cochef import validation
from cochef.adapters.common import CHEFS, OBSERVATIONS, Layoutlike, bounds, observe, to_layout
from cochef.kitchen import dynamics
from cochef.kitchen.constants import Action
from cochef.kitchen.state import State, start

Observations = dict[str, Shaped[Array, "..."]]
# JaxMARL fixes the order: observations, state, rewards, dones, infos.
_StepResult = tuple[
    Observations,
    State,
    dict[str, Float[Array, ""]],
    dict[str, Bool[Array, ""]],
    dict[str, Shaped[Array, "..."]],
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
            return jax.random.randint(key, self.shape, self.low, self.high + 1).astype(self.dtype)
        return jax.random.uniform(key, self.shape, self.dtype, self.low, self.high)

    def contains(self, x: Any) -> Bool[Array, ""]:  # noqa: ANN401
        """Whether all numbers of x are within the bounds."""
        return jnp.logical_and(
            jnp.all(jnp.asarray(x) >= self.low), jnp.all(jnp.asarray(x) <= self.high)
        )


class MultiAgentKitchen:
    """Two chefs, `chef_0` and `chef_1`, share the task reward.

    JaxMARL knows only one kind of end, so `dones` are true at the horizon; `truncated` in the infos
    says that it was no end of the task. The infos also hold, with an axis over chefs, `own_reward`
    and `events` (one entry per `Event`).
    """

    name = "cochef_kitchen"

    def __init__(self, layout: Layoutlike, observation: str = "compact") -> None:
        """A layout or its name; `observation` is grid, compact or features."""
        self.layout = to_layout(layout)
        self._observation = validation.known(observation, "observation", OBSERVATIONS)
        seen = bounds(self.layout, self._observation)
        self.agents = list(CHEFS)
        self.num_agents = len(CHEFS)
        self.observation_spaces = {
            chef: Box(seen.low, seen.high, seen.shape, seen.dtype) for chef in CHEFS
        }
        self.action_spaces = {chef: Discrete(len(Action)) for chef in CHEFS}

    def __eq__(self, other: object) -> bool:
        """Equal environments share their compiled programs."""
        if not isinstance(other, MultiAgentKitchen):
            return False
        return self.layout == other.layout and self._observation == other._observation

    def __hash__(self) -> int:
        """The hash of layout and observation."""
        return hash((self.layout, self._observation))

    def observation_space(self, agent: str) -> Box:
        """What the chef can see."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete:
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
        """Both chefs act; where that ends the episode, the next begins (at `reset_state`)."""
        observations, after, rewards, dones, infos = self.step_env(key, state, actions)
        fresh = self.reset(key) if reset_state is None else (self.get_obs(reset_state), reset_state)
        observations, after = jax.tree.map(
            lambda new, old: jnp.where(dones["__all__"], new, old), fresh, (observations, after)
        )
        return observations, after, rewards, dones, infos

    @partial(jax.jit, static_argnums=0)
    def step_env(self, key: PRNGKeyArray, state: State, actions: Mapping[str, Any]) -> _StepResult:
        """Both chefs act; nothing begins anew by itself."""
        joint = jnp.stack([jnp.asarray(actions[chef], jnp.int32) for chef in CHEFS])
        after, outcome = dynamics.step(self.layout, state, joint)
        over = after.time >= self.layout.horizon
        rewards = dict.fromkeys(CHEFS, outcome.reward.sum())
        infos = {"own_reward": outcome.reward, "events": outcome.events, "truncated": over}
        dones = dict.fromkeys((*CHEFS, "__all__"), over)
        return self.get_obs(after), after, rewards, dones, infos

    @partial(jax.jit, static_argnums=0)
    def get_obs(self, state: State) -> Observations:
        """What each chef sees."""
        observations = observe(self.layout, self._observation, state)
        return {chef: observations[seat] for seat, chef in enumerate(CHEFS)}

    def get_avail_actions(self, state: State) -> dict[str, Bool[Array, "6"]]:
        """Every action is allowed at any time."""
        return {chef: jnp.ones(len(Action), bool) for chef in CHEFS}
