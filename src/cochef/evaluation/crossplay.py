"""Cross-play: agents with partners in both seats, many episodes in one compiled program."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from cochef import provenance
from cochef.agents import hosting, names, scripted, shipped, storage
from cochef.agents.agent import Agent
from cochef.agents.hosting import AgentError
from cochef.errors import InputError
from cochef.evaluation.behaviours import BEHAVIOUR, EpisodeBehaviour, counts
from cochef.evaluation.records import Records, joined
from cochef.kitchen import layouts
from cochef.kitchen.constants import SEATS
from cochef.kitchen.events import Event, counted_events
from cochef.kitchen.layout import Layout
from cochef.learning import reward_config
from cochef.rollout import Failures, Matchup, play_episodes

_MOST_KITCHENS = 20_000  # at once; more are played one batch after the other
_LABELLED = re.compile(r"([A-Za-z0-9_.-]+)=(?=[^=])(.+)", re.DOTALL)


@dataclass(frozen=True)
class Player:
    """An agent or partner of an evaluation."""

    label: str  # in tables
    name: str  # for the loader
    seed: int = 0  # which training seed of the label it is
    population: int = 0  # the seed of the run that made it
    agent: Agent | None = None  # itself, if it has been loaded


def players(texts: Iterable[str]) -> list[Player]:
    """Players from text: NAME, or LABEL=NAME;NAME;... for the training seeds of one method."""
    found: list[Player] = []
    for text in texts:
        match = _LABELLED.fullmatch(text)
        label, rest = match.groups() if match else (text, text)
        found += _of_label(label, rest.split(";"))
    times = Counter((player.label, player.seed) for player in found)
    repeated = [label for (label, _), number in times.items() if number > 1]
    if repeated:
        raise InputError(
            f"label {min(repeated)!r} is given twice; "
            "give each its own, or LABEL=NAME;NAME for seeds"
        )
    return found


def _of_label(label: str, own: Sequence[str]) -> list[Player]:
    """The training seeds of a method; agent files say from which run they are."""
    runs = [_run_seed(name) for name in own]
    known = [seed for seed in runs if seed is not None]
    if len(known) < len(own):
        known = [0] * len(own)
    return [
        Player(label, name, number, population)
        for number, (name, population) in enumerate(zip(own, known, strict=True))
    ]


def _run_seed(name: str) -> int | None:
    """The seed of the run that made an agent, if it is from one file that says so."""
    paths = [] if names.runs_code(name) else names.files(name)
    if len(paths) != 1:
        return None
    card, _ = storage.read(paths[0])
    seed = card.metadata.get("seed")
    return seed if type(seed) is int else None


def unseen_partners(layout: Layout) -> list[str]:
    """The partners of a layout that nobody trains with: its scripts, and its human models."""
    scripts = [f"script:{name}" for name in scripted.names_for(layout)]
    return scripts + human_models(layout)


def human_models(layout: Layout) -> list[str]:
    """The clones of a layout that agents are evaluated with: our proxy, and those of 2019."""
    return [
        f"{kind}:{name}"
        for kind in shipped.EVALUATION_CLONES
        for name in shipped.layouts_of(kind)
        if layouts.is_shipped(layout, name)
    ]


def load_players(
    found: Sequence[Player], layout: Layout, *, greedy: bool = False, own_code: bool = False
) -> list[Player]:
    """The players with their agents; `own_code` as for `names.load`."""

    def loaded(player: Player) -> Player:
        if player.agent is not None:
            return player
        agent = names.load(player.name, layout, greedy=greedy, own_code=own_code)
        return replace(player, agent=agent)

    return [loaded(player) for player in found]


def evaluate(
    layout: Layout,
    agents: Sequence[Player],
    partners: Sequence[Player],
    *,
    episodes: int = 100,
    seed: int = 0,
    greedy: bool = False,
    failures: dict[str, AgentError] | None = None,
) -> Records:
    """Let every agent play with every partner in both seats; a record for each episode.

    Only the agents can be greedy: partners always sample their actions. An own agent at fault
    raises an `AgentError`. With `failures`, its error goes there by its name, and the records are
    those of the others; the error is only raised if nothing is left.
    """
    loaded = _agents(load_players(agents, layout, greedy=greedy))
    loaded += _agents(load_players(partners, layout))
    failed: Failures = {}
    rows = list(itertools.product(range(len(agents)), range(len(partners)), range(SEATS)))
    at_once = max(1, _MOST_KITCHENS // len(rows))
    parts = []
    for first in range(0, episodes, at_once):
        number = min(at_once, episodes - first)
        matchups = tuple(
            _matchup(agent, len(agents) + partner, seat, number) for agent, partner, seat in rows
        )
        key = jax.random.fold_in(jax.random.key(seed), first)
        played = jax.device_get(
            play_episodes(
                layout,
                tuple(loaded),
                matchups,
                key,
                BEHAVIOUR,
                failures=None if failures is None else failed,
            )
        )
        columns = {
            **_who_plays([(agents[agent], partners[partner]) for agent, partner, _ in rows]),
            "seat": np.array([seat for _, _, seat in rows]),
        }
        columns = {name: np.repeat(column, number) for name, column in columns.items()}
        columns["episode"] = np.tile(first + np.arange(number), len(rows))
        parts.append(Records(columns | _measurements(layout, played, columns["seat"])))
    found = joined(parts)
    if failures is None or not failed:
        return found
    failures |= {caller.name: error for caller, error in failed.items()}
    kept = ~(
        _rows_of(found, "agent", _at_fault(agents, loaded[: len(agents)], failed))
        | _rows_of(found, "partner", _at_fault(partners, loaded[len(agents) :], failed))
    )
    if not kept.any():
        raise next(iter(failed.values()))
    return found.where(kept)


def _at_fault(found: Sequence[Player], loaded: Sequence[Agent], failed: Failures) -> list[Player]:
    """The players whose agents have failed."""
    return [
        player
        for player, agent in zip(found, loaded, strict=True)
        if not failed.keys().isdisjoint(hosting.callers(agent))
    ]


def _rows_of(found: Records, who: str, players: Sequence[Player]) -> np.ndarray:
    """Which rows are of some agents or partners."""
    rows = np.zeros(len(found), bool)
    for player in players:
        rows |= (found[who] == player.label) & (found[f"{who}_seed"] == player.seed)
    return rows


def _agents(found: Sequence[Player]) -> list[Agent]:
    return [player.agent for player in found if player.agent is not None]


def _who_plays(pairs: Sequence[tuple[Player, Player]]) -> dict[str, np.ndarray]:
    """Columns that say who an agent and a partner are, a row for each pair."""
    return {
        "agent": np.array([agent.label for agent, _ in pairs]),
        "population_seed": np.array([agent.population for agent, _ in pairs]),
        "agent_seed": np.array([agent.seed for agent, _ in pairs]),
        "partner": np.array([partner.label for _, partner in pairs]),
        "partner_seed": np.array([partner.seed for _, partner in pairs]),
    }


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
        "agents": list(map(_described, agents)),
        "partners": list(map(_described, partners)),
        "episodes_per_pair_and_seat": episodes,
        "seed": seed,
        "greedy": greedy,
        "versions": provenance.versions(),
        "commit": provenance.commit(),
    }


def _described(player: Player) -> dict[str, Any]:
    """A player for the manifest, with the checksums of the files that it was loaded from."""
    described = {name: value for name, value in vars(player).items() if name != "agent"}
    return {**described, "sha256": names.checksums(player.name)}


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
