"""`cochef doctor`: whether everything is here that CoChef needs."""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from cochef.cli.output import JsonOption, print_json, print_rows

REQUIRED = (
    *("jax", "numpy", "equinox", "optax", "jaxtyping", "safetensors"),
    *("scipy", "pillow", "matplotlib", "tyro"),
)
OPTIONAL = {"gymnasium": "envs", "pettingzoo": "envs", "pygame-ce": "envs"}
OLDEST_PYTHON = (3, 11)
ENOUGH_DISK = 2 * 1024**3


@dataclass(frozen=True)
class Finding:
    """One thing looked at: whether it is well, what was found, and what to do if it is not."""

    what: str
    well: bool
    found: str
    remedy: str = ""


@dataclass
class Doctor:
    """Check Python, JAX and its devices, versions and free disk; say how to get what is missing."""

    json: JsonOption = False

    def run(self) -> int:
        """Print the findings; 1 if something needed is missing."""
        findings = list(examine())
        rows = []
        styles = []
        for finding in findings:
            rows.append(
                {
                    "": _mark(finding),
                    "what": finding.what,
                    "found": finding.found,
                    "what to do": finding.remedy,
                }
            )
            styles.append("" if finding.well else "red" if finding.remedy else "dim")
        if self.json:
            print_json([asdict(finding) for finding in findings])
        else:
            print_rows(rows, "CoChef doctor", whole=("what",), styles=styles)
        needed = [finding for finding in findings if finding.what not in OPTIONAL]
        return 0 if all(finding.well for finding in needed) else 1


def examine() -> Iterator[Finding]:
    """Check everything that CoChef needs, one by one."""
    yield _needed(
        "Python", sys.version_info >= OLDEST_PYTHON, platform.python_version(), "use 3.11 or newer"
    )
    yield Finding("cores", True, f"{os.cpu_count()} ({platform.machine()})")
    for package in REQUIRED:
        yield _package(package, "pip install cochef")
    for package, extra in OPTIONAL.items():
        yield _package(package, f'pip install "cochef[{extra}]" (optional)')
    if importlib.util.find_spec("jax"):
        yield from _jax()
    free = shutil.disk_usage(".").free
    yield _needed("free disk", free > ENOUGH_DISK, f"{free / 1024**3:.1f} GiB", "free 2 GiB")
    yield _video()


def _mark(finding: Finding) -> str:
    if finding.well:
        return "ok"
    return "missing" if finding.remedy else "-"


def _needed(what: str, well: bool, found: str, remedy: str) -> Finding:
    """A finding with a remedy only where something is amiss."""
    return Finding(what, well, found, "" if well else remedy)


def _package(name: str, remedy: str) -> Finding:
    try:
        return Finding(name, True, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, False, "not installed", remedy)


def _jax() -> Iterator[Finding]:
    import jax
    import jax.numpy as jnp

    from cochef.runtime import cache_directory

    devices = ", ".join(f"{device.platform}:{device.id}" for device in jax.devices())
    works = float(jnp.arange(4.0).sum()) == 6.0
    yield _needed("JAX computes", works, devices, "reinstall jax and jaxlib")
    directory = cache_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        writable = os.access(directory, os.W_OK)
    except OSError:
        writable = False
    remedy = "set COCHEF_CACHE to a directory you can write to"
    yield _needed("compiled programs", writable, str(directory), remedy)


def _video() -> Finding:
    try:
        import imageio_ffmpeg

        return Finding("MP4 encoder", True, imageio_ffmpeg.get_ffmpeg_version())
    except (ImportError, RuntimeError) as error:
        return Finding("MP4 encoder", False, str(error), "pip install imageio-ffmpeg")
