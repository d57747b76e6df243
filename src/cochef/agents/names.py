"""Agents by name: the one loader that every command uses."""

from cochef.agents.agent import Agent, Random, Stay
from cochef.errors import InputError
from cochef.kitchen.layout import Layout

SIMPLE: dict[str, type[Agent]] = {"random": Random, "stay": Stay}


def load(name: str, layout: Layout) -> Agent:
    """The agent of this name, ready for this kitchen."""
    if name in SIMPLE:
        return SIMPLE[name]()
    raise InputError(f"unknown agent {name!r}; known: {', '.join(SIMPLE)}")
