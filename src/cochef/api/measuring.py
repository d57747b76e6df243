"""Evaluations of agents with partners."""

from collections.abc import Mapping, Sequence
from pathlib import Path

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
    """
    place = to_layout(layout)
    whole_number(episodes, "episodes", 1, MAX_EPISODES)
    if partners is None:
        partners = crossplay.unseen_partners(place)
    return crossplay.evaluate(
        place,
        _players(agents, place, greedy),
        _players(partners, place, greedy=False),
        episodes=episodes,
        seed=seed,
    )


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
        Player(label, _label(agent), agent=load(agent, layout, greedy=greedy))
        for label, agent in labelled.items()
    ]


def _label(agent: AgentLike) -> str:
    return str(agent) if isinstance(agent, str | Path) else type(agent).__name__
