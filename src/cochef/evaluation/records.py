"""Records of an evaluation on disk: episodes.csv, a row for each episode, and manifest.json.

The manifest says what was evaluated, and holds the checksum of the episodes.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cochef.errors import InputError
from cochef.evaluation.statistics import Summary, summarise
from cochef.files import write_whole

_TEXT = ("agent", "partner")
_WHOLE = ("agent_seed", "partner_seed", "seat", "episode")
_EPISODES = "episodes.csv"
_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Records:
    """Columns of equal length, a row for each episode; `seat` is the agent's."""

    columns: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        """The number of episodes."""
        return len(self.columns["score"])

    def __getitem__(self, name: str) -> np.ndarray:
        """A column."""
        return self.columns[name]

    def where(self, chosen: np.ndarray) -> "Records":
        """The rows for which `chosen` is true."""
        return Records({name: column[chosen] for name, column in self.columns.items()})

    def labels(self, who: str) -> list[str]:
        """The agents or partners, in order of appearance."""
        return list(dict.fromkeys(self.columns[who].tolist()))

    def summary(self, column: str = "score") -> Summary:
        """A summary of all rows, stratified by training seeds and seat."""
        seeds = self["agent_seed"]
        strata = (seeds * 1_000 + self["partner_seed"]) * 2 + self["seat"]
        return summarise(self[column].astype(float), seeds, strata)

    def pairs(self) -> Iterator[tuple[str, str, "Records"]]:
        """The label of every agent and every partner, and the rows of both together."""
        for agent in self.labels("agent"):
            for partner in self.labels("partner"):
                together = (self["agent"] == agent) & (self["partner"] == partner)
                yield agent, partner, self.where(together)


def joined(parts: Sequence[Records]) -> Records:
    """All rows of some records with the same columns."""
    names = parts[0].columns
    return Records({name: np.concatenate([part[name] for part in parts]) for name in names})


def write(directory: Path, records: Records, manifest: Mapping[str, Any]) -> None:
    """Write records and manifest, each file completely or not at all."""
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow(records.columns)
    writer.writerows(zip(*(column.tolist() for column in records.columns.values()), strict=True))
    content = table.getvalue().encode()
    sha256 = hashlib.sha256(content).hexdigest()
    completed = {**manifest, "episodes": len(records), "sha256": sha256}
    write_whole(directory / _EPISODES, content)
    write_whole(directory / _MANIFEST, (json.dumps(completed, indent=1) + "\n").encode())


def read(directory: Path) -> tuple[Records, dict[str, Any]]:
    """Read and check the records and the manifest in a directory."""
    try:
        content = (directory / _EPISODES).read_bytes()
        manifest_text = (directory / _MANIFEST).read_bytes()
    except (OSError, ValueError) as error:  # a ValueError is a path that no file system allows
        raise InputError(
            f"{directory}: no records there ({error}); `cochef evaluate --out` makes them"
        ) from error
    manifest = _manifest(directory, manifest_text)
    if manifest.get("sha256") != hashlib.sha256(content).hexdigest():
        raise _damaged(directory, _EPISODES, "its checksum does not match")
    try:
        header, *rows = csv.reader(io.StringIO(content.decode(), newline=""))
        columns = zip(*rows, strict=True)
        found = {name: _column(name, column) for name, column in zip(header, columns, strict=True)}
    except ValueError as error:
        raise InputError(
            f"{directory}: {_EPISODES} is no table of episodes ({error}); evaluate again"
        ) from error
    compared = {f"partner_{event}" for event in manifest["compared_events"]}
    missing = {*_TEXT, *_WHOLE, "score", "agent_shaped", *compared} - found.keys()
    if missing:
        raise InputError(f"{directory}: {_EPISODES} has no column {min(missing)!r}; evaluate again")
    return Records(found), manifest


def _manifest(directory: Path, text: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(directory, _MANIFEST, error) from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("layout"), str):
        raise _damaged(directory, _MANIFEST, "it names no layout")
    if not isinstance(manifest.get("compared_events"), list):
        raise _damaged(directory, _MANIFEST, "it lists no compared events")
    return manifest


def _damaged(directory: Path, file: str, reason: object) -> InputError:
    return InputError(f"{directory}: {file} is damaged ({reason}); evaluate again")


def _column(name: str, values: tuple[str, ...]) -> np.ndarray:
    if name in _TEXT:
        return np.array(values)
    numbers = np.array(values, float)
    return numbers.astype(int) if name in _WHOLE else numbers
