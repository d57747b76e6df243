"""Whom one can play with: what ships, and agents of one's own."""

import itertools
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cochef.agents import names, scripted, shipped, storage
from cochef.errors import InputError, shown
from cochef.kitchen import layouts
from cochef.kitchen.layout import Layout

PLACES = (Path("runs"), Path("out"))  # where agents of one's own are looked for

_PASSED_OVER = ("checkpoints", "snapshots")  # of trainings: whole populations, and many
_MOST_FILES = 200
_LARGEST = 64 * 1024**2


@dataclass(frozen=True)
class Offered:
    """A partner on offer: its name for the loader, and what to tell about it."""

    name: str
    about: str


@dataclass(frozen=True)
class AgentFile:
    """An agent file that can be used, and the kitchen it belongs to."""

    path: Path
    fingerprint: str


def find_files(places: Sequence[Path] = PLACES) -> list[AgentFile]:
    """The newest agent files below some directories; files that hold no single agent are passed over."""
    found = sorted((time, path) for place in places for time, path in _below(place))
    agents = (file for _, path in reversed(found) for file in _read(path))
    return list(itertools.islice(agents, _MOST_FILES))


def check_files(paths: Sequence[Path]) -> list[AgentFile]:
    """These agent files; complains about the first that cannot be used."""
    return [_agent_file(path) for path in paths]


def offered(layout: Layout, files: Sequence[AgentFile]) -> list[Offered]:
    """All partners for a kitchen: one's own first, then those that ship, scripts and the simplest."""
    own = [Offered(str(file.path), "an agent of your own") for file in files if file.fingerprint == layout.fingerprint]
    ready = [
        Offered(f"{kind}:{name}", about)
        for kind, about in (shipped.AGENTS | shipped.CLONES).items()
        for name in shipped.layouts_of(kind)
        if layouts.is_shipped(layout, name)
    ]
    scripts = [Offered(f"script:{name}", scripted.SCRIPTS[name].about) for name in scripted.names_for(layout)]
    simple = {"random": "does anything at random", "stay": "stands still"}
    return [*own, *ready, *scripts, *(Offered(name, simple.get(name, "")) for name in names.SIMPLE)]


def _below(place: Path) -> Iterator[tuple[float, Path]]:
    """Files that may hold an agent, and when they were written; while one looks, some may vanish."""
    for directory, below, files in os.walk(place):
        below[:] = [name for name in below if name not in _PASSED_OVER]
        for path in (Path(directory, name) for name in files if name.endswith(storage.SUFFIX)):
            with suppress(OSError):
                about = path.stat()
                if stat.S_ISREG(about.st_mode) and about.st_size <= _LARGEST:
                    yield about.st_mtime, path


def _read(path: Path) -> Iterator[AgentFile]:
    with suppress(InputError):
        yield _agent_file(path)


def _agent_file(path: Path) -> AgentFile:
    card, _ = storage.read(path)
    if card.kind not in names.KINDS:
        raise InputError(f"{path}: holds {shown(card.kind)}, not a single agent; known: {', '.join(names.KINDS)}")
    return AgentFile(path, card.fingerprint)
