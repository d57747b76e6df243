"""Agents that come with the package: a file for each kind of agent and layout.

A kind is a clone of people or the name of the method that made the agent, with the preset `laptop`.
"""

from importlib import resources
from pathlib import Path

from cochef.agents import storage
from cochef.errors import InputError, did_you_mean

# Evaluations have both kinds of models of the people in the test half.
EVALUATION_CLONES = ("human-proxy", "human-2019")
CLONES = {
    "human-proxy": "imitates the people of the test half of the human games; for evaluation",
    "human-clone": "imitates the people of the train half of the human games",
    "human-2019": "imitates the people of the test half with the recipe of 2019, which the paper's "
    "human models had; one of five training seeds, drawn for each episode (#0 to #4: that one); "
    "for evaluation",
}


def path(kind: str, layout: str, directory: Path | None = None) -> Path:
    """The file of a kind of agent for a layout, whether it exists or not; in the package."""
    return (directory or _directory()) / f"{kind}-{layout}{storage.SUFFIX}"


def kinds() -> tuple[str, ...]:
    """The kinds of agents that ship for some layout."""
    return tuple(dict.fromkeys(kind for kind, _ in _kinds_and_layouts()))


def layouts_of(kind: str) -> tuple[str, ...]:
    """The layouts for which a kind of agent ships."""
    return tuple(layout for other, layout in _kinds_and_layouts() if other == kind)


def find(kind: str, layout: str) -> Path:
    """The file of a shipped agent."""
    available = layouts_of(kind)
    if layout not in available:
        problem = f"no {kind} for {layout!r} ships" if layout else f"write {kind}:LAYOUT"
        close = did_you_mean(layout, available)
        raise InputError(f"{problem}; {close}there are: {', '.join(available) or 'none'}")
    return path(kind, layout)


def _kinds_and_layouts() -> list[tuple[str, str]]:
    found = []
    for stem in sorted(file.stem for file in _directory().glob(f"*-*{storage.SUFFIX}")):
        # A kind's name may hold a hyphen; the names of the package's layouts do not.
        kind, _, layout = stem.rpartition("-")
        found.append((kind, layout))
    return found


def _directory() -> Path:
    return Path(str(resources.files("cochef.agents") / "data"))
