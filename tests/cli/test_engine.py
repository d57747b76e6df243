"""The arguments that say where jobs run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cluster.writing import Write

from cochef.cli.engine import EngineArguments
from cochef.errors import InputError
from cochef.experiments.jobs import Job
from cochef.experiments.ray_engine import JobResources
from cochef.runtime import cores

GIB = 1024**3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("address", "127.0.0.1:6379"),
        ("store", "s3://bucket"),
        ("scratch", Path("there")),
        ("job_gpus", 0.5),
        ("job_memory", 4.0),
        ("retries", 0),
    ],
)
def test_what_only_a_cluster_has_is_refused_by_the_local_engine(name, value):
    flag = name.replace("_", "-")
    with pytest.raises(InputError, match=f"{flag} is {value}; it is for --engine ray"):
        EngineArguments(**{name: value}).make()


def test_arguments_that_are_not_given_are_those_of_the_documentation():
    assert EngineArguments("ray").make().resources == JobResources(cores(), 0.0, 2.0, 3)


def test_a_task_of_ray_has_what_a_job_was_given():
    given = EngineArguments("ray", job_cpus=7, job_gpus=0.5, job_memory=4.0, retries=0)
    resources = given.make().resources
    evaluation = Job(Write("a"), "evaluation")
    expected = {"num_cpus": 7, "num_gpus": 0, "memory": 4 * GIB, "max_retries": 0}
    assert resources.options(evaluation) == expected | {"name": evaluation.name}
    training = Job(Write("a", config={"training": {}}), "training")
    assert resources.options(training)["num_gpus"] == 0.5  # only jobs that train use one


@pytest.mark.parametrize(
    ("name", "value"), [("job_cpus", 0), ("job_gpus", -1.0), ("job_memory", 0.0), ("retries", -1)]
)
def test_resources_that_no_job_can_have_are_refused(name, value):
    with pytest.raises(InputError, match=f"{name.replace('_', '-')} is {value:g}"):
        EngineArguments("ray", **{name: value}).make()


# Of many samples, as in a gradient: threads add up parts of it.
BITS_OF_A_PRODUCT = """
import os, sys
number = int(sys.argv[1]) if len(sys.argv) > 1 else None
if number is None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from cochef.cli.engine import EngineArguments
EngineArguments(job_cpus=number).use_cores()
import jax, numpy as np
inputs = np.random.default_rng(0).random((3200, 64), "f4")
print(np.asarray(jax.jit(lambda inputs: inputs.T @ inputs)(inputs)).tobytes().hex())
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_jobs_with_one_core_have_the_bits_of_a_machine_with_one():
    command = [sys.executable, "-c", BITS_OF_A_PRODUCT]
    found = [
        subprocess.run([*command, *more], capture_output=True, check=True, timeout=120).stdout
        for more in ([], ["1"])
    ]
    assert found[0] == found[1] != b""


def test_the_local_engine_loads_nothing_of_a_cluster(tmp_path):
    """It runs jobs in an environment without Ray and fsspec."""
    program = """
import sys
from pathlib import Path
sys.modules["ray"] = sys.modules["fsspec"] = None  # importing them is an error
from pathlib import Path
from cochef.cli.engine import EngineArguments
from cochef.experiments.jobs import JobStore, in_order
from tests.cluster.writing import diamond
goal = diamond()
store = JobStore(Path(sys.argv[1]))
EngineArguments().make().run(in_order([goal]), store, lambda job: [], print)
print((store.directory(goal) / "text").read_text())
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.splitlines()[-1:] == ["abacd"], done.stderr
