"""`cochef doctor`: whether everything is here that CoChef needs."""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

REQUIRED = ("jax", "numpy", "equinox", "optax", "jaxtyping", "safetensors", "scipy", "pillow", "matplotlib", "tyro")
OPTIONAL = {"gymnasium": "envs", "pettingzoo": "envs"}
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
    """Look at Python, JAX and its devices, versions and free disk; say what is missing and how to get it."""

    def run(self) -> int:
        """Print the findings; 1 if something needed is missing."""
        findings = list(examine())
        table = Table("", "what", "found", "what to do", title="CoChef doctor")
        for finding in findings:
            mark = "[green]ok[/]" if finding.well else "[red]missing[/]" if finding.remedy else "-"
            table.add_row(mark, finding.what, finding.found, finding.remedy)
        Console().print(table)
        needed = [finding for finding in findings if finding.what not in OPTIONAL]
        return 0 if all(finding.well for finding in needed) else 1


def examine() -> Iterator[Finding]:
    """Everything that CoChef needs, one by one."""
    version = platform.python_version()
    yield Finding(
        "Python", sys.version_info >= (3, 11), version, "" if sys.version_info >= (3, 11) else "use 3.11 or newer"
    )
    yield Finding("cores", True, f"{os.cpu_count()} ({platform.machine()})")
    for package in REQUIRED:
        yield _package(package, "pip install cochef")
    for package, extra in OPTIONAL.items():
        yield _package(package, f'pip install "cochef[{extra}]" (optional)')
    if importlib.util.find_spec("jax"):
        yield from _jax()
    free = shutil.disk_usage(".").free
    yield Finding(
        "free disk", free > ENOUGH_DISK, f"{free / 1024**3:.1f} GiB", "" if free > ENOUGH_DISK else "free 2 GiB"
    )
    yield _video()


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
    yield Finding("JAX computes", works, devices, "" if works else "reinstall jax and jaxlib")
    directory = cache_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        writable = os.access(directory, os.W_OK)
    except OSError:
        writable = False
    remedy = "" if writable else "set COCHEF_CACHE to a directory you can write to"
    yield Finding("compiled programs", writable, str(directory), remedy)


def _video() -> Finding:
    try:
        import imageio_ffmpeg

        return Finding("MP4 encoder", True, imageio_ffmpeg.get_ffmpeg_version())
    except (ImportError, RuntimeError) as error:
        return Finding("MP4 encoder", False, str(error), "pip install imageio-ffmpeg")
