import subprocess
import sys

PROGRAM = """
import gymnasium

def main(begin_first, context):
    if begin_first:
        env = gymnasium.make("cochef.envs:CoChef/cramped_room-v0", partner="stay")
        env.reset(seed=0)
    envs = gymnasium.make_vec(
        "cochef.envs:CoChef/cramped_room-v0",
        num_envs=2,
        vectorization_mode="async",
        vector_kwargs={"context": context},
        partner="stay",
    )
    print(envs.reset(seed=0)[0].shape)
    print(envs.step(envs.action_space.sample())[0].shape)
    envs.close()

if __name__ == "__main__":
    main(%s)
"""


def test_gymnasiums_own_processes_step_kitchens_if_nothing_was_computed_before(tmp_path):
    result = _run("False, 'fork'", tmp_path)
    assert result.stdout.split("\n")[:2] == ["(2, 73)", "(2, 73)"], result.stderr


def test_a_fork_after_jax_began_to_compute_is_refused_and_does_not_hang(tmp_path):
    result = _run("True, 'fork'", tmp_path)
    assert result.returncode != 0
    assert "this process was forked after JAX had begun to compute" in result.stderr
    assert 'context="spawn"' in result.stderr


def _run(arguments, place):
    program = place / "program.py"
    program.write_text(PROGRAM % arguments)
    return subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=240, check=False
    )
