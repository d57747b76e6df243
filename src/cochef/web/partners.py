"""Whom one can play with: what ships, and agents of one's own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cochef.agents import names, scripted, shipped, storage
from cochef.errors import InputError
from cochef.kitchen.layout import Layout

PLACES = (Path("runs"), Path("out"))  # where agents of one's own are looked for

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
    """The agent files below some directories, the newest first; files that hold no single agent are passed over."""
    found = [path for place in places for path in place.rglob(f"*{storage.SUFFIX}") if path.is_file()]
    newest = sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)[:_MOST_FILES]
    return [file for path in newest if path.stat().st_size <= _LARGEST for file in _read(path)]


def check_files(paths: Sequence[Path]) -> list[AgentFile]:
    """These agent files; complains about the first that cannot be used."""
    return [AgentFile(path, storage.read(path)[0].fingerprint) for path in paths]


def offered(layout: Layout, files: Sequence[AgentFile]) -> list[Offered]:
    """All partners for a kitchen: one's own first, then those that ship, scripts and the simplest."""
    own = [Offered(str(file.path), "an agent of your own") for file in files if file.fingerprint == layout.fingerprint]
    ready = [
        Offered(f"{kind}:{layout.name}", about)
        for kind, about in (shipped.AGENTS | shipped.CLONES).items()
        if layout.name in shipped.layouts_of(kind)
    ]
    scripts = [Offered(f"script:{name}", scripted.SCRIPTS[name].about) for name in scripted.names_for(layout)]
    simple = {"random": "does anything at random", "stay": "stands still"}
    return [*own, *ready, *scripts, *(Offered(name, simple.get(name, "")) for name in names.SIMPLE)]


def _read(path: Path) -> Iterator[AgentFile]:
    try:
        card, _ = storage.read(path)
    except InputError:
        return
    if card.kind in names.KINDS:
        yield AgentFile(path, card.fingerprint)
