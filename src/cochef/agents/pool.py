"""Pools on disk: the policies that an agent is trained with, and what is known about each.

pool.json              the layout; for each policy its origin, hidden reward, return and events
NAME.safetensors       the policies, each an agent file
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from cochef import validation
from cochef.agents import storage
from cochef.agents.actor_critic import KIND, TrainedAgent, build
from cochef.agents.storage import StoredAgent
from cochef.errors import InputError, shown
from cochef.files import claim_directory, read_limited, write_json
from cochef.kitchen import layouts
from cochef.kitchen.layout import Layout

INDEX = "pool.json"
MAX_BYTES = 16 * 1024**2
MAX_MEMBERS = 4096
TAKES = "a pool takes trained policies"  # in errors about other files

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True)
class Member:
    """What is known about a policy of a pool."""

    name: str
    population: str  # that it is a member of
    run: str  # that it comes from: the first digits of the checksum of the run's config
    member: int  # its number in that run's population
    level: str  # of skill: init, mid or final
    task_return: float  # mean of an episode with the partner it was trained with
    events: Mapping[str, float] = field(default_factory=dict)  # mean counts, without those of 0
    hidden_reward: Mapping[str, float] | None = None  # weights, if it is biased
    sha256: str = ""  # checksum of its file's content


@dataclass(frozen=True)
class PoolIndex:
    """The content of a pool's index file."""

    layout: str
    fingerprint: str
    members: tuple[Member, ...]


@dataclass(frozen=True)
class PoolFiles:
    """A pool in its directory."""

    directory: Path
    layout: Layout
    members: tuple[Member, ...]

    def path(self, member: Member) -> Path:
        """The file of a policy."""
        return self.directory / f"{member.name}{storage.SUFFIX}"

    def read(self, member: Member) -> StoredAgent:
        """Read a policy's file and verify it against the index."""
        path = self.path(member)
        card, tensors = storage.read_kind(path, KIND, self.layout, TAKES)
        if storage.checksum(card, tensors) != member.sha256:
            raise InputError(f"{path}: not the file that {INDEX} lists; make the pool again")
        return card, tensors

    def load(self, member: Member) -> TrainedAgent:
        """Load a policy as an agent."""
        return build(*self.read(member), self.layout, self.path(member), greedy=False)

    def agents(self) -> list[TrainedAgent]:
        """Load all policies, in the order of the members."""
        return [self.load(member) for member in self.members]


def write(
    directory: Path, layout: Layout, members: Sequence[tuple[Member, StoredAgent]]
) -> PoolFiles:
    """Write a pool of policies; the index is written last."""
    _check_names([member.name for member, _ in members])
    claim_directory(directory)
    written = []
    for member, (card, tensors) in members:
        path = directory / f"{member.name}{storage.SUFFIX}"
        storage.check_layout(card, layout, path)
        storage.save(path, card, tensors)
        written.append(replace(member, sha256=storage.checksum(card, tensors)))
    index = PoolIndex(layout.name, layout.fingerprint, tuple(written))
    write_json(directory / INDEX, asdict(index))
    return PoolFiles(directory, layout, index.members)


def read(directory: Path, layout: Layout | None = None) -> PoolFiles:
    """Open the pool in a directory; a layout that does not ship must be given.

    Policies are read when they are needed.
    """
    index = read_index(directory)
    try:
        layout = layout or layouts.get(index.layout)
        if index.fingerprint != layout.fingerprint:
            raise InputError(f"made for another layout than {layout.name}")
    except InputError as error:
        raise InputError(f"{directory / INDEX}: {error}") from None
    return PoolFiles(directory, layout, index.members)


def read_index(directory: Path) -> PoolIndex:
    """Read a pool's index, without its policies."""
    path = directory / INDEX
    content = read_limited(path, MAX_BYTES, "a pool (see `cochef pool list`)")
    try:
        table = json.loads(content)
        rows = table["members"]
        layout = table["layout"]
        fingerprint = table["fingerprint"]
        if not isinstance(rows, list) or not 1 <= len(rows) <= MAX_MEMBERS:
            raise InputError(f"members is {shown(rows)}; it takes a list of 1 to {MAX_MEMBERS}")
        return PoolIndex(
            validation.text(layout, "layout"),
            validation.text(fingerprint, "fingerprint"),
            tuple(_member(row) for row in rows),
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path}: not the index of a pool ({type(error).__name__}: {error})"
        ) from error


def distinct_name(name: str, taken: set[str]) -> str:
    """A name like this one for a policy, with a number if it is taken; it is taken then."""
    found = re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip("_.-")[:90] or "agent"
    first = found
    number = 2
    while found in taken:
        found = f"{first}-{number}"
        number += 1
    taken.add(found)
    return found


def _member(row: object) -> Member:
    """A row of the index, checked."""
    known = Member.__dataclass_fields__
    if not isinstance(row, dict) or row.keys() != known.keys():
        raise InputError(f"a member is {shown(row)}; it takes a table with {', '.join(known)}")
    hidden = row["hidden_reward"]
    if hidden is not None:
        hidden = validation.numbers(hidden, "hidden_reward")
    return Member(
        name=_checked_name(row["name"]),
        population=validation.text(row["population"], "population"),
        run=validation.text(row["run"], "run"),
        member=validation.whole_number(row["member"], "member"),
        level=validation.text(row["level"], "level"),
        task_return=validation.number(row["task_return"], "task_return"),
        events=validation.numbers(row["events"], "events"),
        hidden_reward=hidden,
        sha256=validation.text(row["sha256"], "sha256"),
    )


def _check_names(names: Sequence[str]) -> None:
    """Refuse members that cannot make a pool."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if not names or repeated:
        problem = f"{repeated[0]!r} twice" if repeated else "nobody in it"
        raise InputError(f"a pool with {problem}; it takes different names")
    if len(names) > MAX_MEMBERS:
        raise InputError(f"{len(names)} policies; a pool takes up to {MAX_MEMBERS}")
    for name in names:
        _checked_name(name)


def _checked_name(name: object) -> str:
    if not _NAME.fullmatch(validation.text(name, "name")):
        raise InputError(f"name is {shown(name)}; it takes up to 100 letters, digits and _.-")
    return str(name)
