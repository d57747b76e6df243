"""What own agents observe: kitchens first, and always with the agent's own chef first."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from cochef.kitchen import observation
from cochef.kitchen.features import features
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State, seen_from, start
from cochef.kitchen.stepping import over_kitchens, repeat_kitchens

OBSERVATIONS = ("grid", "compact", "features", "state")


def own_observations(layout: Layout, kind: str, states: State) -> Any:  # noqa: ANN401
    """What chef 0 observes in many kitchens: they are the last axis of `states`, and come first."""
    match kind:
        case "grid":
            seen = observation.grid(layout, states)[0]
        case "compact":
            seen = observation.compact(layout, states)[0]
        case "features":
            seen = over_kitchens(partial(features, layout))(states)[0]
        case _:
            seen = states
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), seen)


@partial(jax.jit, static_argnums=(0, 1))
def observe_seats(
    layout: Layout, kind: str, states: State, seats: Int[Array | np.ndarray, " kitchens"]
) -> Any:  # noqa: ANN401
    """What the chefs in these seats observe, one in each kitchen."""
    return own_observations(layout, kind, over_kitchens(seen_from)(states, seats))


def own_start(layout: Layout, kind: str) -> Any:  # noqa: ANN401
    """What is observed at the start of an episode, in a single kitchen."""
    states = repeat_kitchens(start(layout), 1)
    seen = observe_seats(layout, kind, states, np.zeros(1, np.int32))
    return jax.tree.map(np.array, seen)  # copies: PyTorch warns of arrays that are read-only
