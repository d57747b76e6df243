"""From populations on disk to the pools that agents are trained with."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from cochef.agents import pool, storage
from cochef.agents.pool import AgentFile, Member, PoolFiles
from cochef.errors import InputError
from cochef.evaluation import plots, preferences
from cochef.files import read_limited, write_whole
from cochef.kitchen.constants import Event
from cochef.kitchen.episodes import counted_events
from cochef.kitchen.layout import Layout
from cochef.learning import runs, snapshots
from cochef.learning.reward_config import ORDER
from cochef.methods import diversity, fcp

FILTER, PICTURE = "filter.json", "filter.png"
MAX_BYTES = 16 * 1024**2
NEAR = 0.1  # of the median distance: policies nearer than that are nearly the same

Tables = list[tuple[Member, AgentFile]]


@dataclass(frozen=True)
class Filter:
    """Which biased policies were kept, and by what."""

    layout: str
    events: tuple[str, ...]  # by which they are told apart
    hidden: tuple[Mapping[str, float], ...]  # what each policy wants
    counts: Float[np.ndarray, "policies events"]
    returns: Float[np.ndarray, " policies"]  # mean task return of an episode with its partner
    chosen: tuple[int, ...]  # in the order of choice

    @property
    def diversity(self) -> float:
        """The event diversity of those that were kept."""
        return diversity.event_diversity(self.counts, np.array(self.chosen))

    @property
    def near_duplicates(self) -> int:
        """How many of those that were kept have another one, kept before them, that is nearly the same."""
        apart = diversity.distances(self.counts)
        near = NEAR * float(np.median(apart[np.triu_indices(len(apart), 1)])) if len(apart) > 1 else 0.0
        kept = apart[np.ix_(self.chosen, self.chosen)]
        return int(sum((kept[number, :number] < near).any() for number in range(1, len(kept))))


def of_levels(directory: Path, run: Path, method: str, layout: Layout) -> PoolFiles:
    """The pool of FCP, MEP or TrajDiv: init, mid and final of all members of a run."""
    return pool.write(directory, layout, _levels(run, method, layout))


def of_biased(
    directory: Path,
    biased: Path,
    layout: Layout,
    *,
    keep: int | None = 18,
    mep: Path | None = None,
    mep_members: int = 6,
    episodes: int = 100,
    seed: int = 0,
) -> PoolFiles:
    """The pool of HSP: biased policies that behave differently (all if `keep` is None), and some MEP policies."""
    found = filtered(biased, layout, keep=keep, episodes=episodes, seed=seed)
    table = {**asdict(found), "diversity": found.diversity, "near_duplicates": found.near_duplicates}
    table |= {"counts": found.counts.tolist(), "returns": found.returns.tolist()}
    write_whole(directory / FILTER, (json.dumps(table, indent=1) + "\n").encode())
    plots.save(
        plots.event_space(found.counts, found.events, found.hidden, found.chosen, layout.name), directory / PICTURE
    )
    members = _biased(biased, found)
    if mep:
        members += _levels(mep, "mep", layout, mep_members)
    return pool.write(directory, layout, members)


def filtered(biased: Path, layout: Layout, *, keep: int | None, episodes: int, seed: int) -> Filter:
    """The biased policies of a run with what they do, and which of them to keep."""
    _, pairs, _ = preferences.read_pairs(biased, layout)
    tally = preferences.event_counts(layout, pairs, seed, episodes)
    events = counted_events(layout)
    counts = np.asarray(tally.events[:, 0], float)
    chosen = range(len(pairs)) if keep is None else diversity.select(counts[:, list(events)], keep, seed).tolist()
    return Filter(
        layout=layout.name,
        events=tuple(event.label for event in events),
        hidden=tuple(runs.configuration(biased)["hidden"]),
        counts=counts[:, list(events)],
        returns=np.asarray(tally.score, float) / 2,
        chosen=tuple(chosen),
    )


def read_filter(directory: Path) -> dict[str, Any] | None:
    """What the filter of a pool found, if it has one."""
    path = directory / FILTER
    if not path.exists():
        return None
    try:
        found = json.loads(read_limited(path, MAX_BYTES, "the result of a filter"))
        missing = {"events", "hidden", "counts", "chosen", "diversity", "near_duplicates"} - found.keys()
    except (ValueError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: damaged ({error}); delete its directory, and the job is done again") from error
    if missing:
        raise InputError(f"{path}: damaged (no {min(missing)}); delete its directory, and the job is done again")
    return found


def _biased(run: Path, found: Filter) -> Tables:
    source = _source(run)
    members: Tables = []
    for number in found.chosen:
        path = run / runs.AGENTS / f"{number:02}-{runs.LEARNERS[0]}{storage.SUFFIX}"
        events = {name: count / 2 for name, count in zip(found.events, found.counts[number].tolist(), strict=True)}
        member = Member(
            name=f"biased-{number:02}",
            method="hsp",
            run=source,
            member=number,
            level="final",
            returned=float(found.returns[number]),
            events={name: round(count, 4) for name, count in events.items() if count},
            hidden=dict(found.hidden[number]),
        )
        members.append((member, storage.read(path)))
    return members


def _levels(run: Path, method: str, layout: Layout, first: int | None = None) -> Tables:
    levels = fcp.skill_levels(run)
    if first is not None and not 1 <= first <= len(levels):
        raise InputError(f"{first} members of {run}; it has {len(levels)}")
    source = _source(run)
    members: Tables = []
    for number, level in enumerate(levels[:first]):
        for name in ("init", "mid", "final"):
            snapshot = getattr(level, name)
            counts = np.mean(snapshot.events[number], axis=0)
            member = Member(
                name=f"{method}-{number:02}-{name}",
                method=method,
                run=source,
                member=number,
                level=name,
                returned=snapshot.returns[number],
                events={event.label: round(float(counts[event]), 4) for event in Event if counts[event]},
            )
            members.append((member, snapshots.extract(snapshot.path, layout, number)))
    return members


def _source(run: Path) -> str:
    """What tells a run from others: the beginning of its configuration's checksum."""
    text = json.dumps(runs.configuration(run), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def describe(files: PoolFiles) -> list[dict[str, Any]]:
    """A row a member: who it is, what it likes, what it does most."""
    rows = []
    for member in files.members:
        likes = {name: weight for name, weight in (member.hidden or {}).items() if weight}
        wants = ", ".join(f"{name} {weight:+g}" for name, weight in likes.items()) or "nothing"
        busiest = sorted(member.events.items(), key=lambda entry: -entry[1])[:3]
        rows.append(
            {
                "name": member.name,
                "from": f"{member.method} {member.run[:6]}, member {member.member}, {member.level}",
                "likes": "the task" if member.hidden is None else wants,
                "return": f"{member.returned:.0f}",
                "does most": ", ".join(f"{name} {count:.1f}" for name, count in busiest) or "nothing",
            }
        )
    return rows


def event_table(
    files: PoolFiles,
) -> tuple[Float[np.ndarray, "policies events"], tuple[str, ...], list[Mapping[str, float]]]:
    """The events by which policies are told apart, how often everybody causes them, and what everybody likes."""
    events = tuple(event.label for event in counted_events(files.layout))
    counts = np.array([[member.events.get(event, 0.0) for event in events] for member in files.members])
    return counts, events, [{ORDER: 1.0} if member.hidden is None else member.hidden for member in files.members]
