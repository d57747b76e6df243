"""Where numbers are from: the configuration and the commits of their results, as marks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

OTHER_CONFIGURATION = "†"
SEVERAL_COMMITS = "‡"

MEANINGS: Mapping[str, str] = {
    OTHER_CONFIGURATION: "of another configuration or version than this program would run",
    SEVERAL_COMMITS: "of several commits of the code",
}
"""What the marks mean."""


@dataclass(frozen=True)
class ResultOrigin:
    """Where a number is from."""

    is_current: bool = True
    """Whether this program would run all its results with the same configuration now."""
    commits: frozenset[str] = frozenset()
    """Of the code that made the results and their inputs, where they are known."""

    @property
    def is_of_one_commit(self) -> bool:
        """Whether one commit made all of it, as far as it is known."""
        return len(self.commits) <= 1

    @property
    def marks(self) -> str:
        """A dagger if it is not current, a double dagger if it is of several commits."""
        marks = "" if self.is_current else OTHER_CONFIGURATION
        if not self.is_of_one_commit:
            marks += SEVERAL_COMMITS
        return f" {marks}" if marks else ""


CURRENT = ResultOrigin()
"""Of results as this program would run them, by commits that are not known."""


def key(texts: Iterable[str]) -> dict[str, str]:
    """What those marks mean that are in some texts."""
    every = "".join(texts)
    return {mark: meaning for mark, meaning in MEANINGS.items() if mark in every}


def together(origins: Iterable[ResultOrigin]) -> ResultOrigin:
    """Where a number is from that is made of several."""
    found = list(origins)
    return ResultOrigin(
        is_current=all(one.is_current for one in found),
        commits=frozenset().union(*(one.commits for one in found)),
    )
