"""Recorded actions played again: several episodes of different lengths at once.

Episodes are padded with steps in which nobody moves, in time and in number, so that a layout
compiles once for all lengths that round up to the same multiple of `_STEPS`.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Integer

from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.dynamics import Outcome, step
from cochef.kitchen.layout import Layout
from cochef.kitchen.metrics import TOTALS, Measured, Metric
from cochef.kitchen.state import State, start
from cochef.kitchen.stepping import KitchenLoop, Transition, over_kitchens, repeat_kitchens
from cochef.kitchen.trajectories import Trajectory

_STEPS = 128  # lengths are rounded up to a multiple of this
_EPISODES = 32  # that are played at once; more are played batch after batch


class RecordedActions(NamedTuple):
    """The joint actions of an episode, and the state it began in (None: the layout's own start)."""

    actions: Integer[np.ndarray, "time 2"]
    start: State | None = None


def replay(layout: Layout, episodes: Sequence[RecordedActions]) -> list[Trajectory]:
    """Play episodes again and keep every step; each trajectory has its own episode's length."""
    found = []
    for batch in _batches(layout, episodes):
        states, outcomes = jax.device_get(_record(layout, batch.starts, batch.actions))
        for number, episode in enumerate(batch.episodes):
            own_states, own_outcomes = _of_kitchen((states, outcomes), number)
            padded = Trajectory(own_states, batch.actions[..., number], own_outcomes)
            found.append(padded.first(len(episode.actions)))
    return found


def measure_replays(
    layout: Layout, episodes: Sequence[RecordedActions], metric: Metric = TOTALS
) -> list[Measured]:
    """Play episodes again; what the metric measures of each."""
    found = []
    for batch in _batches(layout, episodes):
        lengths = np.zeros(_EPISODES, np.int32)
        lengths[: len(batch.episodes)] = [len(episode.actions) for episode in batch.episodes]
        measured = jax.device_get(_measure(layout, metric, batch.starts, batch.actions, lengths))
        found += [_of_kitchen(measured, number) for number in range(len(batch.episodes))]
    return found


class _Batch(NamedTuple):
    """Episodes that are played together, and their padded arrays."""

    episodes: Sequence[RecordedActions]
    starts: State  # kitchens last
    actions: Int[np.ndarray, "time 2 kitchens"]


def _batches(layout: Layout, episodes: Sequence[RecordedActions]) -> Iterator[_Batch]:
    for first in range(0, len(episodes), _EPISODES):
        chosen = episodes[first : first + _EPISODES]
        longest = max(len(episode.actions) for episode in chosen)
        # One step more than the longest episode has: its last state is then among those acted on.
        steps = _STEPS * (longest // _STEPS + 1)
        actions = np.full((steps, SEATS, _EPISODES), Action.STAY, np.int32)
        starts = [start(layout)] * _EPISODES
        for number, episode in enumerate(chosen):
            actions[: len(episode.actions), :, number] = episode.actions
            starts[number] = starts[number] if episode.start is None else episode.start
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves, axis=-1), *starts)
        yield _Batch(chosen, stacked, actions)


def _of_kitchen(tree: Any, number: int) -> Any:  # noqa: ANN401
    return jax.tree.map(lambda leaf: leaf[..., number], tree)


@partial(jax.jit, static_argnames="layout")
def _record(
    layout: Layout, starts: State, actions: Int[Array, "time 2 kitchens"]
) -> tuple[State, Outcome]:
    """The states that were acted on, and what each joint action brought about."""

    def keep(
        folded: tuple[()], transition: Transition, _: Int[Array, ""]
    ) -> tuple[tuple[()], tuple[State, Outcome]]:
        return folded, (transition.state, transition.outcome)

    return _play(layout, starts, actions, keep, ())[1]


@partial(jax.jit, static_argnames=("layout", "metric"))
def _measure(
    layout: Layout,
    metric: Metric,
    starts: State,
    actions: Int[Array, "time 2 kitchens"],
    lengths: Int[Array, " kitchens"],
) -> Measured:
    """What the metric measures of each episode up to its length."""

    def update(
        measured: Measured, transition: Transition, number: Int[Array, ""]
    ) -> tuple[Measured, tuple[()]]:
        after = over_kitchens(partial(metric.update, layout))(measured, transition)
        is_played = number < lengths
        return jax.tree.map(partial(jnp.where, is_played), after, measured), ()

    begin = repeat_kitchens(metric.begin(layout), actions.shape[-1])
    return _play(layout, starts, actions, update, begin)[0]


def _play(
    layout: Layout,
    starts: State,
    actions: Int[Array, "time 2 kitchens"],
    fold: Any,  # noqa: ANN401
    begin: Any,  # noqa: ANN401
) -> tuple[Any, Any]:
    """Play the actions; the folded value at the end, and what `fold` kept of each step."""

    def choose(
        states: State, players: tuple[()], number: Int[Array, ""]
    ) -> tuple[Int[Array, "2 kitchens"], tuple[()], Int[Array, ""]]:
        return actions[number], players, number

    loop = KitchenLoop(partial(step, layout), choose, fold)
    (_, _, folded), kept = loop.scan((starts, (), begin), len(actions))
    return folded, kept
