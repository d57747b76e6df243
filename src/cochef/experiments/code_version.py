"""Which code a process runs: the same everywhere in a cluster, or results would differ."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import cochef

_DIGITS = 12


@dataclass(frozen=True)
class CodeVersion:
    """The versions that decide a result."""

    cochef: str
    code: str  # the first digits of the checksum of the package's files
    jax: str

    def __str__(self) -> str:
        """For messages."""
        return f"cochef {self.cochef} (code {self.code}, jax {self.jax})"


@lru_cache(maxsize=1)
def code_version() -> CodeVersion:
    """The versions of this process."""
    digest = hashlib.sha256()
    package = Path(cochef.__file__).parent
    for path in sorted(package.rglob("*.py")):
        digest.update(f"\n{path.relative_to(package).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    return CodeVersion(cochef.__version__, digest.hexdigest()[:_DIGITS], version("jax"))
