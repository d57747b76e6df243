"""Pools on disk: the policies that an agent learns to get along with, and what is known about each.

pool.json              the kitchen, and a table a policy: where it comes from, what it likes, what it earns and does
NAME.safetensors       the policies, agent files like any other
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from cochef.agents import storage
from cochef.agents.actor_critic import KIND, TrainedAgent, build
from cochef.agents.networks import Network
from cochef.errors import InputError, shown
from cochef.files import claim_directory, read_limited, write_whole
from cochef.kitchen import layouts
from cochef.kitchen.layout import Layout

INDEX = "pool.json"
MAX_BYTES = 16 * 1024**2
MAX_MEMBERS = 4096

AgentFile = tuple[storage.Card, Mapping[str, np.ndarray]]  # as `storage.read` gives it

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True)
class Member:
    """What is known about a policy of a pool."""

    name: str
    method: str  # that made it
    run: str  # the run it comes from: the beginning of its configuration's checksum
    member: int  # its number there
    level: str  # of skill: init, mid or final
    returned: float  # mean task return of an episode with whom it was trained with
    events: Mapping[str, float] = field(default_factory=dict)  # mean counts of an episode, those that are not 0
    hidden: Mapping[str, float] | None = None  # what it secretly wants, if it is biased
    sha256: str = ""  # of what is in its file


@dataclass(frozen=True)
class Index:
    """What a pool says about itself."""

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
        """Where the policy is."""
        return self.directory / f"{member.name}{storage.SUFFIX}"

    def read(self, member: Member) -> AgentFile:
        """The content of a policy's file, checked against the pool's own table."""
        path = self.path(member)
        card, tensors = storage.read(path)
        if storage.checksum(card, tensors) != member.sha256:
            raise InputError(f"{path}: not the file that {INDEX} tells of; make the pool again")
        if card.kind != KIND:
            raise InputError(f"{path}: a file of kind {shown(card.kind)}; a pool takes trained policies")
        storage.check_kitchen(card, self.layout, path)
        return card, tensors

    def load(self, member: Member) -> TrainedAgent:
        """The policy."""
        return build(*self.read(member), self.layout, self.path(member), greedy=False)

    def networks(self) -> Network:
        """All policies as one network with the policies as its first axis."""
        agents = [self.load(member) for member in self.members]
        first = jax.tree.map(jnp.shape, agents[0])
        for member, agent in zip(self.members, agents, strict=True):
            if jax.tree.map(jnp.shape, agent) != first or agent.observation is not agents[0].observation:
                raise InputError(
                    f"{self.path(member)}: a network of another form than that of {self.members[0].name}; "
                    "the policies of a pool that is trained with have the same"
                )
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *(agent.network for agent in agents))


def write(directory: Path, layout: Layout, members: Sequence[tuple[Member, AgentFile]]) -> PoolFiles:
    """Make a pool of policies as they were read from agent files; the index is written last."""
    names = [member.name for member, _ in members]
    if not members or len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError(f"a pool with {f'{twice[0]!r} twice' if twice else 'nobody in it'}; it takes different names")
    if len(members) > MAX_MEMBERS:
        raise InputError(f"{len(members)} policies; a pool takes up to {MAX_MEMBERS}")
    for name in names:
        _check_name(name)
    claim_directory(directory)
    kept = []
    for member, (card, tensors) in members:
        path = directory / f"{member.name}{storage.SUFFIX}"
        storage.check_kitchen(card, layout, path)
        storage.save(path, card, tensors)
        kept.append(replace(member, sha256=storage.checksum(card, tensors)))
    table = {
        "layout": layout.name,
        "fingerprint": layout.fingerprint,
        "members": [asdict(member) for member in kept],
    }
    write_whole(directory / INDEX, (json.dumps(table, indent=1) + "\n").encode())
    return PoolFiles(directory, layout, tuple(kept))


def read(directory: Path, layout: Layout | None = None) -> PoolFiles:
    """The pool in a directory; its policies are read when they are needed. Own kitchens must be given."""
    index = read_index(directory)
    try:
        layout = layout or layouts.get(index.layout)
        if index.fingerprint != layout.fingerprint:
            raise InputError(f"made for another kitchen than {layout.name}")
    except InputError as error:
        raise InputError(f"{directory / INDEX}: {error}") from None
    return PoolFiles(directory, layout, index.members)


def read_index(directory: Path) -> Index:
    """What a pool says about itself."""
    path = directory / INDEX
    content = read_limited(path, MAX_BYTES, "a pool (see `cochef pool list`)")
    try:
        table = json.loads(content)
        rows, layout, fingerprint = table["members"], table["layout"], table["fingerprint"]
        if not isinstance(rows, list) or not 1 <= len(rows) <= MAX_MEMBERS:
            raise InputError(f"members is {shown(rows)}; it takes a list of 1 to {MAX_MEMBERS}")
        if not isinstance(layout, str) or not isinstance(fingerprint, str):
            raise InputError(f"the kitchen is {shown(layout)}, {shown(fingerprint)}; it takes a name and a fingerprint")
        return Index(layout, fingerprint, tuple(_member(row) for row in rows))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: not the index of a pool ({type(error).__name__}: {error})") from error


def merge(directory: Path, pools: Sequence[PoolFiles]) -> PoolFiles:
    """A pool of everybody in some pools of one kitchen; who has the name of somebody else gets a number."""
    if len({pool.layout.fingerprint for pool in pools}) != 1:
        raise InputError(
            f"pools of {', '.join(pool.layout.name for pool in pools) or 'no'} kitchens; take one kitchen's"
        )
    members: list[tuple[Member, AgentFile]] = []
    seen: set[str] = set()
    for pool in pools:
        for member in pool.members:
            name, number = member.name, 2
            while name in seen:
                name, number = f"{member.name}-{number}", number + 1
            seen.add(name)
            members.append((replace(member, name=name), pool.read(member)))
    return write(directory, pools[0].layout, members)


def _member(row: Any) -> Member:  # noqa: ANN401
    """A row of the index, checked."""
    if not isinstance(row, dict) or row.keys() != set(Member.__dataclass_fields__):
        raise InputError(f"a member is {shown(row)}; it takes a table with {', '.join(Member.__dataclass_fields__)}")
    for name, kind in {"name": str, "method": str, "run": str, "member": int, "level": str, "sha256": str}.items():
        if type(row[name]) is not kind:
            raise InputError(f"{name} is {shown(row[name])}; it takes {'text' if kind is str else 'a whole number'}")
    _check_name(row["name"])
    hidden = row["hidden"] if row["hidden"] is None else _numbers(row["hidden"], "hidden")
    returned, events = _number(row["returned"], "returned"), _numbers(row["events"], "events")
    return Member(**{**row, "returned": returned, "events": events, "hidden": hidden})


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InputError(f"name is {shown(name)}; it takes up to 100 letters, digits and _.-")


def _numbers(table: object, name: str) -> dict[str, float]:
    if not isinstance(table, dict):
        raise InputError(f"{name} is {shown(table)}; it takes a table of numbers")
    return {key: _number(value, f"{name}.{key}") for key, value in table.items()}


def _number(number: object, name: str) -> float:
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
        raise InputError(f"{name} is {shown(number)}; it takes a number")
    return float(number)
