"""Own agents: agents of other people in numpy, PyTorch or JAX, by a small batched protocol.

An own agent sees many kitchens at once and acts in all of them; docs/tutorials/own_agent.md shows
how to write one. What is not JAX is called on the host, outside of compiled programs (`hosting`);
an agent that says `compiled = True` is JAX code and becomes a part of them.
"""

import importlib
import importlib.util
import re
import sys
from abc import abstractmethod
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from cochef import validation
from cochef.agents import hosting
from cochef.agents.agent import Agent, Carry
from cochef.agents.hosting import AgentError, AgentThread, HostAgent, HostCaller
from cochef.agents.own_observations import OBSERVATIONS, own_observations, own_start
from cochef.errors import shown
from cochef.kitchen.constants import Action
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State, seen_from

CODE = re.compile(r"(?P<module>[A-Za-z_][\w.]*|.+\.py):(?P<factory>[A-Za-z_]\w*)")


@runtime_checkable
class OwnAgent(Protocol):
    """What an own agent offers; all arrays have the kitchens first.

    Two more members are optional. `begin(kitchens)` gives the recurrent state of new episodes, a
    tree of arrays; `act` is then called with observations and recurrent state, and returns actions
    and recurrent state. `compiled = True` says that `act` (and `begin`) are JAX code.
    """

    observes: str
    """What it observes: "grid", "compact", "features" or "state"."""

    @abstractmethod
    def act(self, observations: Any, *carry: Any) -> Any:  # noqa: ANN401
        """An action for each kitchen, [kitchens], or the actions' probabilities, [kitchens, 6]."""


class CompiledOwnAgent(eqx.Module):
    """An own agent in JAX, as a part of compiled programs."""

    own: Any = eqx.field(static=True)
    name: str = eqx.field(static=True)
    layout: Layout = eqx.field(static=True)
    greedy: bool = eqx.field(static=True, default=False)

    def begin(self, key: Key[Array, ""]) -> Carry:
        """The recurrent state that the agent gives for a single kitchen."""
        return jax.tree.map(jnp.asarray, self.own.begin(1)) if _is_recurrent(self.own) else ()

    def act(
        self, state: State, seat: int | Int[Array, ""], carry: Carry, key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], Carry]:
        """The action in a batch of one kitchen; programs map this over all kitchens."""
        one = jax.tree.map(lambda leaf: leaf[..., None], seen_from(state, jnp.asarray(seat)))
        observations = own_observations(self.layout, self.own.observes, one)
        if _is_recurrent(self.own):
            answer, carry = self.own.act(observations, carry)
        else:
            answer = self.own.act(observations)
        answer = jnp.asarray(answer)
        if answer.ndim == 1:  # actions
            return jnp.clip(answer[0], 0, len(Action) - 1).astype(jnp.int32), carry
        log_probs = jnp.log(answer[0])
        action = log_probs.argmax() if self.greedy else jax.random.categorical(key, log_probs)
        return action.astype(jnp.int32), carry


def is_own(agent: object) -> bool:
    """Whether an object follows the protocol of own agents."""
    return hasattr(agent, "observes")


def wrap(
    agent: object, layout: Layout, thread: AgentThread | None = None, *, greedy: bool = False
) -> Agent:
    """An object as an agent: an `OwnAgent`, or an `Agent`, which is returned as it is.

    An own agent acts once before it is returned, so that faults show at once; it acts in the
    thread, whose name is its own.
    """
    thread = thread or AgentThread(type(agent).__name__)
    name = thread.name
    if not is_own(agent):
        if isinstance(agent, Agent):
            return agent
        raise AgentError(
            f"{name} is {shown(agent)}, not an agent; it takes an object with `observes` and `act` "
            "(docs/tutorials/own_agent.md)"
        )
    own: Any = agent
    observes = validation.one_of(own.observes, f"observes of {name}", OBSERVATIONS)
    for method in ("act", "begin"):
        if not callable(getattr(own, method, None)) and (method == "act" or hasattr(own, method)):
            raise AgentError(
                f"{name} has no method {method}; an agent has one (docs/tutorials/own_agent.md)"
            )
    caller = HostCaller(own, observes, layout, thread)
    caller.act(own_start(layout, observes), caller.begin(1))
    if getattr(own, "compiled", False):
        return CompiledOwnAgent(own, name, layout, greedy)
    return HostAgent(caller, greedy)


def names_code(name: str) -> bool:
    """Whether a name has the form MODULE:FACTORY or FILE.py:FACTORY."""
    return CODE.fullmatch(name) is not None


def load_code(name: str, layout: Layout, *, greedy: bool = False) -> Agent:
    """Import MODULE:FACTORY or FILE.py:FACTORY, and call the factory with the layout.

    This runs code. Only call it with a name that a person has just given.
    """
    match = CODE.fullmatch(name)
    assert match is not None
    thread = AgentThread(name)
    patience = hosting.LOADING_PATIENCE
    module = thread.call(
        lambda: _import(match["module"], name), patience, failing="cannot be imported:"
    )
    factory = getattr(module, match["factory"], None)
    if not callable(factory):
        raise AgentError(
            f"{name}: {match['module']} has no function or class {match['factory']!r}; "
            "it takes one that is called with the layout and returns the agent"
        )
    agent = thread.call(lambda: factory(layout), patience, failing="cannot be made:")
    return wrap(agent, layout, thread, greedy=greedy)


def code_file(name: str) -> Path | None:
    """The file of the module of MODULE:FACTORY, if it has been loaded."""
    match = CODE.fullmatch(name)
    if match is None:
        return None
    module = sys.modules.get(_module_name(match["module"]))
    file = getattr(module, "__file__", None)
    return Path(file) if file else None


def _module_name(module: str) -> str:
    return Path(module).stem if module.endswith(".py") else module


def _import(module: str, name: str) -> ModuleType:
    if module.endswith(".py"):
        return _import_file(Path(module), name)
    # A command that was installed does not look for modules where it is called.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return importlib.import_module(module)


def _import_file(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise AgentError(f"{name}: no file {str(path)!r}; give the path of a Python file")
    directory = str(path.resolve().parent)  # for modules beside it
    if directory not in sys.path:
        sys.path.insert(0, directory)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def _is_recurrent(own: Any) -> bool:  # noqa: ANN401
    return hasattr(own, "begin")
