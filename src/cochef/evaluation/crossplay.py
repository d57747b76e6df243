"""Any agents with any partners, both seats, many episodes, in one compiled program per kitchen."""

import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

import cochef
from cochef.agents import names, scripted, shipped
from cochef.errors import InputError
from cochef.evaluation.behaviours import OBSERVING, Behaviour, counts
from cochef.evaluation.records import Records, joined
from cochef.kitchen import layouts
from cochef.kitchen.constants import SEATS, Event
from cochef.kitchen.episodes import counted_events
from cochef.kitchen.layout import Layout
from cochef.learning import reward_config
from cochef.rollout import play_episodes

_MOST_KITCHENS = 20_000  # at once; more are played one batch after the other
_LABELLED = re.compile(r"([A-Za-z0-9_.-]+)=(?=[^=])(.+)", re.DOTALL)


@dataclass(frozen=True)
class Player:
    """Somebody to measure: the label in tables, the agent's name, and which training seed of the label it is."""

    label: str
    name: str
    seed: int = 0


def players(texts: Iterable[str]) -> list[Player]:
    """Players from text: NAME, or LABEL=NAME;NAME;... for the training seeds of one method."""
    found: list[Player] = []
    for text in texts:
        match = _LABELLED.fullmatch(text)
        label, rest = match.groups() if match else (text, text)
        found += [Player(label, name, seed) for seed, name in enumerate(rest.split(";"))]
    twice = {(p.label, p.seed) for p in found if sum((q.label, q.seed) == (p.label, p.seed) for q in found) > 1}
    if twice:
        raise InputError(f"label {min(twice)[0]!r} is given twice; give each its own, or LABEL=NAME;NAME for seeds")
    return found


def unseen_partners(layout: Layout) -> list[str]:
    """All the partners of a kitchen that nobody trains with: its scripts, and the human proxy if there is one."""
    proxies = [name for name in shipped.layouts_of("human-proxy") if layouts.is_shipped(layout, name)]
    return [f"script:{name}" for name in scripted.names_for(layout)] + [f"human-proxy:{name}" for name in proxies]


def evaluate(
    layout: Layout,
    agents: Sequence[Player],
    partners: Sequence[Player],
    *,
    episodes: int = 100,
    seed: int = 0,
    greedy: bool = False,
) -> Records:
    """Let every agent play with every partner in both seats; a record of every episode.

    Only the agents can be greedy: the partners stay the people they are.
    """
    measured = [names.load(player.name, layout, greedy=greedy) for player in agents]
    everybody = (*measured, *(names.load(player.name, layout) for player in partners))
    rows = [(a, p, seat) for a in range(len(agents)) for p in range(len(partners)) for seat in range(SEATS)]
    seated = [(a, len(agents) + p) if seat == 0 else (len(agents) + p, a) for a, p, seat in rows]
    at_once = max(1, _MOST_KITCHENS // len(rows))
    parts = []
    for first in range(0, episodes, at_once):
        number = min(at_once, episodes - first)
        matches = tuple((*pair, number) for pair in seated)
        key = jax.random.fold_in(jax.random.key(seed), first)
        seen = jax.device_get(play_episodes(layout, everybody, matches, key, OBSERVING))
        own_seat = np.repeat([seat for *_, seat in rows], number)
        parts.append(
            {
                "agent": np.repeat([agents[a].label for a, _, _ in rows], number),
                "agent_seed": np.repeat([agents[a].seed for a, _, _ in rows], number),
                "partner": np.repeat([partners[p].label for _, p, _ in rows], number),
                "partner_seed": np.repeat([partners[p].seed for _, p, _ in rows], number),
                "seat": own_seat,
                "episode": np.tile(first + np.arange(number), len(rows)),
                **_measured(layout, seen, own_seat),
            }
        )
    return joined([Records(part) for part in parts])


def manifest(
    layout: Layout, agents: Sequence[Player], partners: Sequence[Player], episodes: int, seed: int, *, greedy: bool
) -> dict[str, Any]:
    """What an evaluation was of, to be kept with its records."""
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


def _measured(layout: Layout, seen: Behaviour, own_seat: np.ndarray) -> dict[str, np.ndarray]:
    """Scores, shaped rewards, events and behaviours, of the agent and of its partner."""
    events = np.asarray(seen.tally.events)
    by_chef = {
        "reward": np.asarray(seen.tally.reward),
        "shaped": events @ reward_config.as_vector(reward_config.shipped(layout).adaptive_shaping),
        **{event.label: events[..., event] for event in Event},
        **counts(layout, seen),
    }
    episode = np.arange(len(own_seat))
    columns = {"score": np.asarray(seen.tally.score)}
    for name, column in by_chef.items():
        columns[f"agent_{name}"] = column[episode, own_seat]
        columns[f"partner_{name}"] = column[episode, 1 - own_seat]
    return columns
