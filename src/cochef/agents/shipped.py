"""Agents that come with the package: clones of people, and what the methods made of the preset `laptop`."""

from functools import cache
from importlib import resources
from pathlib import Path

from cochef.agents import storage
from cochef.errors import InputError

CLONES = {
    "human-proxy": "imitates the people of the test half of the human games; for measuring",
    "human-clone": "imitates the people of the train half of the human games",
}
AGENTS = {
    "hsp": "gets along with anybody: trained with biased policies and MEP's (HSP, the paper's method)",
    "fcp": "trained with self-play policies of three levels of skill (FCP)",
    "mep": "trained with policies of a maximum entropy population (MEP)",
    "trajdiv": "trained with policies of different trajectories (TrajDiv)",
    "sp": "trained with itself",
}
KINDS = CLONES | AGENTS


def path(kind: str, layout: str) -> Path:
    """Where the agent of a kind and a kitchen stands, if there is one."""
    return Path(str(resources.files("cochef.agents") / "data")) / f"{kind}-{layout}{storage.SUFFIX}"


@cache
def layouts_of(kind: str) -> tuple[str, ...]:
    """The kitchens for which a kind of agent ships."""
    paths = path(kind, "any").parent.glob(f"{kind}-*{storage.SUFFIX}")
    return tuple(sorted(found.stem.removeprefix(f"{kind}-") for found in paths))


def find(kind: str, layout: str) -> Path:
    """The file of a shipped agent."""
    there = layouts_of(kind)
    if layout not in there:
        which = f"write {kind}:LAYOUT" if not layout else f"no {kind} for {layout!r} ships"
        raise InputError(f"{which}; there are: {', '.join(there) or 'none'}")
    return path(kind, layout)
