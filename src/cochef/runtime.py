"""Process-wide settings of JAX; only entry points call this.

They are the command line, the public interface and the tests.
"""

import contextlib
import os
import sys
from pathlib import Path

# A program that compiles faster than this is not worth a file on disk.
_LEAST_COMPILE_SECONDS = 0.2
_COMPILE_SETTINGS = ("COCHEF_CACHE", "JAX_DISABLE_MOST_OPTIMIZATIONS", "XLA_FLAGS")


def cache_directory(part: str = "compiled") -> Path:
    """Where what can be made anew is kept: in COCHEF_CACHE, or in the user's cache directory."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("COCHEF_CACHE") or Path(home) / "cochef") / part


def keep_compiled_programs() -> None:
    """Keep compiled programs on disk, so that a second run starts at once; does not load JAX."""
    _configure("jax_compilation_cache_dir", str(cache_directory()))
    _configure("jax_persistent_cache_min_compile_time_secs", _LEAST_COMPILE_SECONDS)


def compile_quickly() -> None:
    """Compile programs fast, which then run slower: for trials that are mostly compiling."""
    _configure("jax_disable_most_optimizations", 1)
    os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # JAX cannot be asked for it later


def compile_settings() -> dict[str, str]:
    """Variables that make other processes compile programs as this one, and keep them there."""
    return {name: os.environ[name] for name in _COMPILE_SETTINGS if name in os.environ}


def keep_compiled_programs_unless_kept() -> None:
    """Keep compiled programs on disk, unless whoever imports us has chosen a place for them.

    Also if JAX is loaded and has compiled something already.
    """
    import jax  # noqa: PLC0415  (this module is also for those who do not need JAX)
    from jax.experimental.compilation_cache import compilation_cache  # noqa: PLC0415

    if jax.config.jax_compilation_cache_dir is None:  # pyright: ignore[reportAttributeAccessIssue]
        keep_compiled_programs()
        compilation_cache.reset_cache()


def use_all_cores() -> None:
    """Make every core of a CPU a device, among which populations are divided.

    This has no effect once JAX has computed something.
    """
    use_cores(cores())


def cores() -> int:
    """How many cores this process may use: those of the machine, or fewer by `taskset` or Slurm."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows do not have it
        return os.cpu_count() or 1


def use_cores(number: int) -> None:
    """Make some cores of a CPU a device each, before JAX has computed something.

    Results have the same bits on machines with other numbers of cores.
    """
    # XLA divides large products among so many threads, else by the cores that it finds.
    os.environ["NPROC"] = str(number)
    if number > 1:
        # JAX refuses to change the number of devices after its backend has started.
        with contextlib.suppress(RuntimeError):
            _configure("jax_num_cpu_devices", number)


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
