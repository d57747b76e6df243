"""A stored game as the page's player shows it: every state, with its events and score."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.dynamics import Outcome, step
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State, start
from cochef.kitchen.text import each_to_json, event_names, to_json
from cochef.web import art

_BLOCK = 400  # lengths are padded to a multiple of it, so that a kitchen is compiled once


def film(layout: Layout, actions: Int[np.ndarray, "ticks 2"], seat: int) -> dict[str, Any]:
    """The kitchen and all moments of a game: the first is its start."""
    ticks = len(actions)
    padded = np.full((-(-max(ticks, 1) // _BLOCK) * _BLOCK, SEATS), Action.STAY, np.int32)
    padded[:ticks] = actions
    states, outcomes = jax.device_get(_play(layout, jnp.asarray(padded)))
    scores = np.cumsum(outcomes.reward.sum(axis=-1))
    moments = [{"t": 0, "state": to_json(layout, start(layout)), "score": 0.0, "events": [[], []]}]
    for tick, state in zip(range(ticks), each_to_json(layout, states), strict=False):
        events = [event_names(chef) for chef in outcomes.events[tick]]
        moments.append({"t": tick + 1, "state": state, "score": float(scores[tick]), "events": events})
    return {"kitchen": art.describe(layout), "seat": seat, "moments": moments}


@partial(jax.jit, static_argnames="layout")
def _play(layout: Layout, actions: Int[Array, "time 2"]) -> tuple[State, Outcome]:
    def tick(state: State, joint: Int[Array, "2"]) -> tuple[State, tuple[State, Outcome]]:
        after, outcome = step(layout, state, joint)
        return after, (after, outcome)

    return jax.lax.scan(tick, start(layout), actions)[1]
