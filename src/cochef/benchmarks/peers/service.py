"""What a peer's process does: it reads a question a line and answers each with a line, both JSON.

A question names something measurable, one of its methods, and the arguments:
`{"of": name, "ask": "rate", "seconds": s}` is answered by `{"answer": kitchen steps a second}`,
`{"of": name, "ask": "compile_seconds"}` by `{"answer": seconds}`, null where nothing is compiled,
and `{"of": name, "ask": "learn", "seed": k, "target": r, "most": n}`, of one that learns, by
`{"answer": a LearningTime}`.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Protocol, runtime_checkable

EPISODES = 64  # the last to end, over which the return of a learner is averaged


@dataclass(frozen=True)
class LearningTime:
    """How long one seed learned until its mean task return reached a target, or it stopped."""

    reached: bool
    mean_return: float | None  # over the last EPISODES; None before so many ended
    steps: int  # of all kitchens
    seconds: float  # without compiling
    compile_seconds: float


@runtime_checkable
class Measurable(Protocol):
    """Something whose rate can be measured."""

    def rate(self, seconds: float) -> float:
        """Kitchen steps a second, over at least so many seconds."""
        ...

    def compile_seconds(self) -> float | None:
        """How long the step takes to compile; None where nothing is compiled."""
        ...


def serve(measurables: Mapping[str, Measurable]) -> None:
    """Say who is ready, then answer until the questions end."""
    _say({"ready": list(measurables)})
    for line in sys.stdin:
        question = json.loads(line)
        ask = getattr(measurables[question.pop("of")], question.pop("ask"))
        _say({"answer": ask(**question)})


def _say(message: object) -> None:
    print(json.dumps(message, default=asdict), flush=True)
