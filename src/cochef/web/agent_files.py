"""Which files an agent's name stands for, so that a study notices when one of them has changed."""

import hashlib
from pathlib import Path

from cochef.agents import shipped, storage


def checksums(name: str) -> list[str]:
    """SHA-256 of every file that is loaded for an agent's name, in order; nothing for scripts and the simplest."""
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in files_of(name)]


def files_of(name: str) -> list[Path]:
    """The files that are loaded for an agent's name, as `cochef.agents.names` reads it, if they are there."""
    name = name.strip()
    if _file(name) or not {"+", "*"} & set(name):
        return _unmodified(name)
    return [path for part in name.split("+") for path in _unmodified(part.partition("*")[2].strip())]


def _unmodified(name: str) -> list[Path]:
    base, at, _ = name.rpartition("@")
    return _plain(base if at and not _file(name) else name)


def _plain(name: str) -> list[Path]:
    kind, _, layout = name.partition(":")
    if kind in shipped.KINDS:
        return [shipped.path(kind, layout)] if layout in shipped.layouts_of(kind) else []
    path = _file(name)
    return [] if path is None else [path]


def _file(name: str) -> Path | None:
    for path in (Path(name), Path(name + storage.SUFFIX)):
        try:
            if path.is_file():
                return path
        except (OSError, ValueError):  # a name that no system allows
            continue
    return None
