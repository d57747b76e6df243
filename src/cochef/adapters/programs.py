"""Kitchens stepped from Python: one call of a compiled program a step.

The programs run on the CPU, whatever other devices there are: what they return goes to Python, and
a kitchen is too small for a trip to an accelerator.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata
from jaxlib import xla_client
from jaxtyping import Array, Bool, Float, Int, Key, Shaped, UInt32

from cochef import runtime
from cochef.adapters import forks
from cochef.adapters.common import KitchenSettings
from cochef.adapters.packing import Packed, pack
from cochef.agents.agent import Agent, Carry
from cochef.errors import InputError
from cochef.kitchen.constants import SEATS
from cochef.kitchen.dynamics import step
from cochef.kitchen.state import State, seen_from, start
from cochef.kitchen.stepping import over_kitchens, repeat_kitchens, step_kitchens
from cochef.pytree import pytree
from cochef.randomness import FAST

MAX_SEED = 2**63 - 1

# The time of a step is mostly that of starting its hundred small operations, one by one and in
# other threads. XLA compiles a call with these marks into a single kernel, several times as fast up
# to a thousand kitchens. (It finds small loops by itself, but nothing else.)
_ONE_KERNEL = {"xla_cpu_small_call": "true", "inlineable": "false"}


@pytree
class Episodes:
    """What goes on in many kitchens, the last axis of all arrays."""

    states: State
    carry: Carry  # the partner's


@pytree
class Draws:
    """What was drawn for the episodes of many kitchens, the last axis."""

    seats: Int[Array, " kitchens"]  # of the learner, where a partner plays the other
    keys: UInt32[Array, "2 kitchens"]  # of the partner's actions


@pytree
class StepResult:
    """What a step brought about; players are the learner alone, or both seats.

    The rewards are the team's, then each player's own, then each one's shaped reward.
    """

    observations: Shaped[Array, "kitchens players ..."]
    rewards: Float[Array, "rewards kitchens"]
    events: Bool[Array, "players events kitchens"]


@dataclass(frozen=True)
class StepArrays:
    """What a step brought about, kitchens first, as numpy arrays that nobody else holds."""

    observations: np.ndarray
    team_reward: np.ndarray
    own_rewards: np.ndarray
    shaped_rewards: np.ndarray
    events: np.ndarray


class KitchenStepper:
    """Episodes of some kitchens, begun and stepped from Python.

    A partner plays the seat that is not the learner's; without one, both seats are played from
    outside. Nothing is computed before the first reset, so that a process can be forked from one
    that has only made environments.
    """

    def __init__(
        self,
        settings: KitchenSettings,
        kitchens: int,
        partner: Callable[[], Agent] | None = None,
        seat: int | None = None,
    ) -> None:
        """The learner sits in `seat`, or where that is None in one drawn for every episode."""
        self._settings = settings
        self.kitchens = kitchens
        self._load_partner = partner
        self._seat = seat
        self._programs: Programs | None = None
        self._episode = 0
        self.episodes: Packed | None = None
        self.time = 0

    @property
    def is_running(self) -> bool:
        """Whether an episode has begun and is not over."""
        return self.episodes is not None and self.time < self._settings.layout.horizon

    def check_begun(self) -> None:
        """Refuse what needs an episode before the first reset."""
        if self.episodes is None:
            raise InputError("no episode is running; call reset to begin one")

    def check_running(self) -> None:
        """Refuse a step where no episode is running."""
        self.check_begun()
        if not self.is_running:
            raise InputError(
                f"the episode ended after {self.time} steps; call reset to begin another"
            )

    def reset(self, seeds: Sequence[int] | None) -> tuple[np.ndarray, np.ndarray]:
        """Begin an episode in each kitchen: observations [kitchens, players, ...] and seats.

        Seeds decide this and all following episodes; without them the next of the earlier seeds'
        episodes begins.
        """
        forks.check()
        programs = self._programs or self._prepare()
        if seeds is not None:
            self._seeds = np.array([divmod(seed, 2**32) for seed in seeds], np.uint32)
            self._episode = 0
        else:
            self._episode += 1
        self.episodes, self._draws, observations = programs.begin(
            self._partner, jax.device_put(self._seeds, self._cpu), self._episode
        )
        self.time = 0
        return np.array(observations), np.array(self._draws.seats)

    def step(self, actions: np.ndarray) -> StepArrays:
        """Let the players act: [kitchens] with a partner, [2, kitchens] without."""
        assert self._programs is not None
        self.episodes, result = self._programs.advance(
            self._partner, self._draws, self.episodes, actions
        )
        self.time += 1
        events = np.array(result.events)
        rewards = np.array(result.rewards)
        players = len(events)
        return StepArrays(
            observations=np.array(result.observations),
            team_reward=rewards[0],
            own_rewards=rewards[1 : 1 + players].T,
            shaped_rewards=rewards[1 + players :].T,
            events=np.moveaxis(events, -1, 0),
        )

    def _prepare(self) -> "Programs":
        """Load the partner and find the programs, in the process that plays."""
        runtime.keep_compiled_programs_unless_kept()
        self._cpu = _device()
        partner = None if self._load_partner is None else self._load_partner()
        leaves, structure = jax.tree.flatten(partner)
        self._partner = jax.device_put(leaves, self._cpu)
        self._programs = _programs(self._settings, self.kitchens, self._seat, structure)
        return self._programs

    def observe(self, settings: KitchenSettings) -> np.ndarray:
        """Both chefs' observations under other settings: [seats, kitchens, ...]."""
        return np.array(_observe(settings, self._running()))

    def state(self, kitchen: int) -> State:
        """The state of one kitchen."""
        states = _states(self._running())
        return jax.tree.map(lambda leaf: np.asarray(leaf)[..., kitchen], states)

    def _running(self) -> Packed:
        assert self.episodes is not None
        return self.episodes


@cache
def _device() -> Any:  # noqa: ANN401
    """A CPU whose programs run in the thread that calls them.

    JAX's own CPU hands every program to another thread, and waking that takes longer than a step of
    a kitchen, on a busy machine a hundred times as long.
    """
    forks.computing_begins()
    try:
        return xla_client.make_cpu_client(asynchronous=False).local_devices()[0]
    except (AttributeError, TypeError):  # a version of JAX without this door
        return jax.local_devices(backend="cpu")[0]


@dataclass(frozen=True)
class Programs:
    """What begins episodes and what steps them, each as one compiled program."""

    begin: Callable[..., tuple[Packed, Draws, Array]]
    advance: Callable[..., tuple[Packed, StepResult]]


@cache
def _programs(
    settings: KitchenSettings,
    kitchens: int,
    seat: int | None,
    structure: Any,  # noqa: ANN401
) -> Programs:
    """The programs for a partner of this structure; equal environments share them."""

    def begin(leaves: list[Array], *arguments: Any) -> Any:  # noqa: ANN401
        return _begin(settings, kitchens, seat, jax.tree.unflatten(structure, leaves), *arguments)

    def replies(leaves: list[Array], draws: Draws, episodes: Episodes) -> tuple[Array, Carry]:
        return _replies(jax.tree.unflatten(structure, leaves), draws, episodes)

    has_partner = structure != jax.tree.structure(None)

    def advance(
        play: Callable[..., Any],
        leaves: list[Array],
        draws: Draws,
        packed: Packed,
        actions: Int[Array, "*players kitchens"],
    ) -> tuple[Packed, StepResult]:
        episodes = packed.unpack()
        carry = episodes.carry
        joint = actions
        if has_partner:
            answers, carry = replies(leaves, draws, episodes)
            joint = _joint_actions(draws.seats, actions, answers)
        return play(draws.seats, episodes.states, joint, carry)

    play = partial(_play, settings, has_partner)
    candidates = [
        _as_one_kernel(partial(advance, play)),
        partial(advance, _as_one_kernel(play)),
        partial(advance, play),
    ]
    return Programs(jax.jit(begin), _FirstThatCompiles([jax.jit(one) for one in candidates]))


class _FirstThatCompiles:
    """The first of some programs that XLA can compile: not every agent fits into one kernel."""

    def __init__(self, programs: list[Callable[..., Any]]) -> None:
        self._programs = programs

    def __call__(self, *arguments: Any) -> Any:  # noqa: ANN401
        while len(self._programs) > 1:
            try:
                return self._programs[0](*arguments)
            except jax.errors.JaxRuntimeError:
                del self._programs[0]
        return self._programs[0](*arguments)


@partial(jax.jit, static_argnums=0)
def _observe(settings: KitchenSettings, episodes: Packed) -> Shaped[Array, "2 kitchens ..."]:
    return settings.observe(episodes.unpack().states)


@jax.jit
def _states(episodes: Packed) -> State:
    return episodes.unpack().states


def _begin(
    settings: KitchenSettings,
    kitchens: int,
    seat: int | None,
    partner: Agent | None,
    seeds: UInt32[Array, "kitchens 2"],
    episode: Int[Array, ""],
) -> tuple[Packed, Draws, Shaped[Array, "kitchens players ..."]]:
    def draw(words: UInt32[Array, "2"]) -> tuple[Int[Array, ""], Key[Array, ""], Key[Array, ""]]:
        key = jax.random.fold_in(jax.random.wrap_key_data(words, impl=FAST), episode)
        key_seat, key_begin, key_act = jax.random.split(key, 3)
        drawn = (jax.random.bits(key_seat) % SEATS).astype(jnp.int32)
        return drawn, key_begin, key_act

    seats, keys_begin, keys_act = jax.vmap(draw)(seeds)
    if seat is not None:
        seats = jnp.full_like(seats, seat)
    states = repeat_kitchens(start(settings.layout), kitchens)
    carry = () if partner is None else over_kitchens(partner.begin)(keys_begin)
    draws = Draws(seats, jax.random.key_data(keys_act).T)
    observations = _seen(settings, states, None if partner is None else seats)
    return pack(Episodes(states, carry)), draws, observations


def _joint_actions(
    seats: Int[Array, " kitchens"],
    actions: Int[Array, " kitchens"],
    answers: Int[Array, " kitchens"],
) -> Int[Array, "2 kitchens"]:
    """The learner's actions and the partner's, each in its seat."""
    is_first = seats == 0
    first = jnp.where(is_first, actions, answers)
    return jnp.stack([first, jnp.where(is_first, answers, actions)])


def _play(
    settings: KitchenSettings,
    has_partner: bool,
    seats: Int[Array, " kitchens"],
    states: State,
    joint: Int[Array, "2 kitchens"],
    carry: Carry,
) -> tuple[Packed, StepResult]:
    """Step all kitchens and see what came of it."""
    learner_seats = seats if has_partner else None
    transition = step_kitchens(partial(step, settings.layout), states, joint)
    outcome = transition.outcome
    events = _of_players(outcome.events, learner_seats)
    rewards = [
        outcome.reward.sum(axis=0)[None],
        _of_players(outcome.reward, learner_seats),
        settings.shaped_rewards(jnp.moveaxis(events, 1, -1)),
    ]
    result = StepResult(
        observations=_seen(settings, transition.next_state, learner_seats),
        rewards=jnp.concatenate(rewards),
        events=events,
    )
    return pack(Episodes(transition.next_state, carry)), result


def _seen(
    settings: KitchenSettings, states: State, learner_seats: Int[Array, " kitchens"] | None
) -> Shaped[Array, "kitchens players ..."]:
    """What the learner observes, or both seats where there is none, kitchens first."""
    if learner_seats is None:
        return jnp.moveaxis(settings.observe(states), 0, 1)
    return settings.observe(over_kitchens(seen_from)(states, learner_seats), seats=1)[0][:, None]


def _replies(
    partner: Agent, draws: Draws, episodes: Episodes
) -> tuple[Int[Array, " kitchens"], Carry]:
    """The partner's actions, each in the seat that is not the learner's."""

    def one(
        state: State, seat: Int[Array, ""], carry: Carry, words: UInt32[Array, "2"]
    ) -> tuple[Int[Array, ""], Carry]:
        key = jax.random.fold_in(jax.random.wrap_key_data(words, impl=FAST), state.time)
        action, carry = partner.act(seen_from(state, 1 - seat), 0, carry, key)
        return action.astype(jnp.int32), carry

    return over_kitchens(one)(episodes.states, draws.seats, episodes.carry, draws.keys)


def _of_players(
    both: Shaped[Array, "2 *some kitchens"], learner_seats: Int[Array, " kitchens"] | None
) -> Shaped[Array, "players *some kitchens"]:
    """What belongs to the learner, or to both seats where there is none."""
    if learner_seats is None:
        return both
    return jnp.where(learner_seats == 0, both[0], both[1])[None]


def _as_one_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, to be compiled for a CPU as a single kernel."""

    @jax.jit
    def unmarked(*arguments: Any) -> Any:  # noqa: ANN401
        # The marks are for the call as a whole, not for the calls inside.
        with set_xla_metadata(**dict.fromkeys(_ONE_KERNEL)):
            return function(*arguments)

    def marked(*arguments: Any) -> Any:  # noqa: ANN401
        with set_xla_metadata(**_ONE_KERNEL):
            return unmarked(*arguments)

    return marked
