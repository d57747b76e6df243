"""Stored results: small compressed copies of what jobs found, with all that decided them.

    results/PRESET/JOB/result.json                what it is, and the checksums of its files
    results/PRESET/JOB/description.json.xz         all settings of the job and of its inputs
    results/PRESET/JOB/episodes.csv.transposed.xz  the files of the job's result

A table of episodes is stored with a line for each column, which takes two thirds of the space.

Results of one table cell are never of different configurations: see `Results.select`.
"""

import csv
import hashlib
import io
import json
import lzma
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from cochef.errors import InputError
from cochef.experiments.jobs import DONE, Job, JobStore, in_order, seconds_of
from cochef.files import read_limited, write_whole
from cochef.reproduction.origin import ResultOrigin
from cochef.validation import table, text, whole_number

RESULT = "result.json"
DESCRIPTION = "description.json"
PACKED = ".xz"
MAX_BYTES = 64 * 1024**2

FILES: Mapping[str, tuple[str, ...]] = {
    "evaluation": ("episodes.csv", "manifest.json"),
    "film": ("itself.png", "itself.gif", "partner.png", "partner.gif"),
}
"""The files of a job's result, by kind of job; those of all other kinds are a file KIND.json."""

_COMPRESSED_ALREADY = (".png", ".gif")
_TABLE = ".csv"
_TRANSPOSED = ".transposed"
# What differs between populations of the same configuration.
_OF_A_POPULATION = frozenset({"seed", "hidden_rewards"})


@dataclass(frozen=True)
class ResultKey:
    """What a result is of, whatever the configuration."""

    kind: str
    condition: str
    layout: str


@dataclass(frozen=True, eq=False)
class StoredResult:
    """The metadata of a result; its files are read when asked for."""

    kind: str
    condition: str
    layout: str
    seed: int
    preset: str
    agents: int
    address: str
    configuration: str
    """The checksum of all settings but those that differ between populations."""
    finished: str
    """When the job ended, in UTC."""
    seconds: float
    code: Mapping[str, Any]
    """The version and commit of the program that made it, and the commits that made its inputs."""
    steps: Mapping[str, int]
    """Environment steps of each policy, by job."""
    files: Mapping[str, str]
    """Checksums by name."""
    directory: Path

    @property
    def key(self) -> ResultKey:
        """What it is of."""
        return ResultKey(self.kind, self.condition, self.layout)

    @property
    def commits(self) -> frozenset[str]:
        """The commits of the code that made it and its inputs, where they are known."""
        own = self.code.get("commit")
        return frozenset([*self.code.get("inputs", ()), *([] if own is None else [own])])

    def read(self, name: str) -> bytes:
        """One of its files, checked."""
        path = self.directory / _stored_name(name)
        content = read_limited(path, MAX_BYTES, "a stored result")
        try:
            content = _unpacked(name, content)
        except (lzma.LZMAError, ValueError) as error:
            raise InputError(f"{path}: damaged ({error}); collect it anew") from error
        if hashlib.sha256(content).hexdigest() != self.files.get(name):
            raise InputError(f"{path}: damaged (its checksum does not match); collect it anew")
        return content

    @cached_property
    def description(self) -> Mapping[str, Any]:
        """All settings of the job that found it, and the same of its inputs."""
        content = (self.directory / _stored_name(DESCRIPTION)).read_bytes()
        return json.loads(_unpacked(DESCRIPTION, content))

    @property
    def config(self) -> Mapping[str, Any]:
        """The settings of the job that found it."""
        return self.description["config"]

    def json(self, name: str) -> dict[str, Any]:
        """One of its files, read as JSON."""
        return json.loads(self.read(name))


def commits(results: Iterable[StoredResult]) -> list[str]:
    """The commits of the code that made some results and their inputs, where they are known."""
    return sorted(frozenset().union(*(result.commits for result in results)))


def describe(job: Job) -> dict[str, Any]:
    """All that decides a job's result, with the same of its inputs."""
    inputs = {name: describe(job_input) for name, job_input in job.inputs.items()}
    return {**job.description, "inputs": inputs}


def configuration(job: Job) -> str:
    """The checksum of all settings that populations of one configuration share."""
    shared = json.dumps(_without(describe(job), _OF_A_POPULATION), sort_keys=True)
    return hashlib.sha256(shared.encode()).hexdigest()[:12]


def _without(content: Any, names: frozenset[str]) -> Any:  # noqa: ANN401
    if isinstance(content, Mapping):
        kept = {name: value for name, value in content.items() if name not in names}
        return {name: _without(value, names) for name, value in kept.items()}
    if isinstance(content, list):
        return [_without(value, names) for value in content]
    return content


def collect(root: Path, store: JobStore, job: Job, key: Mapping[str, Any]) -> Path | None:
    """Copy the result of a job, if it is done; where it is, or None.

    `key` has condition, layout, seed, preset and agents. What is there already is kept.
    """
    directory = root / key["preset"] / job.name
    if (directory / RESULT).exists():
        return directory
    if not store.is_done(job):
        return None
    source = store.directory(job)
    finished = datetime.fromtimestamp((source / DONE).stat().st_mtime, UTC)
    kind = job.stage.kind
    names = FILES.get(kind, (f"{kind}.json",))
    contents = {name: (source / name).read_bytes() for name in names}
    found = {
        **key,
        "kind": kind,
        "address": job.address,
        "configuration": configuration(job),
        "finished": finished.isoformat(timespec="seconds"),
        "seconds": seconds_of(source),
        "code": {**_code(source, contents), "inputs": _input_commits(store, job)},
        "steps": dict(_steps(job)),
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
    }
    description = json.dumps(describe(job), sort_keys=True).encode()
    for name, content in {**contents, DESCRIPTION: description}.items():
        write_whole(directory / _stored_name(name), _packed(name, content))
    # The last file: a result that has it is complete.
    write_whole(directory / RESULT, (json.dumps(found, indent=1) + "\n").encode())
    return directory


def addresses(root: Path, preset: str) -> frozenset[str]:
    """The addresses of the jobs whose results are stored for a preset."""
    return frozenset(read(path).address for path in _metadata(root, preset))


def _metadata(root: Path, preset: str) -> list[Path]:
    return sorted((root / preset).glob(f"*/{RESULT}"))


def _code(source: Path, contents: Mapping[str, bytes]) -> dict[str, str | None]:
    """The version of the program that ran a job, and its commit where the job's files say it."""
    end = json.loads((source / DONE).read_bytes())
    manifest = json.loads(contents.get("manifest.json", b"{}"))
    return {"cochef": end["cochef"], "commit": end.get("commit") or manifest.get("commit")}


def _input_commits(store: JobStore, job: Job) -> list[str]:
    """The commits of all jobs that a result is made of, where they are known."""
    found = set()
    for job_input in in_order(job.inputs.values()):
        path = store.directory(job_input) / DONE
        commit = json.loads(path.read_bytes()).get("commit") if path.exists() else None
        if commit is not None:
            found.add(commit)
    return sorted(found)


def _stored_name(name: str) -> str:
    if name.endswith(_COMPRESSED_ALREADY):
        return name
    return f"{name}{_TRANSPOSED if name.endswith(_TABLE) else ''}{PACKED}"


def _packed(name: str, content: bytes) -> bytes:
    if name.endswith(_COMPRESSED_ALREADY):
        return content
    if name.endswith(_TABLE):
        content = _transposed(content)
    return lzma.compress(content, preset=9)


def _unpacked(name: str, content: bytes) -> bytes:
    if name.endswith(_COMPRESSED_ALREADY):
        return content
    content = lzma.decompress(content)
    return _transposed(content) if name.endswith(_TABLE) else content


def _transposed(content: bytes) -> bytes:
    """A table as CSV with rows and columns exchanged; twice gives the same table again."""
    rows = csv.reader(io.StringIO(content.decode(), newline=""))
    exchanged = io.StringIO(newline="")
    csv.writer(exchanged).writerows(zip(*rows, strict=True))
    return exchanged.getvalue().encode()


def _steps(job: Job) -> Iterator[tuple[str, int]]:
    """The steps of every policy that a job or its inputs train, by the input's name."""
    for name, job_input in job.inputs.items():
        yield from _steps(job_input)
        steps = job_input.stage.config.get("training", {}).get("total_steps")
        if steps is not None:
            yield name, int(steps)


@dataclass(frozen=True)
class Results:
    """All results that are stored for a preset."""

    root: Path
    preset: str
    current: Mapping[ResultKey, frozenset[str]]
    """The configurations that this program would run now."""

    @cached_property
    def every(self) -> list[StoredResult]:
        """All results, the oldest first."""
        found = [read(path) for path in _metadata(self.root, self.preset)]
        return sorted(found, key=lambda one: (one.finished, one.address))

    @property
    def wanted(self) -> list[StoredResult]:
        """Those of conditions and layouts that this program would run now, however configured."""
        return [one for one in self.every if one.key in self.current]

    def select(self, kind: str, condition: str, layout: str) -> list[StoredResult]:
        """The results of a cell, one a population, all of the same configuration.

        That is the configuration that this program would run now. Where there is none of it, it is
        the one with most populations, the newest of those; `others` has the rest.
        """
        found = [one for one in self.every if one.key == ResultKey(kind, condition, layout)]
        if not found:
            return []
        groups: dict[str, dict[int, StoredResult]] = {}
        for one in found:
            groups.setdefault(one.configuration, {})[one.seed] = one
        current = self.current.get(found[0].key, frozenset())

        def order(configuration: str) -> tuple[bool, int, str]:
            group = groups[configuration]
            newest = max(one.finished for one in group.values())
            return configuration in current, len(group), newest

        chosen = groups[max(groups, key=order)]
        return [chosen[seed] for seed in sorted(chosen)]

    def is_current(self, result: StoredResult) -> bool:
        """Whether this program would run it with the same configuration now."""
        return result.configuration in self.current.get(result.key, frozenset())

    def origin(self, results: Iterable[StoredResult]) -> ResultOrigin:
        """Where a number is from that is made of some results."""
        found = list(results)
        is_current = all(map(self.is_current, found))
        return ResultOrigin(is_current, frozenset(commits(found)))

    def others(self) -> list[StoredResult]:
        """Results that no table shows, as others of their cell are shown."""
        shown: set[str] = set()
        for key in {one.key for one in self.wanted}:
            chosen = self.select(key.kind, key.condition, key.layout)
            shown |= {one.address for one in chosen}
        return [one for one in self.wanted if one.address not in shown]


def current_configurations(
    goals: Iterable[tuple[str, str, Job]],
) -> dict[ResultKey, frozenset[str]]:
    """The configurations of goals: condition, layout and job."""
    found: dict[ResultKey, frozenset[str]] = {}
    for condition, layout, job in goals:
        key = ResultKey(job.stage.kind, condition, layout)
        found[key] = found.get(key, frozenset()) | {configuration(job)}
    return found


def read(path: Path) -> StoredResult:
    """The metadata of a result, checked."""
    try:
        found = table(json.loads(read_limited(path, MAX_BYTES, "a stored result")), "result")
        words = ("kind", "condition", "layout", "preset", "address", "configuration", "finished")
        return StoredResult(
            **{name: text(found.get(name), name) for name in words},
            seed=whole_number(found.get("seed"), "seed", 0),
            agents=whole_number(found.get("agents"), "agents", 0),
            seconds=float(found.get("seconds", 0.0)),
            code=table(found.get("code"), "code"),
            steps=table(found.get("steps"), "steps"),
            files=table(found.get("files"), "files"),
            directory=path.parent,
        )
    except (ValueError, RecursionError, InputError) as error:
        raise InputError(f"{path}: damaged ({error}); delete its directory") from error


def as_row(result: StoredResult) -> dict[str, Any]:
    """The metadata, fit for a table."""
    row = asdict(result)
    return {name: row[name] for name in row if name not in ("files", "directory")}
