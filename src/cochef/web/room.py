"""A room: all games on one layout, stepped together by one compiled program.

A room has a fixed number of slots, one for each game. Kitchen states and the agents' carries stay
inside; a tick takes one command for each slot and gives back what happened there. The program
plays as many ticks as it is told, so that an interrupted game is soon where it was. Nothing is
compiled after a room has been opened. Slots are the last axis of all arrays, as in the stepping
core. Own agents that are no JAX code are asked between the ticks; one at fault stays, and the
results of its slots say so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Integer, Key, UInt32

from cochef.agents import hosting
from cochef.agents.agent import Agent, Carry
from cochef.agents.hosting import AgentError, HostSeat
from cochef.agents.own_observations import own_observations
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.dynamics import step
from cochef.kitchen.events import Event
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State, start
from cochef.kitchen.stepping import over_kitchens, repeat_kitchens, step_kitchens
from cochef.kitchen.text import each_to_json
from cochef.pytree import pytree
from cochef.randomness import FAST
from cochef.web import programs
from cochef.web.session import JointAction

AGENT = -1  # in place of an action: whatever the agent chooses
AT_ONCE = 32  # ticks that a room plays at most in one call
TICK_PATIENCE = 1.0  # seconds in which an own agent has to answer: everybody waits for it

_Scalar = Integer[Array | np.ndarray | np.int32, ""]


@dataclass(frozen=True)
class SlotCommand:
    """What a slot does in a tick."""

    slot: int
    actions: JointAction  # AGENT where the agent chooses
    agent_acts: bool  # where not, the agent stays and its carry is kept
    agent: int  # its number in the room
    seat: int  # the agent's
    seed: int
    ticks: int  # how long the game lasts
    episode_start: bool = False  # start a new game before the tick


@dataclass(frozen=True)
class TickResult:
    """What happened in a slot: the joint action, events by seat, the reward, the state as JSON."""

    actions: JointAction
    events: Bool[np.ndarray, "2 events"]
    reward: float
    state: dict[str, Any]
    fault: str | None = None  # of an own agent, which stayed


@pytree
class _Commands:
    """The commands of all slots, in one tick or in several."""

    actions: Int[Array | np.ndarray, "*ticks 2 slots"]
    agent_acts: Bool[Array | np.ndarray, "*ticks slots"]
    agent: Int[Array | np.ndarray, "*ticks slots"]
    seat: Int[Array | np.ndarray, "*ticks slots"]
    seed: UInt32[Array | np.ndarray, "*ticks slots"]
    ticks: Int[Array | np.ndarray, "*ticks slots"]
    episode_start: Bool[Array | np.ndarray, "*ticks slots"]
    runs: Bool[Array | np.ndarray, "*ticks slots"]  # False where a slot has no command


@pytree
class _Slots:
    """What a room carries from tick to tick: kitchen states, and every agent's carry."""

    states: State
    carries: tuple[Carry, ...]


@pytree
class _Ticked:
    """What some ticks brought about: actions and events of the last, rewards of all."""

    actions: Int[Array, "2 slots"]
    events: Bool[Array, "2 events slots"]
    rewards: Float[Array, " slots"]


class Room:
    """Slots for games on one layout with some agents. Opening a room compiles its program."""

    def __init__(self, layout: Layout, agents: Mapping[str, Agent], slots: int) -> None:
        """Compile the program; it is ready when this returns."""
        self.layout = layout
        self.slots = slots
        self.games = 0  # that have a slot
        self._numbers = {name: number for number, name in enumerate(agents)}
        self._agents = hosting.answered(tuple(agents.values()))
        begin_key = _key(np.int32(0), np.int32(0))
        carries = tuple(agent.begin(begin_key) for agent in self._agents)
        empty = repeat_kitchens(_Slots(start(layout), carries), slots)
        self._slots = jax.tree.map(np.asarray, empty)
        self._program = programs.compiled(
            partial(_play, layout),
            f"{layout} {list(agents)}",
            self._agents,
            self._slots,
            _pack([], slots),
            np.int32(0),
        )
        # The program gives the leaves of both trees in one list.
        self._result_tree = jax.tree.structure((self._slots, _nothing(slots)))
        self._asked: dict[int, list[HostSeat]] = {}  # by the agent's number
        for number, carry in enumerate(self._slots.carries):
            callers = [answer.caller for answer in hosting.answers_in(carry)]
            if callers:
                self._asked[number] = [HostSeat(caller, slots) for caller in callers]
        self._ask(_pack([], slots), 0)  # compiles what is needed to ask them
        for caller in hosting.callers(tuple(agents.values())):
            caller.patience = TICK_PATIENCE

    def number_of(self, agent: str) -> int:
        """The number of an agent in this room."""
        return self._numbers[agent]

    def play(self, ticks: Sequence[Sequence[SlotCommand]]) -> list[TickResult]:
        """Play up to `AT_ONCE` ticks; the result of each slot that the first of them commands.

        A result has the rewards of all ticks, the actions and events of the last one, and the state
        at the end.
        """
        faults: dict[int, str] = {}
        if self._asked:
            ticked = self._play_asking(ticks, faults)
        else:
            ticked = self._run(_pack(ticks, self.slots), len(ticks))
        rows = [command.slot for command in ticks[0]]
        states, ticked = jax.tree.map(partial(_pick, rows=rows), (self._slots.states, ticked))
        tables = each_to_json(self.layout, states)
        return [
            TickResult(
                actions=(int(ticked.actions[row, 0]), int(ticked.actions[row, 1])),
                events=ticked.events[row],
                reward=float(ticked.rewards[row]),
                state=table,
                fault=faults.get(rows[row]),
            )
            for row, table in enumerate(tables)
        ]

    def _run(self, commands: _Commands, ticks: int) -> _Ticked:
        leaves = self._program(self._agents, self._slots, commands, np.int32(ticks))
        self._slots, ticked = jax.tree.unflatten(self._result_tree, leaves)
        return ticked

    def _play_asking(
        self, ticks: Sequence[Sequence[SlotCommand]], faults: dict[int, str]
    ) -> _Ticked:
        """Play tick after tick, and ask own agents before each; notes the slots of those at fault.

        A slot without a command in the last ticks keeps its events of an earlier one.
        """
        rewards = np.zeros(self.slots, np.float32)
        ticked = _nothing(self.slots)
        for tick in ticks:
            commands = _pack([tick], self.slots)
            faults |= self._ask(commands, len(tick))
            # Whoever begins has begun before own agents were asked.
            begun = replace(commands, episode_start=np.zeros_like(commands.episode_start))
            ticked = self._run(begun, 1)
            rewards += np.where(commands.runs[0], np.asarray(ticked.rewards), 0.0)
        return _Ticked(ticked.actions, ticked.events, jnp.asarray(rewards))

    def _ask(self, commands: _Commands, number_of_commands: int) -> dict[int, str]:
        """Begin the games that begin, and put own agents' answers into their carries.

        Returns the faults by slot.
        """
        if not self._asked:
            return {}
        first: _Commands = jax.tree.map(lambda leaf: leaf[0], commands)
        kinds = tuple(seat.caller.observes for seats in self._asked.values() for seat in seats)
        begun, seen = _begin_and_observe(self.layout, kinds, self._agents, self._slots, first)
        carries = list(begun.carries)
        observations = iter(jax.device_get(seen))
        faults: dict[int, str] = {}
        for number, seats in self._asked.items():
            own = np.asarray(first.runs & (first.agent == number))
            answers = []
            for seat in seats:
                answer = hosting.stays(self.slots)
                seen_here = next(observations)
                try:
                    if number_of_commands:
                        seat.restart(own & np.asarray(first.episode_start))
                        answer = seat.ask(seen_here, own & np.asarray(first.agent_acts))
                except AgentError as error:
                    faults |= dict.fromkeys(np.flatnonzero(own).tolist(), str(error))
                answers.append(answer.T)
            carries[number] = hosting.with_answers(carries[number], answers)
        self._slots = _Slots(begun.states, tuple(carries))
        return faults


def _pick(leaf: Array, rows: Sequence[int]) -> np.ndarray:
    """Some slots of an array, as its first axis."""
    return np.moveaxis(np.asarray(leaf), -1, 0)[list(rows)]


def _pack(ticks: Sequence[Sequence[SlotCommand]], slots: int) -> _Commands:
    """Commands as arrays of a fixed size, so that one program fits all."""
    commands = [command for tick in ticks for command in tick]
    numbers = np.repeat(np.arange(len(ticks)), [len(tick) for tick in ticks])
    rows = np.array([command.slot for command in commands], np.int32)

    def column(name: str, kind: type) -> np.ndarray:
        full = np.zeros((AT_ONCE, slots), kind)
        full[numbers, rows] = [getattr(command, name) for command in commands]
        return full

    actions = np.zeros((AT_ONCE, SEATS, slots), np.int32)
    runs = np.zeros((AT_ONCE, slots), np.bool_)
    if commands:
        actions[numbers, :, rows] = [command.actions for command in commands]
        runs[numbers, rows] = True
    return _Commands(
        actions=actions,
        agent_acts=column("agent_acts", np.bool_),
        agent=column("agent", np.int32),
        seat=column("seat", np.int32),
        seed=column("seed", np.uint32),
        ticks=column("ticks", np.int32),
        episode_start=column("episode_start", np.bool_),
        runs=runs,
    )


def _play(
    layout: Layout,
    agents: tuple[Agent, ...],
    slots: _Slots,
    commands: _Commands,
    ticks: _Scalar,
) -> tuple[_Slots, _Ticked]:
    """Play so many ticks in all slots."""

    def one(number: Int[Array, ""], now: tuple[_Slots, _Ticked]) -> tuple[_Slots, _Ticked]:
        slots, before = now
        own = jax.tree.map(lambda leaf: leaf[number], commands)
        slots, ticked = _tick(layout, agents, slots, own)
        rewards = before.rewards + jnp.where(own.runs, ticked.rewards, 0.0)
        return slots, _Ticked(ticked.actions, ticked.events, rewards)

    # Not a scan: the number of ticks is an argument of the compiled program.
    return jax.lax.fori_loop(0, ticks, one, (slots, _nothing(commands.runs.shape[-1])))


def _nothing(slots: int) -> _Ticked:
    return _Ticked(
        actions=jnp.zeros((SEATS, slots), jnp.int32),
        events=jnp.zeros((SEATS, len(Event), slots), jnp.bool_),
        rewards=jnp.zeros(slots, jnp.float32),
    )


@partial(jax.jit, static_argnums=(0, 1))
def _begin_and_observe(
    layout: Layout,
    kinds: tuple[str, ...],
    agents: tuple[Agent, ...],
    slots: _Slots,
    commands: _Commands,
) -> tuple[_Slots, list[Any]]:
    """The slots with new games begun, and what their agents observe, of each kind."""
    slots = _begin(layout, agents, slots, commands)
    observe = over_kitchens(partial(_as_observed, layout))
    observed = observe(slots.states, commands.seat, commands.ticks)
    return slots, [own_observations(layout, kind, observed) for kind in kinds]


def _begin(layout: Layout, agents: tuple[Agent, ...], slots: _Slots, commands: _Commands) -> _Slots:
    """The slots with new games where they begin."""
    fresh = repeat_kitchens(start(layout), len(commands.runs))
    keys = over_kitchens(_key)(commands.seed, jnp.zeros_like(slots.states.time))
    carries = [
        _where(commands.episode_start, over_kitchens(agent.begin)(keys), carry)
        for agent, carry in zip(agents, slots.carries, strict=True)
    ]
    return _Slots(_where(commands.episode_start, fresh, slots.states), tuple(carries))


def _tick(
    layout: Layout, agents: tuple[Agent, ...], slots: _Slots, commands: _Commands
) -> tuple[_Slots, _Ticked]:
    """One tick of all slots; an agent that no slot asks is not computed."""
    slots = _begin(layout, agents, slots, commands)
    states = slots.states
    observed = over_kitchens(partial(_as_observed, layout))(states, commands.seat, commands.ticks)
    keys = over_kitchens(_key)(commands.seed, states.time + 1)
    chosen = jnp.full(len(commands.runs), int(Action.STAY), jnp.int32)
    carries = []
    for number, agent in enumerate(agents):
        carry = slots.carries[number]
        asked = commands.agent_acts & (commands.agent == number)
        actions, acted = jax.lax.cond(
            asked.any(), partial(_act, agent), _rest, observed, carry, keys
        )
        chosen = jnp.where(asked, actions, chosen)
        carries.append(_where(asked, acted, carry))
    joint = jnp.where(commands.actions == AGENT, chosen, commands.actions)
    transition = step_kitchens(partial(step, layout), states, joint)
    states = _where(commands.runs, transition.next_state, states)
    outcome = transition.outcome
    ticked = _Ticked(joint, outcome.events, rewards=outcome.reward.sum(axis=0))
    return _Slots(states, tuple(carries)), ticked


def _act(
    agent: Agent, observed: State, carry: Carry, keys: Key[Array, " slots"]
) -> tuple[Int[Array, " slots"], Carry]:
    """An agent's action and next carry in every slot; `_as_observed` has put it in seat 0."""

    def one(state: State, own: Carry, key: Key[Array, ""]) -> tuple[Int[Array, ""], Carry]:
        return agent.act(state, 0, own, key)

    return over_kitchens(one)(observed, carry, keys)


def _rest(_: State, carry: Carry, keys: Key[Array, " slots"]) -> tuple[Int[Array, " slots"], Carry]:
    """The same shapes as `_act` without its work."""
    return jnp.zeros(keys.shape, jnp.int32), carry


def _key(seed: _Scalar, number: _Scalar) -> Key[Array, ""]:
    """The random key of a game's beginning (number 0) and of each tick (from 1)."""
    words = jnp.stack([jnp.uint32(0x636F6B65), jnp.asarray(seed, jnp.uint32)])
    return jax.random.fold_in(jax.random.wrap_key_data(words, impl=FAST), number)


def _as_observed(layout: Layout, state: State, seat: _Scalar, ticks: _Scalar) -> State:
    """The state with the agent's chef first, at the time with as many steps left in an episode.

    Agents observe themselves and the other one, not seats, so one program does for both seats. A
    game may be longer than the episodes an agent was trained on; until its last part the agent then
    observes the time of an episode's start.
    """
    chefs = jax.tree.map(lambda leaf: jnp.where(seat == 0, leaf, leaf[::-1]), state.chefs)
    left = jnp.clip(ticks - state.time, 0, layout.horizon)
    return State(chefs, state.pots, state.counters, layout.horizon - left)


def _where(chosen: Bool[Array | np.ndarray, " slots"], new: Any, old: Any) -> Any:  # noqa: ANN401
    """The new tree in the chosen slots, the old one in the others."""
    return jax.tree.map(partial(jnp.where, chosen), new, old)
