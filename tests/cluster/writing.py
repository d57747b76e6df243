"""Small jobs that write words to files, for tests of engines and stores."""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from cochef.errors import InputError
from cochef.experiments.jobs import Job


@dataclass(frozen=True)
class Write:
    """Write the text of the inputs, and a word, after some time; note every attempt in a file."""

    word: str
    seconds: float = 0.0
    notes: Path | None = None
    error: str | None = None
    config: dict = field(default_factory=dict)
    kind: str = "write"
    version: int = 1
    on_driver: bool = False

    def run(self, context):
        if self.notes:
            with self.notes.open("a") as file:
                file.write(f"{self.word} {os.getpid()}\n")
        before = "".join((path / "text").read_text() for path in context.inputs.values())
        time.sleep(self.seconds)
        if self.error:
            raise InputError(self.error)
        (context.directory / "text").write_text(before + self.word)


def diamond(first_on_driver=False, **settings):
    """Four jobs: two need the first, the last one needs both."""
    first = Job(Write("a", config={"of": 0}, on_driver=first_on_driver, **settings), "a")
    left = Job(Write("b", config={"of": 1}, **settings), "b", {"first": first})
    right = Job(Write("c", config={"of": 2}, **settings), "c", {"first": first})
    return Job(Write("d", config={"of": 3}, **settings), "d", {"left": left, "right": right})
