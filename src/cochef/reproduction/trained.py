"""What the agents of the main comparison were trained with, from their stored settings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cochef import methods
from cochef.reproduction.origin import ResultOrigin
from cochef.reproduction.stored import Results, StoredResult

FIRST_STAGE = "population"  # kinds of jobs
SECOND_STAGE = "agents"

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Trained:
    """The settings of all trainings that the shown evaluations of all methods are made of."""

    first: Sequence[Settings]
    """Of populations."""
    second: Sequence[Settings]
    """Of adaptive agents."""
    begins: frozenset[str]
    """How adaptive agents began: transfer or scratch."""
    populations: frozenset[int]
    """How many populations evaluations have."""
    origin: ResultOrigin


def read(results: Results) -> Trained:
    """The trainings behind the main comparison, as far as it is stored."""
    layouts = dict.fromkeys(key.layout for key in results.current)
    cells = [
        results.select("evaluation", method, layout)
        for method in methods.names()
        for layout in layouts
    ]
    shown: list[StoredResult] = [result for cell in cells for result in cell]
    jobs = [job for result in shown for job in _jobs(result.description)]
    agents = [job for job in jobs if job["kind"] == SECOND_STAGE]
    return Trained(
        first=_different(job["config"] for job in jobs if job["kind"] == FIRST_STAGE),
        second=_different(job["config"] for job in agents),
        begins=frozenset("transfer" if "parents" in job["inputs"] else "scratch" for job in agents),
        populations=frozenset(len(cell) for cell in cells if cell),
        origin=results.origin(shown),
    )


def _jobs(description: Settings) -> Iterator[Settings]:
    """A job and all that it is made of."""
    yield description
    for job_input in description["inputs"].values():
        yield from _jobs(job_input)


def _different(found: Iterable[Settings]) -> list[Settings]:
    """Settings of training, each once, with what is beside them."""
    by_text = {repr((one["training"], one.get("sampling"))): one for one in found}
    return list(by_text.values())


def values(found: Iterable[Settings], name: str) -> list[Any]:
    """What a setting of training was, each once, in order."""
    return sorted({one["training"][name] for one in found})


def range_text(numbers: Sequence[int]) -> str:
    """The least and the most of some numbers."""
    least, most = min(numbers), max(numbers)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
