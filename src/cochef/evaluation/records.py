"""Records of episodes on disk: episodes.csv, a row an episode, and manifest.json, which says what was measured."""

import csv
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cochef.errors import InputError
from cochef.evaluation.statistics import Summary, summarise

_TEXT = ("agent", "partner")
_KEYS = ("agent", "agent_seed", "partner", "partner_seed", "seat", "episode", "score")
_EPISODES, _MANIFEST = "episodes.csv", "manifest.json"


@dataclass(frozen=True)
class Records:
    """Columns of equal length, a row an episode; `seat` is the agent's."""

    columns: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        """How many episodes."""
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
        """All rows in one summary, stratified by training seeds and seat."""
        seeds = self["agent_seed"]
        strata = (seeds * 1_000 + self["partner_seed"]) * 2 + self["seat"]
        return summarise(self[column].astype(float), seeds, strata)

    def pairs(self) -> Iterator[tuple[str, str, "Records"]]:
        """Every agent with every partner: labels and rows."""
        for agent in self.labels("agent"):
            for partner in self.labels("partner"):
                yield agent, partner, self.where((self["agent"] == agent) & (self["partner"] == partner))


def write(directory: Path, records: Records, manifest: Mapping[str, Any]) -> None:
    """Write records and manifest; each file is there whole or not at all."""
    directory.mkdir(parents=True, exist_ok=True)
    with _whole(directory / _EPISODES) as path, path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(records.columns)
        writer.writerows(zip(*(column.tolist() for column in records.columns.values()), strict=True))
    with _whole(directory / _MANIFEST) as path:
        about = {**manifest, "episodes": len(records), "columns": list(records.columns)}
        path.write_text(json.dumps(about, indent=1) + "\n", "utf-8")


def read(directory: Path) -> tuple[Records, dict[str, Any]]:
    """The records and the manifest in a directory, checked."""
    try:
        manifest = json.loads((directory / _MANIFEST).read_text("utf-8"))
        with (directory / _EPISODES).open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{directory}: no records there ({error}); `cochef evaluate --out` makes them") from error
    except (ValueError, csv.Error) as error:
        raise InputError(f"{directory}: its records are damaged ({error}); evaluate again") from error
    missing = [key for key in _KEYS if key not in header]
    ragged = [number for number, row in enumerate(rows, 2) if len(row) != len(header)]
    if missing or ragged or not rows or not isinstance(manifest, dict) or manifest.get("episodes") != len(rows):
        what = f"column {missing[0]!r} is missing" if missing else f"{len(rows)} rows do not fit the manifest"
        raise InputError(f"{directory}: its records are damaged ({what}); evaluate again")
    try:
        columns = {name: _column(name, values) for name, values in zip(header, zip(*rows, strict=True), strict=True)}
    except ValueError as error:
        raise InputError(f"{directory}: its records are damaged ({error}); evaluate again") from error
    return Records(columns), manifest


def _column(name: str, values: tuple[str, ...]) -> np.ndarray:
    if name in _TEXT:
        return np.array(values)
    numbers = np.array(values, float)
    return numbers.astype(int) if name in _KEYS and name != "score" else numbers


class _whole:  # noqa: N801  (reads as a word: with _whole(path) as part)
    """Write to a neighbour, and move it into place when all has been written."""

    def __init__(self, path: Path) -> None:
        self.path, self.part = path, path.with_name(f".{path.name}.{os.getpid()}.part")

    def __enter__(self) -> Path:
        return self.part

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.part.replace(self.path)
        else:
            self.part.unlink(missing_ok=True)
