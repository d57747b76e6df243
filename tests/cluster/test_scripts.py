"""The scripts and descriptions that start clusters are what shells, KubeRay and `cochef` read."""

import os
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml

from tests.cluster.processes import REPOSITORY, output, start

CLUSTER = REPOSITORY / "cluster"
# Slurm's commands where all nodes are this machine.
STAND_INS = {
    "srun": 'while [[ "$1" == --* ]]; do shift; done; exec "$@"',
    "scontrol": "echo first; echo second",
    "hostname": "echo 127.0.0.1",
}


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


@pytest.fixture
def slurm(environment, tmp_path, monkeypatch):
    """What a job of Slurm finds, with stand-ins for its commands."""
    for name, text in STAND_INS.items():
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
    found = [str(tmp_path / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    monkeypatch.setenv("PATH", os.pathsep.join(found))
    monkeypatch.setenv("SLURM_JOB_ID", str(free_port() - 20_000))
    monkeypatch.setenv("SLURM_SUBMIT_DIR", str(tmp_path))
    monkeypatch.setenv("SLURM_JOB_NODELIST", "[first,second]")
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "1")
    return tmp_path


def free_port():
    """A free port below those that the system gives away."""
    for port in range(20_000, 30_000):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)):
                return port
    pytest.fail("no free port")


@pytest.mark.long
def test_a_job_of_slurm_runs_on_two_nodes_with_a_token_of_its_own(slurm, narrow):
    words = ["run", "--layout", narrow, "--method", "sp", "--preset", "smoke"]
    words += ["--shard-members", 1, "--out", slurm / "out"]
    process = start(["bash", CLUSTER / "slurm.sh", *words])
    token = slurm / f".ray_token_{os.environ['SLURM_JOB_ID']}"
    started = set()
    while process.poll() is None:
        started.update(psutil.Process(process.pid).children(recursive=True))
        if token.exists():
            assert token.stat().st_mode & 0o777 == 0o600
        time.sleep(0.1)
    printed = output(process)[0]
    assert process.returncode == 0, printed
    assert len(list((slurm / "store" / "jobs").glob("shard-population-*/complete.json"))) == 2
    assert list((slurm / "out" / "jobs").glob("report-*/report.html"))
    assert not token.exists()
    raylets = [child for child in started if "/raylet " in " ".join(child_command(child))]
    _, alive = psutil.wait_procs(raylets, timeout=60)
    for child in alive:
        child.kill()
    assert not alive


def child_command(process):
    """The words of a process; none if it has ended."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []
