"""Process-wide settings of JAX. Only entry points call this: the command line and the tests."""

import contextlib
import os
import sys
from pathlib import Path

# A program that compiles faster than this is not worth a file on disk.
_LEAST_COMPILE_SECONDS = 0.2


def cache_directory() -> Path:
    """Where compiled programs are kept: COCHEF_CACHE, or the user's cache directory."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("COCHEF_CACHE") or Path(home) / "cochef") / "compiled"


def keep_compiled_programs() -> None:
    """Keep compiled programs on disk, so that a second run starts at once; does not load JAX."""
    _configure("jax_compilation_cache_dir", str(cache_directory()))
    _configure("jax_persistent_cache_min_compile_time_secs", _LEAST_COMPILE_SECONDS)


def use_all_cores() -> None:
    """Make every core of a CPU a device, among which populations are divided.

    This has no effect once JAX has computed something.
    """
    cores = os.cpu_count() or 1
    if cores > 1:
        # JAX refuses to change the number of devices after its backend has started.
        with contextlib.suppress(RuntimeError):
            _configure("jax_num_cpu_devices", cores)


def compute_in_calling_thread() -> None:
    """Run programs in the thread that calls them.

    For a server's clock: a tick is too small to be handed to another thread and awaited.
    """
    _configure("jax_cpu_enable_async_dispatch", False)


def _configure(name: str, value: str | int | float) -> None:
    """Set an option of JAX: in the environment before JAX is loaded, directly afterwards."""
    if "jax" in sys.modules:
        sys.modules["jax"].config.update(name, value)
    else:
        os.environ[name.upper()] = str(value)
