"""Evaluations of agents with partners."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from cochef.agents import own
from cochef.agents.agent import Agent
from cochef.agents.hosting import AgentError, AgentThread
from cochef.api.playing import MAX_EPISODES, AgentLike, LayoutLike, load
from cochef.api.playing import layout as to_layout
from cochef.errors import InputError
from cochef.evaluation import crossplay
from cochef.evaluation.crossplay import Player
from cochef.evaluation.records import Records
from cochef.kitchen.layout import Layout
from cochef.validation import whole_number


def partners(layout: LayoutLike) -> list[str]:
    """The partners of a layout that nobody trains with: its scripts, and its human proxy."""
    return crossplay.unseen_partners(to_layout(layout))


def evaluate(
    layout: LayoutLike,
    agents: AgentLike | Sequence[AgentLike] | Mapping[str, AgentLike],
    partners: AgentLike | Sequence[AgentLike] | Mapping[str, AgentLike] | None = None,
    *,
    episodes: int = 100,
    seed: int = 0,
    greedy: bool = False,
) -> Records:
    """Let every agent play with every partner in both seats: a record for each episode.

    A mapping gives agents their labels. Without partners, they are the layout's (see `partners`).
    An own agent that fails is named by a warning, and its episodes are left out; if nothing else
    is left, its error is raised.
    """
    place = to_layout(layout)
    whole_number(episodes, "episodes", 1, MAX_EPISODES)
    if partners is None:
        partners = crossplay.unseen_partners(place)
    failures: dict[str, AgentError] = {}
    records = crossplay.evaluate(
        place,
        _players(agents, place, greedy),
        _players(partners, place, greedy=False),
        episodes=episodes,
        seed=seed,
        failures=failures,
    )
    for error in failures.values():
        warnings.warn(f"{error}; its episodes are left out", stacklevel=2)
    return records


def _players(
    agents: AgentLike | Sequence[AgentLike] | Mapping[str, AgentLike], layout: Layout, greedy: bool
) -> list[Player]:
    """Agents as players of an evaluation, loaded; their labels are given, or follow from them."""
    if isinstance(agents, Mapping):
        labelled = dict(agents)
    else:
        every = list(agents) if isinstance(agents, list | tuple) else [agents]
        labelled = {_label(agent): agent for agent in every}
        if len(labelled) < len(every):
            raise InputError("two agents with the same name; give labels, as {label: agent}")
    if not labelled:
        raise InputError("no agents; give at least one, such as 'script:delivery'")
    return [
        Player(label, _label(agent), agent=_loaded(label, agent, layout, greedy))
        for label, agent in labelled.items()
    ]


def _loaded(label: str, agent: AgentLike, layout: Layout, greedy: bool) -> Agent:
    """An agent; what goes wrong with an object is told by its label."""
    if isinstance(agent, str | Path):
        return load(agent, layout, greedy=greedy)
    return own.wrap(agent, layout, AgentThread(label), greedy=greedy)


def _label(agent: AgentLike) -> str:
    return str(agent) if isinstance(agent, str | Path) else type(agent).__name__
