"""`cochef doctor`: whether everything is here that CoChef needs."""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from cochef.cli.output import JsonOption, print_json, print_rows
from cochef.errors import how_to_install

REQUIRED = (
    *("jax", "numpy", "equinox", "optax", "jaxtyping", "safetensors"),
    *("scipy", "pillow", "matplotlib", "tyro"),
)
EXTRAS = {
    "web": ("fastapi", "flatbuffers", "sqlalchemy", "uvicorn", "websockets"),
    "study": ("pyarrow", "statsmodels"),
    "envs": ("gymnasium", "pettingzoo", "pygame-ce"),
    "cluster": ("fsspec", "gcsfs", "ray", "s3fs"),
    "tensorboard": ("tensorboardX",),
    "postgres": ("psycopg",),
}
OLDEST_PYTHON = (3, 11)
ENOUGH_DISK = 2 * 1024**3


@dataclass(frozen=True)
class Finding:
    """One thing looked at: whether it is well, what was found, and what to do if it is not."""

    what: str
    well: bool
    found: str
    remedy: str = ""
    optional: bool = False


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
            styles.append("" if finding.well else "dim" if finding.optional else "red")
        if self.json:
            print_json([asdict(finding) for finding in findings])
        else:
            print_rows(rows, "CoChef doctor", whole=("what",), styles=styles)
        return 0 if all(finding.well or finding.optional for finding in findings) else 1


def examine() -> Iterator[Finding]:
    """Check everything that CoChef needs, one by one."""
    yield _needed(
        "Python", sys.version_info >= OLDEST_PYTHON, platform.python_version(), "use 3.11 or newer"
    )
    yield Finding("cores", True, f"{os.cpu_count()} ({platform.machine()})")
    for package in REQUIRED:
        found = _version(package)
        yield _needed(package, found is not None, found or "not installed", how_to_install())
    for extra, packages in EXTRAS.items():
        yield _extra(extra, packages)
    if importlib.util.find_spec("jax"):
        yield from _jax()
    free = shutil.disk_usage(".").free
    yield _needed("free disk", free > ENOUGH_DISK, f"{free / 1024**3:.1f} GiB", "free 2 GiB")
    yield _video()


def _mark(finding: Finding) -> str:
    if finding.well:
        return "ok"
    return "-" if finding.optional else "missing"


def _needed(what: str, well: bool, found: str, remedy: str) -> Finding:
    """A finding with a remedy only where something is amiss."""
    return Finding(what, well, found, "" if well else remedy)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _extra(extra: str, packages: Sequence[str]) -> Finding:
    """An optional part: the versions of its packages, or which of them are missing."""
    versions = {package: _version(package) for package in packages}
    missing = [package for package, version in versions.items() if version is None]
    if missing:
        remedy = f"optional: {how_to_install(extra)}"
        return Finding(f"extra {extra}", False, f"no {', '.join(missing)}", remedy, optional=True)
    found = ", ".join(f"{package} {version}" for package, version in versions.items())
    return Finding(f"extra {extra}", True, found, optional=True)


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
