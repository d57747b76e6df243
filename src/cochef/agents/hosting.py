"""Agents that are called on the host, between the steps of compiled programs.

A compiled program cannot call them. It finds their answers in its carry instead, where the host has
put them before each step: an `Answer` for each agent and kitchen. So whoever lets such agents play
does a step at a time, and asks them in between (`HostSeat`). Callbacks out of compiled programs
would do without that loop, but they block one another if a program runs on several devices of a
CPU, and what happens after an error in one is not defined.
"""

import queue
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int, Key

from cochef.agents.agent import Agent, Carry
from cochef.errors import InputError, shown
from cochef.kitchen.constants import Action
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State

PATIENCE = 60.0  # seconds in which an agent has to answer
LOADING_PATIENCE = 300.0  # and to be imported, and to be made: frameworks and weights are large
SUM_TOLERANCE = 1e-3  # of probabilities around 1
NEVER = -1e9  # log-probability of 0; finite, because checkpoints hold finite numbers only

LogProbs = Float32[np.ndarray, "rows 6"]


class AgentError(InputError):
    """An own agent cannot be used, raised an error, gave nonsense or did not answer."""


class AgentThread:
    """The thread in which the code of an own agent runs, so that every call has a time limit.

    It is one thread for all calls: frameworks keep settings, such as gradients, by thread.
    """

    def __init__(self, name: str) -> None:
        """Nothing is started yet; the name is the agent's."""
        self.name = name
        self._is_stuck = False
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Any]]] | None
        self._jobs = None

    def call(self, job: Callable[[], Any], patience: float, *, failing: str = "raised") -> Any:  # noqa: ANN401
        """The result of a call; an error is told as NAME, what failing means, and the fault."""
        if self._is_stuck:
            raise AgentError(f"{self.name} has not returned from an earlier call")
        if self._jobs is None:
            self._jobs = queue.SimpleQueue()
            # A daemon: a call that never returns must not keep the process from ending.
            threading.Thread(target=_work, args=[self._jobs], name=self.name, daemon=True).start()
        result: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        self._jobs.put((job, result))
        try:
            answer, error = result.get(timeout=patience)
        except queue.Empty:
            self._is_stuck = True
            raise AgentError(f"{self.name} has not answered within {patience:g} seconds") from None
        if isinstance(error, AgentError):
            raise error
        if error is not None:
            raise AgentError(f"{self.name} {failing} {fault(error)}") from error
        return answer


class HostCaller:
    """Calls an own agent, and checks all it returns."""

    def __init__(
        self,
        own: Any,  # noqa: ANN401
        observes: str,
        layout: Layout,
        thread: AgentThread,
    ) -> None:
        """Nothing is called yet."""
        self.name = thread.name
        self.observes = observes
        self.layout = layout
        self.patience = PATIENCE
        self.calls = 0
        self.actions = 0
        self.seconds = 0.0  # in which it has acted
        self._own = own
        self._is_recurrent = hasattr(own, "begin")
        self._thread = thread

    def __repr__(self) -> str:
        """The same for the same agent in every process: kept programs are found by it."""
        return f"HostCaller({self.name!r}, {self.observes!r})"

    def begin(self, rows: int) -> Carry:
        """The recurrent state of so many new episodes; None without one."""
        if not self._is_recurrent:
            return None
        carry = self._call(lambda: self._own.begin(rows))
        return self._checked_carry(carry, rows, "begin")

    def act(self, observations: Any, carry: Carry) -> tuple[LogProbs, Carry]:  # noqa: ANN401
        """The log-probabilities of the actions in each row, and the next recurrent state."""
        rows = len(jax.tree.leaves(observations)[0])
        arguments = (observations, carry) if self._is_recurrent else (observations,)
        started = time.perf_counter()
        answer = self._call(lambda: self._own.act(*arguments))
        self.seconds += time.perf_counter() - started
        self.calls += 1
        self.actions += rows
        if self._is_recurrent:
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise self._nonsense("actions and recurrent state, a tuple of two", answer)
            answer, carry = answer
            carry = self._checked_carry(carry, rows, "act")
        return self._checked_answer(answer, rows), carry

    def describe_speed(self) -> str:
        """How often it was called, and how fast it was."""
        per_call = 1000 * self.seconds / max(self.calls, 1)
        rate = self.actions / self.seconds if self.seconds else 0.0
        return (
            f"{self.name}: {self.calls:,} calls, {per_call:.2f} ms each, {rate:,.0f} actions/s "
            "(called outside of compiled programs)"
        )

    def _call(self, job: Callable[[], Any]) -> Any:  # noqa: ANN401
        return self._thread.call(job, self.patience)

    def _checked_answer(self, answer: Any, rows: int) -> LogProbs:  # noqa: ANN401
        allowed = f"{rows} actions from 0 to 5, or probabilities of shape ({rows}, 6)"
        found = self._as_array(answer, allowed)
        if found.shape == (rows,) and np.issubdtype(found.dtype, np.integer):
            outside = (found < 0) | (found >= len(Action))
            if outside.any():
                raise self._nonsense(allowed, int(found[outside][0]))
            chosen = found[:, None] == np.arange(len(Action))
            return np.where(chosen, 0.0, NEVER).astype(np.float32)
        if found.shape != (rows, len(Action)) or not np.issubdtype(found.dtype, np.floating):
            raise self._nonsense(allowed, f"{found.dtype} of shape {found.shape}")
        wrong = ~np.isfinite(found).all(axis=1) | (found < 0).any(axis=1)
        wrong |= ~(np.abs(found.sum(axis=1) - 1) <= SUM_TOLERANCE)
        if wrong.any():
            raise self._nonsense(f"{allowed} that sum to 1", found[wrong][0].tolist())
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(found.astype(np.float32)), np.float32(NEVER))

    def _checked_carry(self, carry: Any, rows: int, method: str) -> Carry:  # noqa: ANN401
        allowed = f"from {method} a recurrent state of arrays with {rows} rows"

        def checked(leaf: Any) -> np.ndarray:  # noqa: ANN401
            found = self._as_array(leaf, allowed)
            if found.shape[:1] != (rows,):
                raise self._nonsense(allowed, f"{found.dtype} of shape {found.shape}")
            return found

        return jax.tree.map(checked, carry)

    def _as_array(self, value: Any, allowed: str) -> np.ndarray:  # noqa: ANN401
        try:
            found = np.asarray(value)
        except Exception as error:  # such as a tensor with a gradient, or on another device
            raise AgentError(
                f"{self.name} returned {type(value).__name__}, which cannot be read as an array "
                f"({fault(error)}); it takes {allowed}"
            ) from error
        if found.dtype == object:
            raise self._nonsense(allowed, value)
        return found

    def _nonsense(self, allowed: str, value: object) -> AgentError:
        return AgentError(f"{self.name} returned {shown(value)}; it takes {allowed}")


def _work(
    jobs: "queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Any]]]",
) -> None:
    """Do jobs for ever; the thread of an agent."""
    while True:
        job, result = jobs.get()
        try:
            result.put((job(), None))
        except BaseException as error:  # it belongs to whoever waits for the result
            result.put((None, error))
        del job, result


def fault(error: BaseException) -> str:
    """An error of the code of others: its kind, its text, and the line that raised it."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return text
    last = frames[-1]
    return f"{text} ({Path(last.filename).name}, line {last.lineno})"


class HostAgent(eqx.Module):
    """An own agent that is called on the host; only what asks it there can let it play."""

    caller: HostCaller = eqx.field(static=True)
    greedy: bool = eqx.field(static=True, default=False)

    def begin(self, key: Key[Array, ""]) -> Carry:
        """Refused: a compiled program cannot call it."""
        raise AgentError(self._refusal)

    def act(
        self, state: State, seat: int, carry: Carry, key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], Carry]:
        """Refused: a compiled program cannot call it."""
        raise AgentError(self._refusal)

    @property
    def _refusal(self) -> str:
        return (
            f"{self.caller.name} is no JAX code, and cannot play here; "
            "evaluate, watch, play, study and pool train take it"
        )


class Answer(eqx.Module):
    """A host agent's carry in a program: the log-probabilities that the host has put there."""

    log_probs: Float[Array | np.ndarray, "..."]
    caller: HostCaller = eqx.field(static=True)


class AnsweredAgent(eqx.Module):
    """Stands for a host agent in a program, and acts by the answer in its carry."""

    caller: HostCaller = eqx.field(static=True)
    greedy: bool = eqx.field(static=True)

    def begin(self, key: Key[Array, ""]) -> Answer:
        """A place for the answer."""
        return Answer(jnp.zeros(len(Action)), self.caller)

    def act(
        self, state: State, seat: int | Int[Array, ""], carry: Answer, key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], Answer]:
        """Sample from the answer, or take the likeliest action if greedy."""
        log_probs = carry.log_probs
        action = log_probs.argmax() if self.greedy else jax.random.categorical(key, log_probs)
        return action.astype(jnp.int32), carry


def _is_host_agent(node: object) -> bool:
    return isinstance(node, HostAgent)


def _is_answer(node: object) -> bool:
    return isinstance(node, Answer)


def callers(tree: Any) -> list[HostCaller]:  # noqa: ANN401
    """The callers of all host agents in a tree of agents, each once."""
    nodes = jax.tree.leaves(tree, is_leaf=_is_host_agent)
    return list(dict.fromkeys(node.caller for node in nodes if _is_host_agent(node)))


def answered(tree: Any) -> Any:  # noqa: ANN401
    """A tree of agents with stand-ins for all host agents."""

    def stand_in(node: Any) -> Any:  # noqa: ANN401
        return AnsweredAgent(node.caller, node.greedy) if _is_host_agent(node) else node

    return jax.tree.map(stand_in, tree, is_leaf=_is_host_agent)


def answers_in(carry: Carry) -> list[Answer]:
    """All answers in a tree of carries."""
    nodes = jax.tree.leaves(carry, is_leaf=_is_answer)
    return [node for node in nodes if _is_answer(node)]


def with_answers(carry: Carry, log_probs: Sequence[Float[np.ndarray, "..."]]) -> Carry:
    """A tree of carries with these answers in it, in the order of `answers_in`."""
    waiting = iter(log_probs)

    def replaced(node: Any) -> Any:  # noqa: ANN401
        return Answer(next(waiting), node.caller) if _is_answer(node) else node

    return jax.tree.map(replaced, carry, is_leaf=_is_answer)


class HostSeat:
    """A host agent in the rows of a batch: its recurrent state in each, and how it is asked."""

    def __init__(self, caller: HostCaller, rows: int) -> None:
        """All rows begin an episode."""
        self.caller = caller
        self.rows = rows
        self._carry = caller.begin(rows)

    def restart(self, rows: Bool[np.ndarray, " rows"]) -> None:
        """Begin new episodes in some rows."""
        number = int(rows.sum())
        if number and self._carry is not None:
            self._put(rows, self.caller.begin(number))

    def ask(self, observations: Any, rows: Bool[np.ndarray, " rows"]) -> LogProbs:  # noqa: ANN401
        """The log-probabilities of the actions in some rows; the others stay."""
        found = stays(self.rows)
        if rows.any():
            own = jax.tree.map(lambda leaf: np.asarray(leaf)[rows], observations)
            carry = jax.tree.map(lambda leaf: leaf[rows], self._carry)
            found[rows], carry = self.caller.act(own, carry)
            self._put(rows, carry)
        return found

    def _put(self, rows: Bool[np.ndarray, " rows"], carry: Carry) -> None:
        def put(old: np.ndarray, new: np.ndarray) -> np.ndarray:
            merged = np.array(old)
            merged[rows] = new
            return merged

        try:
            self._carry = jax.tree.map(put, self._carry, carry)
        except (ValueError, TypeError) as error:
            raise AgentError(
                f"{self.caller.name} returned another recurrent state than begin gives ({error}); "
                "it takes the same arrays, of the same shapes"
            ) from error


def stays(rows: int) -> LogProbs:
    """The answer of an agent that stays in all rows."""
    found = np.full((rows, len(Action)), NEVER, np.float32)
    found[:, Action.STAY] = 0.0
    return found


def is_hosted(agent: Agent) -> bool:
    """Whether an agent is, or holds, one that is called on the host."""
    return bool(callers(agent))
