"""Refuses to compute in a process that was forked from one in which JAX already ran.

JAX computes in threads, and a forked process has none of them: it would wait forever.
"""

import os
import sys

from cochef.errors import InputError

_REFUSAL = (
    "this process was forked after JAX had begun to compute, and would wait forever; start the "
    'processes anew instead (context="spawn" or "forkserver" for Gymnasium\'s AsyncVectorEnv, '
    'start_method="spawn" for SubprocVecEnv), or step all kitchens in one process: '
    'gymnasium.make_vec("cochef.envs:CoChef/cramped_room-v0", num_envs=256)'
)

_state = {"computes": False, "is_stuck": False}


def check() -> None:
    """Refuse where JAX computed before the fork."""
    if _state["is_stuck"]:
        raise InputError(_REFUSAL)


def computing_begins() -> None:
    """Note that the environments compute in this process from now on."""
    _state["computes"] = True


def _after_fork() -> None:
    bridge = sys.modules.get("jax._src.xla_bridge")
    # JAX does not tell publicly whether its devices are in use.
    others_compute = bridge is not None and bridge.backends_are_initialized()
    _state["is_stuck"] = _state["is_stuck"] or _state["computes"] or others_compute


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
