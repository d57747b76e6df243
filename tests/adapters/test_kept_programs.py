"""Environments used from Python keep their compiled programs on disk, as the commands do."""

import os
import subprocess
import sys

import pytest

STEP_PETTINGZOO = """
from cochef.adapters.pettingzoo import ParallelKitchen
env = ParallelKitchen("cramped_room")
env.reset(seed=0)
env.step({"chef_0": 4, "chef_1": 4})
"""
STEP_JAXMARL = """
import jax
from cochef.adapters.jaxmarl import MultiAgentKitchen
env = MultiAgentKitchen("cramped_room")
_, state = jax.jit(env.reset)(jax.random.key(0))
jax.jit(env.step)(jax.random.key(1), state, {"agent_0": 4, "agent_1": 4})
"""
IMPORT = "import cochef.adapters.pettingzoo, cochef.adapters.jaxmarl, jax\n"


def run(script, cache, **variables):
    removed = ("JAX_COMPILATION_CACHE_DIR", "COCHEF_CACHE")
    environment = {name: value for name, value in os.environ.items() if name not in removed}
    environment |= {"COCHEF_CACHE": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, env=environment | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def kept(cache, program):
    """The files of the compiled programs of a function."""
    return [path.name for path in (cache / "compiled").glob(f"jit_{program}-*-cache")]


@pytest.mark.parametrize(
    ("script", "program"),
    [(STEP_PETTINGZOO, "marked"), (STEP_JAXMARL, "step")],
    ids=["pettingzoo", "jaxmarl"],
)
def test_the_program_of_a_step_is_kept_on_disk_and_found_again(script, program, tmp_path):
    run(script, tmp_path)
    first = kept(tmp_path, program)
    assert len(first) == 1
    run(script, tmp_path)
    assert kept(tmp_path, program) == first


def test_a_place_that_somebody_else_has_chosen_is_left_alone(tmp_path):
    other = tmp_path / "other"
    run(STEP_PETTINGZOO, tmp_path / "ours", JAX_COMPILATION_CACHE_DIR=str(other))
    assert not (tmp_path / "ours").exists()


def test_importing_environments_sets_nothing(tmp_path):
    script = IMPORT + "print(jax.config.jax_compilation_cache_dir)"
    assert run(script, tmp_path).strip() == "None"
