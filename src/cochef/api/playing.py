"""Layouts, agents and episodes."""

from pathlib import Path
from typing import Any

import jax

from cochef import runtime
from cochef.agents import names, own
from cochef.agents.agent import Agent
from cochef.kitchen import layouts as registry
from cochef.kitchen.layout import Layout
from cochef.kitchen.layouts import LayoutLike
from cochef.kitchen.metrics import EpisodeTotals
from cochef.kitchen.state import State
from cochef.kitchen.state import start as start_of
from cochef.kitchen.trajectories import Trajectory
from cochef.rollout import Matchup, play_episodes
from cochef.rollout import record as record_episodes
from cochef.validation import whole_number

runtime.keep_compiled_programs_unless_kept()

AgentLike = Any  # a name, a path, an `Agent` or an `OwnAgent`

MAX_EPISODES = 100_000


def layouts() -> tuple[str, ...]:
    """The names of all layouts that ship."""
    return registry.names()


def layout(name: LayoutLike) -> Layout:
    """The layout of a name or of a layout file; a layout itself is returned as it is."""
    return registry.resolve(name)


def load(agent: AgentLike, layout: LayoutLike, *, greedy: bool = False) -> Agent:
    """Load an agent for a layout: by name, path or MODULE:FACTORY, or from an object.

    An object is an `OwnAgent`, or an `Agent` already. MODULE:FACTORY runs code. A greedy agent
    takes its likeliest action instead of sampling.
    """
    place = _layout(layout)
    if isinstance(agent, str | Path):
        return names.load(str(agent), place, greedy=greedy, own_code=True)
    return own.wrap(agent, place, greedy=greedy)


def start(layout: LayoutLike) -> State:
    """The state every episode begins with."""
    return start_of(_layout(layout))


def play(
    layout: LayoutLike, first: AgentLike, second: AgentLike, *, episodes: int = 1, seed: int = 0
) -> EpisodeTotals:
    """Play some episodes at once: the score, and each chef's reward and events, per episode."""
    place = _layout(layout)
    pair = (load(first, place), load(second, place))
    whole_number(episodes, "episodes", 1, MAX_EPISODES)
    key = jax.random.key(seed)
    return jax.device_get(play_episodes(place, pair, (Matchup(0, 1, episodes),), key))


def record(
    layout: LayoutLike, first: AgentLike, second: AgentLike, *, episodes: int = 1, seed: int = 0
) -> Trajectory:
    """Play some episodes at once and keep every step: states, actions and outcomes, time first."""
    place = _layout(layout)
    pair = (load(first, place), load(second, place))
    whole_number(episodes, "episodes", 1, MAX_EPISODES)
    return jax.device_get(record_episodes(place, pair, jax.random.key(seed), episodes))


_layout = layout  # for functions that have an argument of this name
