"""The scripts and descriptions that start clusters are what shells, KubeRay and `cochef` read."""

import shlex
import subprocess

import pytest
import yaml

from tests.cluster.processes import REPOSITORY

CLUSTER = REPOSITORY / "cluster"


@pytest.mark.parametrize("name", ["by_hand.sh", "slurm.sh"])
def test_a_shell_reads_the_script(name):
    command = ["bash", "-n", str(CLUSTER / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_script_by_hand_says_how_it_is_used():
    command = ["bash", str(CLUSTER / "by_hand.sh")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    for word in ("head ADDRESS", "node ADDRESS", "stop"):
        assert f"cluster/by_hand.sh {word}" in done.stdout


def test_the_job_for_kuberay_has_a_token_and_a_command_that_cochef_takes(cochef, tmp_path):
    job = yaml.safe_load((CLUSTER / "kuberay.yaml").read_text())
    assert job["kind"] == "RayJob"
    ray_cluster = job["spec"]["rayClusterSpec"]
    assert ray_cluster["authOptions"] == {"mode": "token"}
    # A job needs a whole node, so it asks for as many cores as a node has.
    words = shlex.split(job["spec"]["entrypoint"])
    cores = words[words.index("--job-cpus") + 1]
    (workers,) = ray_cluster["workerGroupSpecs"]
    (container,) = workers["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["cpu"] == cores
    words[words.index("--out") + 1] = tmp_path
    code, printed = cochef(*words[1:], "--plan")
    assert code == 0, printed
    assert "shard-population-biased-distant_tomato-00" in printed
