"""Process-wide settings."""

import os
import subprocess
import sys

import pytest

ON_ONE_CORE = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from cochef import runtime
print(runtime.cores())
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_a_process_that_is_bound_to_one_core_uses_one():
    found = subprocess.run([sys.executable, "-c", ON_ONE_CORE], capture_output=True, check=True)
    assert found.stdout.split() == [b"1"]
