"""Compiled programs kept on disk, so that a second run starts at once."""

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
