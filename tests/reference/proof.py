"""The same steps in both engines, and everything that comes out compared.

Every step is taken by both engines from the same state. As the next state of the reference is where
the next step begins, no difference in any step means no difference in whole episodes.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np

from cochef.kitchen.constants import SEATS, Action, Cooking
from cochef.kitchen.dynamics import Outcome, step
from cochef.kitchen.events import Event
from cochef.kitchen.features import features
from cochef.kitchen.layout import Layout
from cochef.kitchen.movement import in_front
from cochef.kitchen.observation import grid
from cochef.kitchen.state import State
from cochef.kitchen.text import event_names
from tests.reference.anything import random_actions, random_state
from tests.reference.engine import Engine, ReferenceState
from tests.reference.numbers import Numbering, rows_of_states, states_of_rows
from tests.reference.players import RandomPair, Wanderers

_OBSERVED_IN_PLAY = {"planes": 10, "features": 20}  # one state in so many is observed
_OBSERVED_ANYWHERE = {"planes": 2, "features": 4}
_RANDOM_EPISODES = 20  # one in so many episodes is played at random throughout
_SHOWN = 3  # differences that are described; the others are only counted


@dataclass
class Trace:
    """N steps of one engine: states after them, events, rewards, and observations of some."""

    after: np.ndarray | list
    events: np.ndarray | list
    reward: np.ndarray | list
    planes: np.ndarray | dict[int, np.ndarray]
    features: np.ndarray | dict[int, np.ndarray]


@dataclass(frozen=True)
class Comparison:
    """How many steps were compared, every difference, and how often things happened in them."""

    steps: int = 0
    differences: tuple[str, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: "Comparison") -> "Comparison":
        """Both together."""
        differences = self.differences + other.differences
        return Comparison(self.steps + other.steps, differences, self.counts + other.counts)


def _take(
    layout: Layout, states: State, actions: jax.Array
) -> tuple[State, Outcome, jax.Array, jax.Array]:
    """A step of our kitchen from each state: what came of it, and what the chefs see then."""

    def one(state: State, joint: jax.Array) -> tuple[State, Outcome, jax.Array, jax.Array]:
        after, outcome = step(layout, state, joint)
        return after, outcome, grid(layout, after), features(layout, after)

    return jax.vmap(one)(states, jnp.asarray(actions))


as_shipped = jax.jit(_take, static_argnames="layout")
compiled_in_a_hurry = jax.jit(
    _take, static_argnames="layout", compiler_options={"xla_backend_optimization_level": 0}
)


def compare_play(
    engine: Engine, episodes: int, rng: np.random.Generator, program: Callable = as_shipped
) -> Comparison:
    """Let players play in the reference, take the same steps in our kitchen, and compare each."""
    recorder = _Recorder(engine)
    for _ in range(episodes):
        players = (RandomPair if rng.integers(_RANDOM_EPISODES) == 0 else Wanderers)(
            engine.layout, rng
        )
        state = engine.start()
        data = engine.to_json(state)
        for _ in range(engine.layout.horizon):
            state, data = recorder.take(state, data, players.act(data), **_OBSERVED_IN_PLAY)
    return recorder.compare(program)


def compare_anything(
    engine: Engine, steps: int, rng: np.random.Generator, program: Callable = as_shipped
) -> Comparison:
    """Compare single steps from random states in both engines, observations included."""
    recorder = _Recorder(engine)
    for _ in range(steps):
        data = random_state(engine.layout, rng)
        recorder.take(engine.from_json(data), data, random_actions(rng), **_OBSERVED_ANYWHERE)
    return recorder.compare(program)


class _Recorder:
    """Takes steps in the reference and keeps their results until they are compared with ours."""

    def __init__(self, engine: Engine):
        self._engine, self._numbering = engine, Numbering(engine.layout)
        self._before: list[list[int]] = []
        self._actions: list[tuple[int, int]] = []
        self._theirs = Trace([], [], [], {}, {})

    def take(
        self,
        state: ReferenceState,
        data: dict,
        actions: tuple[int, int],
        planes: int,
        features: int,
    ) -> tuple[ReferenceState, dict]:
        """The state after a step, also as JSON; one in so many is observed, at varying times."""
        engine, theirs, number = self._engine, self._theirs, len(self._actions)
        after, outcome = engine.step(state, actions)
        self._before.append(self._numbering.row(data))
        self._actions.append(actions)
        data = engine.to_json(after)
        theirs.after.append(self._numbering.row(data))
        theirs.reward.append(outcome.reward)
        theirs.events.append(np.zeros((SEATS, len(Event)), bool))
        for seat, happened in enumerate(outcome.events):
            for event in happened:
                theirs.events[-1][seat, event] = True
        moment = number + number // engine.layout.horizon
        if moment % planes == 0:
            theirs.planes[number] = engine.planes(after)
        if moment % features == 0:
            theirs.features[number] = engine.features(after)
        return after, data

    def compare(self, program: Callable) -> Comparison:
        """Take all these steps in our kitchen, and see."""
        layout, actions = self._engine.layout, np.array(self._actions)
        before = states_of_rows(layout, np.array(self._before))
        after, outcomes, planes, ways = jax.device_get(program(layout, before, actions))
        ours = Trace(rows_of_states(after), outcomes.events, outcomes.reward, planes, ways)
        counts = count(layout, before, after, actions, outcomes)
        return Comparison(len(actions), tuple(differences(layout, ours, self._theirs)), counts)


def differences(layout: Layout, ours: Trace, theirs: Trace) -> list[str]:
    """Every step at which the engines differ, the first few in words."""
    found: list[str] = []
    for what, number, left, right in _pairs(ours, theirs):
        if left.shape != right.shape or (left != right).any():
            words = _words(what, left, right) if len(found) < _SHOWN else ""
            found.append(f"{layout.name}, step {number}: {what} {words}")
    return found


def _pairs(ours: Trace, theirs: Trace) -> Iterator[tuple[str, int, np.ndarray, np.ndarray]]:
    """What the two engines say about each step that both speak of, unless all of it is the same."""
    for what in ("after", "events", "reward"):
        left, right = np.asarray(getattr(ours, what)), np.asarray(getattr(theirs, what))
        if not np.array_equal(left, right):
            yield from (
                (what, number, left[number], right[number])
                for number in range(max(len(left), len(right)))
            )
    for what in ("planes", "features"):
        seen = getattr(theirs, what)
        yield from (
            (what, number, getattr(ours, what)[number], view) for number, view in seen.items()
        )


def _words(what: str, ours: np.ndarray, theirs: np.ndarray) -> str:
    if ours.shape != theirs.shape:
        return f"have the shape {ours.shape} in ours, {theirs.shape} in theirs"
    if what == "events":
        our_names = [event_names(seat) for seat in ours]
        their_names = [event_names(seat) for seat in theirs]
        return f"ours {our_names}, theirs {their_names}"
    places = np.argwhere(ours != theirs).tolist()
    differ = ours != theirs
    return f"at {places}: ours {ours[differ].tolist()}, theirs {theirs[differ].tolist()}"


def count(
    layout: Layout, before: State, after: State, actions: np.ndarray, outcomes: Outcome
) -> Counter[str]:
    """How often each event happened, and some things that are no events of their own."""
    counts = Counter({event.label: int(outcomes.events[..., event].sum()) for event in Event})
    counts["worthless_delivery"] = int(
        (outcomes.events[..., Event.DELIVERY] & (outcomes.reward == 0)).sum()
    )
    fronts = np.asarray(in_front(layout, before.chefs))
    same = (fronts[:, 0] == fronts[:, 1]) & (actions == Action.INTERACT).all(axis=1)
    counts["both_on_one_tile"] = int((same & ~layout.is_floor[fronts[:, 0]]).sum())
    if layout.cooking is Cooking.MANUAL:
        lit = (before.pots.ticks < 0) & (after.pots.ticks >= 0)
        for size in (1, 2, 3):
            counts[f"lit_with_{size}"] = int(
                (lit & (before.pots.contents.sum(axis=-1) == size)).sum()
            )
    return counts
