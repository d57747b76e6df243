"""Agents by name: the one loader that every command uses."""

from cochef.agents.agent import Agent, Random, Stay
from cochef.agents.scripted import script
from cochef.errors import InputError
from cochef.kitchen.layout import Layout

SIMPLE: dict[str, type[Agent]] = {"random": Random, "stay": Stay}


def load(name: str, layout: Layout) -> Agent:
    """The agent of this name, ready for this kitchen."""
    if name in SIMPLE:
        return SIMPLE[name]()
    if name.startswith("script:"):
        return script(name.removeprefix("script:"), layout)
    raise InputError(f"unknown agent {name!r}; known: {', '.join(SIMPLE)}")
