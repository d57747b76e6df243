"""The partners of free play: agents that ship, and the player's own."""

import itertools
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cochef import methods
from cochef.agents import names, scripted, shipped, storage
from cochef.errors import InputError, shown
from cochef.kitchen import layouts
from cochef.kitchen.layout import Layout

PLACES = (Path("runs"), Path("out"))  # where own agents are looked for

_PASSED_OVER = ("checkpoints", "snapshots")  # of trainings: whole populations, and many
_MOST_FILES = 200
_LARGEST = 64 * 1024**2  # bytes
_SIMPLE = {"random": "does anything at random", "stay": "stands still"}


@dataclass(frozen=True)
class OfferedPartner:
    """A partner on offer: its name for the loader, and a line for the page."""

    name: str
    summary: str


@dataclass(frozen=True)
class FoundAgent:
    """An agent file or own agent that can be used, and the fingerprint of its layout."""

    name: str
    fingerprint: str
    is_code: bool = False  # an own agent, whose code may be run


def find_files(places: Sequence[Path] = PLACES) -> list[FoundAgent]:
    """The newest files below some directories that hold a single agent."""
    found = sorted((time, path) for place in places for time, path in _below(place))
    agents = (file for _, path in reversed(found) for file in _read(path))
    return list(itertools.islice(agents, _MOST_FILES))


def check_files(paths: Sequence[Path]) -> list[FoundAgent]:
    """These agent files; refuses one that cannot be used."""
    return [_agent_file(path) for path in paths]


def check_own(name: str, choice: Sequence[Layout]) -> list[FoundAgent]:
    """An own agent on each of some layouts that it can play on; refuses one that fits none."""
    found = []
    faults = []
    for layout in choice:
        try:
            names.load(name, layout, own_code=True)
            found.append(FoundAgent(name, layout.fingerprint, is_code=True))
        except InputError as error:
            faults.append(error)
    if not found:
        raise faults[0]
    return found


def offered(layout: Layout, files: Sequence[FoundAgent]) -> list[OfferedPartner]:
    """All partners on a layout: own agents, those that ship, scripts and the simplest."""
    own = [
        OfferedPartner(file.name, "an agent of your own")
        for file in files
        if file.fingerprint == layout.fingerprint
    ]
    ready = [
        OfferedPartner(f"{kind}:{name}", summary)
        for kind, summary in _shipped_kinds().items()
        for name in shipped.layouts_of(kind)
        if layouts.is_shipped(layout, name)
    ]
    scripts = [
        OfferedPartner(f"script:{name}", scripted.SCRIPTS[name].summary)
        for name in scripted.names_for(layout)
    ]
    simple = [OfferedPartner(name, _SIMPLE.get(name, "")) for name in names.SIMPLE]
    return [*own, *ready, *scripts, *simple]


def _shipped_kinds() -> dict[str, str]:
    """The kinds of agents that may ship, with a line about each."""
    return {name: methods.summary(name) for name in methods.names()} | shipped.CLONES


def _below(place: Path) -> Iterator[tuple[float, Path]]:
    """Files that may hold an agent, and when they were written."""
    for directory, below, files in os.walk(place):
        below[:] = [name for name in below if name not in _PASSED_OVER]
        for path in (Path(directory, name) for name in files if name.endswith(storage.SUFFIX)):
            with suppress(OSError):  # a file may vanish in the meantime
                status = path.stat()
                if stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST:
                    yield status.st_mtime, path


def _read(path: Path) -> Iterator[FoundAgent]:
    with suppress(InputError):
        yield _agent_file(path)


def _agent_file(path: Path) -> FoundAgent:
    card, _ = storage.read(path)
    if card.kind not in names.KINDS:
        raise InputError(
            f"{path}: holds {shown(card.kind)}, not a single agent; known: {', '.join(names.KINDS)}"
        )
    return FoundAgent(str(path), card.fingerprint)
