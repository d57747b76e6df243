"""Which software computed something: the versions of its packages, and the commit of its source.

Loads no JAX: versions are those that are installed.
"""

import json
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

import cochef

# Those that decide what comes out; the rest is presentation.
_PACKAGES = ("jax", "jaxlib", "equinox", "optax", "numpy", "scipy")
_GIT_SECONDS = 10.0


def versions() -> dict[str, str]:
    """Versions of CoChef, Python and the packages that compute, and the kind of machine."""
    found = {"cochef": cochef.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        found[package] = metadata.version(package)
    return {**found, "machine": f"{platform.system()} {platform.machine()}"}


@cache
def processor() -> str:
    """The name of this machine's processor, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


@cache
def commit() -> str | None:
    """The commit of the source that runs, followed by + if files differ from it.

    None for a package that was installed from a registry: its version says what it is.
    """
    source = Path(cochef.__file__).parent
    # A package inside of somebody else's repository, such as in .venv, is not tracked there.
    if _git(source, "ls-files", "--error-unmatch", "__init__.py") is None:
        return _installed_commit()
    head = _git(source, "rev-parse", "HEAD")
    changes = _git(source, "status", "--porcelain", "--", ".")
    return f"{head}+" if head and changes else head


def _git(directory: Path, *words: str) -> str | None:
    """What git prints, or None where there is no git or no answer."""
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *words],
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _installed_commit() -> str | None:
    """The commit of a package that pip installed from a repository (PEP 610)."""
    try:
        origin = metadata.distribution("cochef").read_text("direct_url.json")
        return json.loads(origin or "{}").get("vcs_info", {}).get("commit_id")
    except (metadata.PackageNotFoundError, ValueError, AttributeError):
        return None
