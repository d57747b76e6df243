"""Compiled programs: kept on disk, so that a second run starts at once, and spread over all cores."""

import contextlib
import os
from pathlib import Path

import jax


def cache_directory() -> Path:
    """Where compiled programs are kept: COCHEF_CACHE, or the user's cache directory."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("COCHEF_CACHE") or Path(home) / "cochef") / "compiled"


def keep_compiled() -> None:
    """Keep every program that takes a noticeable time to compile."""
    jax.config.update("jax_compilation_cache_dir", str(cache_directory()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)


def use_all_cores() -> None:
    """Make every core of a CPU a device, among which populations are divided; too late once JAX has started."""
    cores = os.cpu_count() or 1
    if cores > 1:
        with contextlib.suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", cores)
