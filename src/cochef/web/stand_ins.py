"""Stand-ins: agents under the name of a method that did not make them.

A report that compares "MEP" with "HSP" is about methods. So an agent under a label that names a
method must have been made by it, which the card in the agent's file says.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cochef import methods
from cochef.agents import names
from cochef.errors import InputError


@dataclass(frozen=True)
class StandIn:
    """An agent that stands in for one of a method."""

    layout: str
    label: str
    loaded: str
    method: str

    @property
    def wrong(self) -> str:
        """What is wrong with the label, in words."""
        return f"{self.label!r} names the method {self.method}, which did not make {self.loaded!r}"

    @property
    def described(self) -> str:
        """The stand-in in words."""
        return f"in {self.layout}, {self.wrong}"


def find(agents: Mapping[str, Mapping[str, str]]) -> list[StandIn]:
    """The stand-ins among the agents of some layouts: layout -> label -> the name loaded."""
    return [
        StandIn(layout, label, loaded, method)
        for layout, labelled in agents.items()
        for label, loaded in labelled.items()
        for method in named_methods(label)
        if not _made_by(method, loaded)
    ]


def named_methods(label: str) -> list[str]:
    """The methods that a label names: those whose name is one of its words, in any case."""
    words = {word.rstrip("0123456789") for word in re.split(r"[\W_]+", label.casefold())}
    return [name for name in methods.names() if name in words]


def _made_by(method: str, loaded: str) -> bool:
    """Whether the card of an agent says that this method made it.

    A noisy, slowed or mixed agent is another one than the method made.
    """
    try:
        card = names.card_of(loaded)
    except InputError:  # loading the agent says what is wrong with its file
        return False
    if card is None:
        return False
    if "method" in card.metadata:
        return card.metadata["method"] == method
    # Without a second stage, the members of the method's population are its agents.
    found = methods.get(method)
    return found.pool is None and card.metadata.get("population") == found.population.name
