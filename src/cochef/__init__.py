"""CoChef trains and measures kitchen agents that cooperate with people nobody trained them for.

The names below are the public interface (docs/python.md). They are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cochef.adapters.gymnasium import KitchenWithPartner as KitchenWithPartner
    from cochef.adapters.jaxmarl import MultiAgentKitchen as MultiAgentKitchen
    from cochef.adapters.pettingzoo import ParallelKitchen as ParallelKitchen
    from cochef.agents.agent import Agent as Agent
    from cochef.agents.agent import NetworkAgent as NetworkAgent
    from cochef.agents.hosting import AgentError as AgentError
    from cochef.agents.own import OwnAgent as OwnAgent
    from cochef.api.measuring import evaluate as evaluate
    from cochef.api.measuring import partners as partners
    from cochef.api.playing import layout as layout
    from cochef.api.playing import layouts as layouts
    from cochef.api.playing import load as load
    from cochef.api.playing import play as play
    from cochef.api.playing import record as record
    from cochef.api.playing import start as start
    from cochef.api.training import TrainedRun as TrainedRun
    from cochef.api.training import make_pool as make_pool
    from cochef.api.training import open_pool as open_pool
    from cochef.api.training import train as train
    from cochef.api.training import train_with_pool as train_with_pool
    from cochef.errors import InputError as InputError
    from cochef.kitchen.constants import Action as Action
    from cochef.kitchen.layout import Layout as Layout
    from cochef.kitchen.observation import compact_peaks as compact_peaks
    from cochef.kitchen.state import State as State
    from cochef.learning.critics import Critic as Critic

__version__ = "0.1.0"

_HOMES = {
    "layout": "cochef.api.playing",
    "layouts": "cochef.api.playing",
    "partners": "cochef.api.measuring",
    "load": "cochef.api.playing",
    "play": "cochef.api.playing",
    "record": "cochef.api.playing",
    "start": "cochef.api.playing",
    "evaluate": "cochef.api.measuring",
    "train": "cochef.api.training",
    "train_with_pool": "cochef.api.training",
    "TrainedRun": "cochef.api.training",
    "make_pool": "cochef.api.training",
    "open_pool": "cochef.api.training",
    "Agent": "cochef.agents.agent",
    "NetworkAgent": "cochef.agents.agent",
    "Critic": "cochef.learning.critics",
    "OwnAgent": "cochef.agents.own",
    "AgentError": "cochef.agents.hosting",
    "Action": "cochef.kitchen.constants",
    "Layout": "cochef.kitchen.layout",
    "State": "cochef.kitchen.state",
    "compact_peaks": "cochef.kitchen.observation",
    "InputError": "cochef.errors",
    "KitchenWithPartner": "cochef.adapters.gymnasium",
    "ParallelKitchen": "cochef.adapters.pettingzoo",
    "MultiAgentKitchen": "cochef.adapters.jaxmarl",
}

__all__ = [
    "Action",
    "Agent",
    "AgentError",
    "Critic",
    "InputError",
    "KitchenWithPartner",
    "Layout",
    "MultiAgentKitchen",
    "NetworkAgent",
    "OwnAgent",
    "ParallelKitchen",
    "State",
    "TrainedRun",
    "__version__",
    "compact_peaks",
    "evaluate",
    "layout",
    "layouts",
    "load",
    "make_pool",
    "open_pool",
    "partners",
    "play",
    "record",
    "start",
    "train",
    "train_with_pool",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """A public name, loaded now."""
    if name not in _HOMES:
        raise AttributeError(f"module 'cochef' has no attribute {name!r}; see docs/python.md")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
