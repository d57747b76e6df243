"""Playing episodes: the only place that steps kitchens in bulk.

While kitchens are stepped they are the last axis of every array, so that the rules become long vector operations
over kitchens (about twice as fast on a CPU as kitchens first). Results have kitchens before seats.
"""

from functools import partial
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from cochef.agents.agent import Agent
from cochef.kitchen.constants import SEATS, Event
from cochef.kitchen.dynamics import Outcome, step
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State, start
from cochef.pytree import pytree

Pair = tuple[Agent, Agent]
Seen = Any  # a tree of arrays that a watcher carries through an episode


@pytree
class Step:
    """One step of an episode: the state that was acted on, the actions, what they brought about, and the state after."""

    state: State
    actions: Int[Array, "*batch 2"]
    outcome: Outcome
    after: State


@runtime_checkable
class Watcher(Protocol):
    """Looks at every step of an episode; hashable, as compiled programs are specialised to it."""

    def begin(self, layout: Layout) -> Seen:
        """What has been seen before the first step."""
        ...

    def see(self, layout: Layout, seen: Seen, step: Step) -> Seen:
        """What has been seen after one more step."""
        ...


@pytree
class Tally:
    """What an episode came to: each chef's task reward and how often it caused each event."""

    reward: Float[Array, "*kitchens 2"]
    events: Int[Array, "*kitchens 2 events"]

    @property
    def score(self) -> Float[Array, "*kitchens"]:
        """The team's task reward."""
        return self.reward.sum(axis=-1)


class Tallying:
    """Watches the score and the events."""

    def begin(self, layout: Layout) -> Tally:
        """Nothing yet."""
        return Tally(jnp.zeros(SEATS), jnp.zeros((SEATS, len(Event)), jnp.int32))

    def see(self, layout: Layout, seen: Tally, step: Step) -> Tally:
        """One more step."""
        return Tally(seen.reward + step.outcome.reward, seen.events + step.outcome.events)


TALLYING = Tallying()


@pytree
class Recording:
    """Episodes kept whole, time first."""

    states: State  # the last of its T + 1 states is the one after the last action
    actions: Int[Array, "time kitchens 2"]
    outcomes: Outcome

    @property
    def score(self) -> Float[Array, " kitchens"]:
        """The task reward of each episode."""
        return self.outcomes.reward.sum(axis=(0, 2))


@partial(jax.jit, static_argnames=("layout", "kitchens", "watcher"))
def watch(layout: Layout, agents: Pair, key: Key[Array, ""], kitchens: int, watcher: Watcher = TALLYING) -> Seen:
    """Let two agents play an episode in each of some kitchens; what the watcher saw in each, kitchens first."""

    def see(seen: Seen, step: Step) -> tuple[Seen, tuple[()]]:
        return _over_kitchens(partial(watcher.see, layout))(seen, step), ()

    begin = jax.tree.map(partial(_repeat, kitchens), watcher.begin(layout))
    _, seen, _ = _episode(layout, agents, jax.random.split(key, kitchens), begin, see)
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), seen)


@partial(jax.jit, static_argnames=("layout", "kitchens"))
def record(layout: Layout, agents: Pair, key: Key[Array, ""], kitchens: int) -> Recording:
    """Let two agents play an episode in each of some kitchens, and keep every step."""
    last, _, steps = _episode(layout, agents, jax.random.split(key, kitchens), (), lambda seen, step: (seen, step))
    states = jax.tree.map(lambda many, one: jnp.concatenate([many, one[None]]), steps.state, last)
    kept = (states, steps.actions, steps.outcome)
    return Recording(*jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 1), kept))


def _repeat(kitchens: int, leaf: Array) -> Array:
    return jnp.repeat(leaf[..., None], kitchens, axis=-1)


def _over_kitchens(function: Any) -> Any:  # noqa: ANN401
    return jax.vmap(function, in_axes=-1, out_axes=-1)


def _episode(layout: Layout, agents: Pair, keys: Key[Array, " kitchens"], seen: Seen, see: Any) -> Any:  # noqa: ANN401
    """Play to the horizon; the last states, what was seen, and what `see` kept of each step."""

    @_over_kitchens
    def begin(key: Key[Array, ""]) -> Any:  # noqa: ANN401
        return tuple(agent.begin(jax.random.fold_in(key, seat)) for seat, agent in enumerate(agents))

    @_over_kitchens
    def act(key: Key[Array, ""], state: State, memories: Any) -> tuple[Step, Any]:  # noqa: ANN401
        # Keys 0 and 1 began the episode; every step and seat after that has its own.
        keys = [jax.random.fold_in(key, SEATS * (state.time + 1) + seat) for seat in range(SEATS)]
        acted = [agents[seat].act(state, seat, memories[seat], keys[seat]) for seat in range(SEATS)]
        actions = jnp.stack([action for action, _ in acted])
        after, outcome = step(layout, state, actions)
        return Step(state, actions, outcome, after), tuple(memory for _, memory in acted)

    def tick(carry: tuple, _: None) -> tuple[tuple, Any]:
        state, memories, seen = carry
        now, memories = act(keys, state, memories)
        seen, kept = see(seen, now)
        return (now.after, memories, seen), kept

    states = jax.tree.map(partial(_repeat, keys.shape[0]), start(layout))
    (last, _, seen), kept = jax.lax.scan(tick, (states, begin(keys), seen), length=layout.horizon)
    return last, seen, kept
