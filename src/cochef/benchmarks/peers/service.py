"""What a peer's process does: it reads a question a line and answers each with a line, both JSON.

`{"of": name, "ask": "rate", "seconds": s}` is answered by `{"answer": kitchen steps a second}`, and
`{"of": name, "ask": "compile_seconds"}` by `{"answer": seconds}`, null where nothing is compiled.
"""

import json
import sys
from collections.abc import Mapping
from typing import Protocol, runtime_checkable


@runtime_checkable
class Contender(Protocol):
    """Something whose rate can be measured."""

    def rate(self, seconds: float) -> float:
        """Kitchen steps a second, over at least so many seconds."""
        ...

    def compile_seconds(self) -> float | None:
        """How long the step takes to compile."""
        ...


def serve(contenders: Mapping[str, Contender]) -> None:
    """Say who is ready, then answer until the questions end."""
    _say({"ready": list(contenders)})
    for line in sys.stdin:
        question = json.loads(line)
        contender = contenders[question["of"]]
        rate = question["ask"] == "rate"
        _say({"answer": contender.rate(question["seconds"]) if rate else contender.compile_seconds()})


def _say(message: object) -> None:
    print(json.dumps(message), flush=True)
