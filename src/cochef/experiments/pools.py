"""From populations on disk to pools on disk, chosen by a method's pool rule."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from cochef.agents import actor_critic, pool, storage
from cochef.agents.networks import Network
from cochef.agents.pool import Member, PoolFiles, StoredAgent
from cochef.errors import InputError
from cochef.evaluation import plots, preferences
from cochef.evaluation.preferences import PairCounts
from cochef.files import read_table, write_json
from cochef.kitchen import layouts
from cochef.kitchen.events import Event, counted_events, event_distances
from cochef.kitchen.layout import Layout
from cochef.learning import runs, snapshots
from cochef.learning.reward_config import ORDER
from cochef.learning.snapshots import Snapshot
from cochef.methods.parts.pools import PoolChoice, TrainedPopulation, event_diversity
from cochef.methods.parts.transfer import parent_members
from cochef.rollout import Matchup, play_episodes

FILTER = "filter.json"
PICTURE = "filter.png"
MAX_BYTES = 16 * 1024**2
NEAR = 0.1  # policies nearer than this share of the median distance are near-duplicates

EPISODES = 50  # that an agent file plays with itself before it joins a pool

_DIGITS = 4  # of event counts


@dataclass(frozen=True)
class PopulationFiles:
    """A trained population in the directory of its run."""

    directory: Path
    layout: Layout
    episodes: int = 100
    """Episodes in either seat for event counts."""
    seed: int = 0

    @cached_property
    def snapshots(self) -> list[Snapshot]:
        """All snapshots, the earliest first."""
        return snapshots.read(self.directory / runs.SNAPSHOTS)

    @cached_property
    def counts(self) -> PairCounts:
        """Event counts of each member's first learner in episodes with the second."""
        pairs = preferences.read_pairs(self.directory, self.layout)
        return preferences.event_counts(self.layout, pairs.agents, self.seed, self.episodes)

    @property
    def was_counted(self) -> bool:
        """Whether a pool rule has used the event counts, as HSP's filter does."""
        return "counts" in vars(self)

    @property
    def hidden_rewards(self) -> list[Mapping[str, float]] | None:
        """The weights of each member's hidden reward, if there are any."""
        return runs.read_config(self.directory).get("hidden_rewards")

    @property
    def trained(self) -> TrainedPopulation:
        """What a pool rule may look at."""
        returns = np.array([snapshot.returns for snapshot in self.snapshots])
        events = list(counted_events(self.layout))
        return TrainedPopulation(returns, lambda: self.counts.events[:, events])

    @property
    def source(self) -> str:
        """An identifier of its run: the first digits of its configuration's checksum."""
        text = json.dumps(runs.read_config(self.directory), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def parents(self, number: int) -> Network:
        """So many final policies, [number]: see `transfer.parent_members`."""
        last = self.snapshots[-1]
        networks = [
            snapshots.load(last.path, self.layout, member).network
            for member in parent_members(np.array(last.returns), number)
        ]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *networks)

    def policy(self, choice: PoolChoice) -> tuple[Member, StoredAgent]:
        """The metadata of a chosen policy, and its agent."""
        snapshot = self.snapshots[choice.snapshot]
        member = choice.member
        name = f"{choice.population}-{member:02}"
        hidden = self.hidden_rewards
        if self.was_counted:
            task_return = float(self.counts.task_return[member])
            by_event = self.counts.events[member]
            events = counted_events(self.layout)
        else:
            name = f"{name}-{choice.level}"
            task_return = snapshot.returns[member]
            by_event = np.mean(snapshot.events[member], axis=0)
            events = tuple(Event)
        described = Member(
            name=name,
            population=choice.population,
            run=self.source,
            member=member,
            level=choice.level,
            task_return=task_return,
            events=_rounded(by_event, events),
            hidden_reward=None if hidden is None else dict(hidden[member]),
        )
        return described, snapshots.extract(snapshot.path, self.layout, member)


@dataclass(frozen=True)
class Filter:
    """Which policies of a population the filter kept, and the event counts it compared."""

    layout: str
    events: tuple[str, ...]
    hidden_rewards: tuple[Mapping[str, float], ...]
    counts: Float[np.ndarray, "policies events"]  # mean of an episode
    task_returns: Float[np.ndarray, " policies"]  # mean of an episode with its partner
    chosen: tuple[int, ...]  # in the order of choice

    @property
    def diversity(self) -> float:
        """The event diversity of the policies that were kept."""
        return event_diversity(self.counts, np.array(self.chosen))

    @property
    def near_duplicates(self) -> int:
        """How many of the kept policies are nearly the same as one kept before them."""
        distances = event_distances(self.counts)
        pairs = distances[np.triu_indices(len(distances), 1)]
        near = NEAR * float(np.median(pairs)) if len(pairs) else 0.0
        kept = distances[np.ix_(self.chosen, self.chosen)]
        return int(sum((kept[row, :row] < near).any() for row in range(1, len(kept))))

    def as_table(self) -> dict[str, Any]:
        """Fit for JSON."""
        arrays = {"counts": self.counts.tolist(), "task_returns": self.task_returns.tolist()}
        derived = {"diversity": self.diversity, "near_duplicates": self.near_duplicates}
        return {**vars(self), **arrays, **derived}


def write(
    directory: Path,
    layout: Layout,
    populations: Mapping[str, PopulationFiles],
    choices: Sequence[PoolChoice],
) -> PoolFiles:
    """Copy the chosen policies into a pool, with the filter's result, if there was one."""
    for name, files in populations.items():
        if files.was_counted:
            chosen = tuple(choice.member for choice in choices if choice.population == name)
            _write_filter(directory, files, chosen)
    members = [populations[choice.population].policy(choice) for choice in choices]
    return pool.write(directory, layout, members)


def _write_filter(directory: Path, files: PopulationFiles, chosen: tuple[int, ...]) -> None:
    events = counted_events(files.layout)
    found = Filter(
        layout=files.layout.name,
        events=tuple(event.label for event in events),
        hidden_rewards=tuple(files.hidden_rewards or ()),
        counts=files.counts.events[:, list(events)],
        task_returns=files.counts.task_return,
        chosen=chosen,
    )
    write_json(directory / FILTER, found.as_table())
    picture = plots.event_space(
        found.counts, found.events, found.hidden_rewards, chosen, files.layout.name
    )
    plots.save(picture, directory / PICTURE)


def make(
    directory: Path,
    sources: Sequence[Path],
    layout: Layout | None = None,
    episodes: int = EPISODES,
) -> PoolFiles:
    """Write a pool of everybody in some pools and finished runs, and of agent files.

    Equal names get a number. What is known about policies of pools is kept; the others play with
    themselves, which gives their returns and events.
    """
    if (directory / pool.INDEX).exists():
        raise InputError(f"{directory}: a pool already; give another directory")
    found: list[tuple[Member, StoredAgent]] = []
    files: list[Path] = []
    taken: set[str] = set()
    for source in sources:
        if (source / pool.INDEX).exists():
            policies = pool.read(source, layout)
            layout = policies.layout
            for member in policies.members:
                name = pool.distinct_name(member.name, taken)
                found.append((replace(member, name=name), policies.read(member)))
        elif source.is_dir():
            files += _agents_of_run(source)
        else:
            files.append(source if source.is_file() else Path(f"{source}{storage.SUFFIX}"))
    for path in files:
        own, _ = storage.read(path)
        layout = layout or layouts.get(own.layout)
    if layout is None:
        raise InputError("nobody for a pool; give pools, runs or agent files")
    found += _from_files(files, layout, taken, episodes)
    return pool.write(directory, layout, found)


def _agents_of_run(directory: Path) -> list[Path]:
    found = sorted((directory / runs.AGENTS).glob(f"*{storage.SUFFIX}"))
    if not found:
        raise InputError(
            f"{directory}: neither a pool nor a finished run; give one, or agent files"
        )
    return found


def _from_files(
    paths: Sequence[Path], layout: Layout, taken: set[str], episodes: int
) -> list[tuple[Member, StoredAgent]]:
    """Trained policies of agent files as members of a pool, with what they do in self-play."""
    if not paths:
        return []
    stored = []
    agents = []
    for path in paths:
        found = storage.read_kind(path, actor_critic.KIND, layout, pool.TAKES)
        stored.append(found)
        agents.append(actor_critic.build(*found, layout, path, greedy=False))
    matchups = tuple(Matchup(number, number, episodes) for number in range(len(agents)))
    totals = jax.device_get(play_episodes(layout, tuple(agents), matchups, jax.random.key(0)))
    members = []
    for number, (path, (card, tensors)) in enumerate(zip(paths, stored, strict=True)):
        played = slice(number * episodes, (number + 1) * episodes)
        counts = totals.events[played].mean(axis=(0, 1))
        metadata = card.metadata
        hidden = metadata.get("hidden_reward")
        described = Member(
            name=pool.distinct_name(_file_name(path), taken),
            population=str(metadata.get("population", "file")),
            run=storage.checksum(card, tensors)[:12],
            member=int(metadata.get("member", 0)),
            level="final",
            task_return=float(totals.score[played].mean()),
            events=_rounded(counts, Event),
            hidden_reward=dict(hidden) if isinstance(hidden, Mapping) else None,
        )
        members.append((described, (card, tensors)))
    return members


def _rounded(counts: np.ndarray, events: Iterable[Event]) -> dict[str, float]:
    """The counts of those events that happened, by name."""
    return {event.label: round(float(counts[event]), _DIGITS) for event in events if counts[event]}


def _file_name(path: Path) -> str:
    """A name for the agent of a file; those in runs have only numbers."""
    in_run = path.parent.name == runs.AGENTS
    return f"{path.parent.parent.name}-{path.stem}" if in_run else path.stem


def read_filter(directory: Path) -> dict[str, Any] | None:
    """The result of a pool's filter, if it has one."""
    path = directory / FILTER
    if not path.exists():
        return None
    remedy = "delete its directory, and the job is done again"
    found = read_table(path, MAX_BYTES, "the result of a filter", remedy)
    missing = {"events", "counts", "chosen", "diversity", "near_duplicates"} - found.keys()
    if missing:
        raise InputError(f"{path}: damaged (no {min(missing)}); {remedy}")
    return found


def describe(files: PoolFiles) -> list[dict[str, str]]:
    """A row per member: its origin, hidden reward, return and most frequent events."""
    rows = []
    for member in files.members:
        hidden = "none: the task reward"
        if member.hidden_reward is not None:
            weights = {name: weight for name, weight in member.hidden_reward.items() if weight}
            hidden = ", ".join(f"{name} {weight:+g}" for name, weight in weights.items()) or "0"
        frequent = sorted(member.events.items(), key=lambda entry: -entry[1])[:3]
        source = f"{member.population} {member.run[:6]}, member {member.member}, {member.level}"
        rows.append(
            {
                "name": member.name,
                "from": source,
                "hidden reward": hidden,
                "return": f"{member.task_return:.0f}",
                "events": ", ".join(f"{name} {count:.1f}" for name, count in frequent) or "none",
            }
        )
    return rows


@dataclass(frozen=True)
class PoolEvents:
    """Event counts of all policies in a pool, of the events that the filter compares."""

    counts: Float[np.ndarray, "policies events"]
    events: tuple[str, ...]
    hidden_rewards: tuple[Mapping[str, float], ...]


def pool_events(files: PoolFiles) -> PoolEvents:
    """The event counts of all policies in a pool."""
    events = tuple(event.label for event in counted_events(files.layout))
    task_reward = {ORDER: 1.0}
    counts = []
    hidden_rewards = []
    for member in files.members:
        counts.append([member.events.get(event, 0.0) for event in events])
        hidden = member.hidden_reward
        hidden_rewards.append(task_reward if hidden is None else hidden)
    return PoolEvents(np.array(counts), events, tuple(hidden_rewards))
