"""Peers run as processes of an environment of their own; this is the side that asks."""

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cochef
from cochef import interrupts
from cochef.benchmarks.peers.service import LearningTime
from cochef.errors import InputError

REMEDY = "`make bench` makes one from locks/peers.txt and measures"

# CoChef comes last on the path: a peer takes only the benchmark from it, and everything else from
# its own environment.
_BOOT = """
import runpy, sys
sys.path.append(sys.argv.pop(1))
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


class PeerError(InputError):
    """The environment of the peers is missing, or a peer in it failed."""


def interpreter(place: Path) -> Path:
    """Find the Python of the peers' environment, given that environment or the Python itself."""
    for python in (place / "bin" / "python", place / "Scripts" / "python.exe", place):
        if python.is_file():
            return python.absolute()
    raise PeerError(f"no environment for the peers at {str(place)!r}; {REMEDY}")


@dataclass(frozen=True)
class Peer:
    """One simulator, or learner, in a peer's process."""

    name: str
    process: "_Process"

    def rate(self, seconds: float) -> float:
        """Kitchen steps a second, over at least so many seconds."""
        return self._ask("rate", seconds=seconds)

    def compile_seconds(self) -> float | None:
        """How long the step takes to compile; None where nothing is compiled."""
        return self._ask("compile_seconds")

    def learn(self, seed: int, target: float, most: int) -> LearningTime:
        """Learn from scratch to a mean task return, or for at most so many steps."""
        return LearningTime(**self._ask("learn", seed=seed, target=target, most=most))

    def _ask(self, question: str, **arguments: int | float) -> Any:  # noqa: ANN401
        return self.process.ask({"of": self.name, "ask": question, **arguments})["answer"]


@contextlib.contextmanager
def running(python: Path, program: str, options: Mapping[str, Any]) -> Iterator[list[Peer]]:
    """Run a peer's program; the context gives its simulators or learners, ready to be measured."""
    with tempfile.TemporaryFile("w+") as complaints:
        source = str(Path(cochef.__file__).parents[1])
        arguments = [source, f"{__package__}.{program}", json.dumps(options)]
        with subprocess.Popen(
            [str(python), "-I", "-c", _BOOT, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        ) as child:
            process = _Process(program, child, complaints)
            try:
                with interrupts.cleaning_up(child.kill):
                    yield [Peer(name, process) for name in process.answer()["ready"]]
            finally:
                child.kill()


@dataclass(frozen=True)
class _Process:
    """A running program of a peer."""

    program: str
    child: subprocess.Popen[str]
    complaints: Any

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        assert self.child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.write(json.dumps(question) + "\n")
            self.child.stdin.flush()
        return self.answer()

    def answer(self) -> dict[str, Any]:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            if line.startswith("{"):  # libraries also print
                return json.loads(line)
        self.child.wait()
        self.complaints.seek(0)
        last = self.complaints.read().strip().splitlines()[-1:]
        reason = "".join(last) or "without a word"
        raise PeerError(f"the peer {self.program} failed ({reason}); {REMEDY}")
