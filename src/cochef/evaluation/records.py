"""Records of an evaluation on disk: episodes.csv, a row for each episode, and manifest.json.

The manifest says what was evaluated, and holds the checksum of the episodes.
"""

import csv
import hashlib
import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cochef.errors import InputError, shown
from cochef.evaluation.statistics import Summary, summarise
from cochef.files import write_json, write_whole

Unit = Literal["population_seed", "agent_seed"]  # whose means vary by training

_TEXT = ("agent", "partner")
_WHOLE = ("population_seed", "agent_seed", "partner_seed", "seat", "episode")
_EPISODES = "episodes.csv"
_MANIFEST = "manifest.json"
_CIRCUMSTANCES = ("versions", "commit")  # of an evaluation, which do not tell it from another


@dataclass(frozen=True)
class Records:
    """Columns of equal length, a row for each episode; `seat` is the agent's.

    `population_seed` is the seed of the run that made the agent and its pool, `agent_seed` the
    agent's number in it.
    """

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

    @property
    def unit(self) -> Unit:
        """What counts as a training seed: a population if a method has several, else an agent.

        Agents of one population share what they learned from, so they are no independent trials
        of the method where there are several populations.
        """
        for agent in self.labels("agent"):
            if len(np.unique(self["population_seed"][self["agent"] == agent])) > 1:
                return "population_seed"
        return "agent_seed"

    def summary(self, column: str = "score", unit: Unit | None = None) -> Summary:
        """A summary of all rows, stratified by all seeds and seat.

        A part of records is summarised with the `unit` of the whole.
        """
        names = ("population_seed", "agent_seed", "partner_seed", "seat")
        _, strata = np.unique([self[name] for name in names], axis=1, return_inverse=True)
        return summarise(self[column].astype(float), self[unit or self.unit], strata)

    def players(self) -> set[tuple[str, int, int]]:
        """Label, population and number of every agent."""
        names = ("agent", "population_seed", "agent_seed")
        return set(zip(*(self[name].tolist() for name in names), strict=True))

    def pairs(self) -> Iterator[tuple[str, str, "Records"]]:
        """The label of every agent and every partner, and the rows of both together."""
        for agent in self.labels("agent"):
            for partner in self.labels("partner"):
                together = (self["agent"] == agent) & (self["partner"] == partner)
                yield agent, partner, self.where(together)


def joined(parts: Sequence[Records]) -> Records:
    """All rows of some records with the same columns."""
    columns = {}
    for name in parts[0].columns:
        columns[name] = np.concatenate([part[name] for part in parts])
    return Records(columns)


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
    write_json(directory / _MANIFEST, completed)


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


def read_all(directories: Sequence[Path]) -> tuple[Records, dict[str, Any]]:
    """Read the records of several evaluations in one layout as one, and the first manifest."""
    found = [read(directory) for directory in directories]
    manifest = found[0][1]
    seen: dict[tuple[str, int, int], Path] = {}
    for directory, (records, other) in zip(directories, found, strict=True):
        for name in ("layout", "fingerprint"):
            if other.get(name) != manifest.get(name):
                raise InputError(
                    f"{directory}: its {name} is {shown(other.get(name))}, that of "
                    f"{directories[0]} {shown(manifest.get(name))}; give records of one layout"
                )
        if set(records.labels("partner")) != set(found[0][0].labels("partner")):
            raise InputError(
                f"{directory}: has other partners than {directories[0]}; "
                "give records with the same ones"
            )
        for player in records.players():
            if player in seen:
                raise InputError(
                    f"{directory}: agent {player[0]!r} of population {player[1]}, number "
                    f"{player[2]}, is in {seen[player]}, too; give every evaluation once"
                )
            seen[player] = directory
    shared = set.intersection(*(set(records.columns) for records, _ in found))
    parts = []
    for records, _ in found:
        parts.append(Records({name: records[name] for name in records.columns if name in shared}))
    return joined(parts), manifest


def check_vacant(
    directory: Path, manifest: Mapping[str, Any], others: Collection[str] = ()
) -> None:
    """Raise an error if a directory has records of another evaluation than the manifest's.

    A directory without records has none of the `others` either, the files made from records.
    """
    remedy = "give another directory, or --overwrite"
    if not any((directory / name).exists() for name in (_EPISODES, _MANIFEST)):
        foreign = sorted(name for name in others if (directory / name).exists())
        if foreign:
            raise InputError(f"{directory}: has {foreign[0]}, but no records; {remedy}")
        return
    try:
        _, there = read(directory)
    except InputError as error:
        raise InputError(f"{directory}: has records that cannot be read; {remedy}") from error
    # As JSON gives it back.
    wanted = json.loads(json.dumps(manifest))
    for name, value in wanted.items():
        if name not in _CIRCUMSTANCES and there.get(name) != value:
            raise InputError(
                f"{directory}: has records of another evaluation, whose {name} "
                f"{'are' if name.endswith('s') else 'is'} {shown(there.get(name))}; {remedy}"
            )


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
