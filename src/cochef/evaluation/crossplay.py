"""Cross-play: agents with partners in both seats, many episodes in one compiled program."""

import itertools
import platform
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

import cochef
from cochef.agents import names, scripted, shipped
from cochef.errors import InputError
from cochef.evaluation.behaviours import BEHAVIOUR, EpisodeBehaviour, counts
from cochef.evaluation.records import Records, joined
from cochef.kitchen import layouts
from cochef.kitchen.constants import SEATS
from cochef.kitchen.events import Event, counted_events
from cochef.kitchen.layout import Layout
from cochef.learning import reward_config
from cochef.rollout import Matchup, play_episodes

_MOST_KITCHENS = 20_000  # at once; more are played one batch after the other
_LABELLED = re.compile(r"([A-Za-z0-9_.-]+)=(?=[^=])(.+)", re.DOTALL)


@dataclass(frozen=True)
class Player:
    """An agent or partner of an evaluation."""

    label: str  # in tables
    name: str  # for the loader
    seed: int = 0  # which training seed of the label it is


def players(texts: Iterable[str]) -> list[Player]:
    """Players from text: NAME, or LABEL=NAME;NAME;... for the training seeds of one method."""
    found: list[Player] = []
    for text in texts:
        match = _LABELLED.fullmatch(text)
        label, rest = match.groups() if match else (text, text)
        found += [Player(label, name, seed) for seed, name in enumerate(rest.split(";"))]
    times = Counter((player.label, player.seed) for player in found)
    repeated = [label for (label, _), number in times.items() if number > 1]
    if repeated:
        raise InputError(
            f"label {min(repeated)!r} is given twice; "
            "give each its own, or LABEL=NAME;NAME for seeds"
        )
    return found


def unseen_partners(layout: Layout) -> list[str]:
    """The partners of a layout that nobody trains with: its scripts, and its human proxy."""
    scripts = [f"script:{name}" for name in scripted.names_for(layout)]
    proxies = [
        f"human-proxy:{name}"
        for name in shipped.layouts_of("human-proxy")
        if layouts.is_shipped(layout, name)
    ]
    return scripts + proxies


def evaluate(
    layout: Layout,
    agents: Sequence[Player],
    partners: Sequence[Player],
    *,
    episodes: int = 100,
    seed: int = 0,
    greedy: bool = False,
) -> Records:
    """Let every agent play with every partner in both seats; a record for each episode.

    Only the agents can be greedy: partners always sample their actions.
    """
    loaded = [names.load(player.name, layout, greedy=greedy) for player in agents]
    loaded += [names.load(player.name, layout) for player in partners]
    rows = list(itertools.product(range(len(agents)), range(len(partners)), range(SEATS)))
    at_once = max(1, _MOST_KITCHENS // len(rows))
    parts = []
    for first in range(0, episodes, at_once):
        number = min(at_once, episodes - first)
        matchups = tuple(
            _matchup(agent, len(agents) + partner, seat, number) for agent, partner, seat in rows
        )
        key = jax.random.fold_in(jax.random.key(seed), first)
        played = jax.device_get(play_episodes(layout, tuple(loaded), matchups, key, BEHAVIOUR))
        own_seat = np.repeat([seat for _, _, seat in rows], number)
        columns = {
            "agent": np.repeat([agents[agent].label for agent, _, _ in rows], number),
            "agent_seed": np.repeat([agents[agent].seed for agent, _, _ in rows], number),
            "partner": np.repeat([partners[partner].label for _, partner, _ in rows], number),
            "partner_seed": np.repeat([partners[partner].seed for _, partner, _ in rows], number),
            "seat": own_seat,
            "episode": np.tile(first + np.arange(number), len(rows)),
        }
        parts.append(Records(columns | _measurements(layout, played, own_seat)))
    return joined(parts)


def _matchup(agent: int, partner: int, seat: int, episodes: int) -> Matchup:
    first, second = (agent, partner) if seat == 0 else (partner, agent)
    return Matchup(first, second, episodes)


def manifest(
    layout: Layout,
    agents: Sequence[Player],
    partners: Sequence[Player],
    episodes: int,
    seed: int,
    *,
    greedy: bool,
) -> dict[str, Any]:
    """What was evaluated and how, for the manifest of the records."""
    return {
        "layout": layout.name,
        "fingerprint": layout.fingerprint,
        "horizon": layout.horizon,
        "compared_events": [event.label for event in counted_events(layout)],
        "agents": [vars(player) for player in agents],
        "partners": [vars(player) for player in partners],
        "episodes_per_pair_and_seat": episodes,
        "seed": seed,
        "greedy": greedy,
        "cochef": cochef.__version__,
        "python": platform.python_version(),
    }


def _measurements(
    layout: Layout, played: EpisodeBehaviour, own_seat: np.ndarray
) -> dict[str, np.ndarray]:
    """Scores, shaped rewards, events and behaviours, of the agent and of its partner."""
    events = np.asarray(played.totals.events)
    shaping = reward_config.as_vector(reward_config.shipped(layout).adaptive_shaping)
    by_chef = {
        "reward": np.asarray(played.totals.reward),
        "shaped": events @ shaping,
        **{event.label: events[..., event] for event in Event},
        **counts(layout, played),
    }
    episode = np.arange(len(own_seat))
    columns = {"score": np.asarray(played.totals.score)}
    for name, column in by_chef.items():
        columns[f"agent_{name}"] = column[episode, own_seat]
        columns[f"partner_{name}"] = column[episode, 1 - own_seat]
    return columns
