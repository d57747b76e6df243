"""The tutorial of own agents, followed word by word with PyTorch, which is no dependency."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "own_agent.md"
SERVERS = "cochef play"


def blocks(language):
    """The page's blocks of code in a language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def commands(block):
    """The commands of a block of shell code, without those that serve until somebody leaves."""
    lines = block.replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if not line.startswith(SERVERS)]


def run(words, directory):
    """What a command prints, in the directory of the agent's file."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        words, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def cochef(words, directory):
    assert words[0] == "cochef"
    return run([sys.executable, "-m", *words], directory)


@pytest.mark.long
def test_the_pytorch_agents_of_the_page_cook_with_every_partner(tmp_path):
    pytest.importorskip("torch", reason="the tutorial's agents are in PyTorch")
    agent, from_python, recurrent, *_ = blocks("python")
    (tmp_path / "my_agent.py").write_text(f"{agent}\n\n{recurrent}")
    first, others, *_ = blocks("sh")
    for words in [*commands(first), *commands(others)]:
        printed = cochef(words, tmp_path)
        if words[1] == "evaluate":
            assert "script:onion_placement_and_delivery" in printed
            assert re.search(r"my_agent:MyAgent: [\d,]+ calls", printed)
    assert (tmp_path / "film.gif").stat().st_size > 0
    assert (tmp_path / "results" / "episodes.csv").exists()
    assert float(run([sys.executable, "-c", from_python], tmp_path)) >= 0.0
    words = "cochef evaluate --layout coordination_ring --agents my_agent:MyRecurrentAgent"
    printed = cochef([*words.split(), "--partners", "stay", "--episodes", "2"], tmp_path)
    assert "my_agent:MyRecurrentAgent: 801 calls" in printed


def test_the_page_has_the_blocks_that_are_followed():
    agent, from_python, recurrent, *_ = blocks("python")
    assert "class MyAgent" in agent
    assert "cochef.evaluate" in from_python
    assert "class MyRecurrentAgent" in recurrent
    first, others, *_ = blocks("sh")
    named = [words[1] for words in [*commands(first), *commands(others)]]
    assert named == ["evaluate", "watch", "watch", "evaluate"]
