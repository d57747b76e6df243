"""Pools that come with the package: a file for each layout, with the pools of some methods in it.

Policies are stacked and in half precision, and those that several pools share are stored once. To
train with such a pool, it is unpacked into a directory like any other.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from cochef import validation
from cochef.agents import actor_critic, pool, storage
from cochef.agents.pool import Member, PoolFiles, StoredAgent
from cochef.errors import InputError, did_you_mean, shown
from cochef.kitchen import layouts
from cochef.kitchen.layout import Layout

KIND = "pools"
POOLS = "pools"  # the folder beside the agents
POLICY = "policy"  # of a member in the file: its number among all policies


def path(layout: str, directory: Path | None = None) -> Path:
    """The file of a layout's pools, whether it exists or not; in the package."""
    return (_directory() if directory is None else directory / POOLS) / f"{layout}{storage.SUFFIX}"


def names() -> list[str]:
    """The pools that ship, METHOD:LAYOUT."""
    found = []
    for file in sorted(_directory().glob(f"*{storage.SUFFIX}")):
        card, _ = storage.read(file)
        found += [f"{method}:{file.stem}" for method in card.metadata["pools"]]
    return found


def located(source: Path, cache: Path) -> Path:
    """The directory of a pool: the source itself, or where METHOD:LAYOUT is unpacked in a cache."""
    method, colon, layout = str(source).partition(":")
    if source.exists() or not colon or len(source.parts) > 1:
        return source
    if not path(layout).exists():
        known = names()
        hint = did_you_mean(str(source), known)
        raise InputError(
            f"no pool {shown(str(source))}; {hint}give a directory, or one of those that ship: "
            f"{', '.join(known) or 'none'}"
        )
    card, tensors = storage.read(path(layout))
    directory = cache / f"{method}-{layout}-{storage.checksum(card, tensors)[:12]}"
    # The index is the last file that is written, so a pool that has one is complete.
    if not (directory / pool.INDEX).exists():
        unpack(path(layout), method, directory)
    return directory


def pack(
    file: Path, layout: Layout, pools: Mapping[str, PoolFiles], metadata: Mapping[str, Any]
) -> None:
    """Write the pools of some methods, whose networks have one shape, into one file."""
    numbers: dict[str, int] = {}  # of policies, by their checksum
    policies: list[StoredAgent] = []
    members: dict[str, list[dict[str, Any]]] = {}
    for method, files in pools.items():
        rows = members.setdefault(method, [])
        for member in files.members:
            if member.sha256 not in numbers:
                numbers[member.sha256] = len(policies)
                policies.append(files.read(member))
            row = {name: value for name, value in asdict(member).items() if name != "sha256"}
            rows.append({**row, POLICY: numbers[member.sha256]})
    config = policies[0][0].config
    if any(card.config != config for card, _ in policies):
        raise InputError(f"{file}: policies with different networks; they cannot be stacked")
    card = storage.Card(
        kind=KIND,
        layout=layout.name,
        fingerprint=layout.fingerprint,
        config=config,
        metadata={**metadata, "pools": members},
    )
    stacked = storage.by_name([tensors for _, tensors in policies], np.stack)
    storage.save(file, card, {name: leaf.astype(np.float16) for name, leaf in stacked.items()})


def unpack(file: Path, method: str, directory: Path) -> PoolFiles:
    """Write a method's pool from a file of pools into a directory, in single precision."""
    card, tensors = storage.read(file)
    if card.kind != KIND:
        raise InputError(f"{file}: a file of kind {shown(card.kind)}; it takes {KIND}")
    layout = layouts.get(card.layout)
    storage.check_layout(card, layout, file)
    found = validation.table(card.metadata.get("pools"), f"{file}: pools")
    if method not in found:
        raise InputError(
            f"no pool of {shown(method)} for {layout.name} ships; {did_you_mean(method, found)}"
            f"there are: {', '.join(found)}"
        )
    members = []
    for row in found[method]:
        number = row[POLICY]
        described = Member(**{name: value for name, value in row.items() if name != POLICY})
        own = replace(card, kind=actor_critic.KIND, metadata={"precision": "half"})
        arrays = {name: stack[number].astype(np.float32) for name, stack in tensors.items()}
        members.append((described, (own, arrays)))
    return pool.write(directory, layout, members)


def _directory() -> Path:
    return Path(str(resources.files("cochef.agents") / "data" / POOLS))
