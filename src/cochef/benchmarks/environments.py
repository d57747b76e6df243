"""How fast each interface steps kitchens from a learner's loop, next to those of others."""

import contextlib
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cochef.adapters.gymnasium import KitchenWithPartner
from cochef.adapters.gymnasium_vector import VectorKitchens
from cochef.adapters.jaxmarl import MultiAgentKitchen
from cochef.adapters.pettingzoo import ParallelKitchen
from cochef.benchmarks.kitchen import machine, median_ratio, peers
from cochef.benchmarks.peers.loops import JaxEnvironment, rate
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.layout import Layout
from cochef.validation import whole_number

REFERENCE = "overcooked_ai"

OBSERVATIONS = {"compact": "compact", "26 planes": "grid"}


@dataclass(frozen=True)
class InterfaceRates:
    """The rates of one interface (kitchen steps a second), one for each round."""

    interface: str
    observation: str
    partner: str  # "" where both seats are played from outside
    kitchens: int
    rates: tuple[float, ...]

    @property
    def rate(self) -> float:
        """The median over the rounds."""
        return statistics.median(self.rates)


@dataclass(frozen=True)
class InterfaceComparison:
    """All interfaces measured side by side in one layout."""

    layout: str
    entries: tuple[InterfaceRates, ...]

    def times_reference(self, entry: InterfaceRates) -> float | None:
        """How many times as fast as overcooked_ai: the median over the rounds."""
        for other in self.entries:
            if other.interface == REFERENCE:
                return median_ratio(entry.rates, other.rates)
        return None

    def to_json(self) -> dict[str, Any]:
        """All numbers, and what they were measured with."""
        entries = [
            {**asdict(entry), "rate": entry.rate, "times_reference": self.times_reference(entry)}
            for entry in self.entries
        ]
        return {"layout": self.layout, "entries": entries, "machine": machine()}


@dataclass(frozen=True)
class _Measured:
    """Something to be measured, and what is said about it."""

    interface: str
    observation: str
    partner: str
    kitchens: int
    measure: Callable[[float], float]  # from seconds to kitchen steps a second


def compare(
    layout: Layout,
    partner: str,
    kitchens: int,
    rounds: int,
    seconds: float,
    python: Path | None,
    log: Callable[[str], None],
    observations: Mapping[str, str] = OBSERVATIONS,
) -> InterfaceComparison:
    """Measure all our interfaces, and the peers in the environment of `python`, in turns."""
    whole_number(rounds, "rounds", 1)
    with contextlib.ExitStack() as stack:
        measured = []
        for name, kind in observations.items():
            for one in _own(layout, partner, kitchens, kind):
                log(f"compiling {one.interface}, observation: {name}")
                one.measure(0.0)
                measured.append(
                    _Measured(one.interface, name, one.partner, one.kitchens, one.measure)
                )
        if python:
            options = {"kitchens": kitchens, "from_python": True}
            for peer in peers(stack, layout, python, log, options):
                many = kitchens if "vmap" in peer.name else 1
                measured.append(_Measured(peer.name, "26 planes", "", many, peer.rate))
        rates: dict[int, list[float]] = {number: [] for number in range(len(measured))}
        for number in range(1, rounds + 1):
            log(f"round {number} of {rounds}")
            for which, one in enumerate(measured):
                rates[which].append(one.measure(seconds))
    entries = [
        InterfaceRates(
            one.interface, one.observation, one.partner, one.kitchens, tuple(rates[which])
        )
        for which, one in enumerate(measured)
    ]
    return InterfaceComparison(layout.name, tuple(entries))


def _own(layout: Layout, partner: str, kitchens: int, kind: str) -> Iterator[_Measured]:
    """Our interfaces with one kind of observation, as their users make them."""
    single = KitchenWithPartner(layout, partner, observation=kind)
    yield _Measured("Gymnasium", kind, partner, 1, _of_single(single))
    both = ParallelKitchen(layout, kind)
    yield _Measured("PettingZoo", kind, "", 1, _of_both(both))
    many = VectorKitchens(kitchens, layout, partner, observation=kind)
    yield _Measured("Gymnasium, vector", kind, partner, kitchens, _of_many(many))
    mapped = JaxEnvironment(MultiAgentKitchen(layout, kind), kitchens)
    yield _Measured("JaxMARL signature, vmap", kind, "", kitchens, mapped.rate)


def _of_single(env: KitchenWithPartner) -> Callable[[float], float]:
    actions = _actions(1)[:, 0].tolist()

    def play() -> int:
        env.reset(seed=0)
        for action in actions:
            env.step(action)
        return len(actions)

    return lambda seconds: rate(play, seconds)


def _of_both(env: ParallelKitchen) -> Callable[[float], float]:
    joint = [dict(zip(env.possible_agents, pair, strict=True)) for pair in _actions(SEATS).tolist()]

    def play() -> int:
        env.reset()
        for actions in joint:
            env.step(actions)
        return len(joint)

    return lambda seconds: rate(play, seconds)


def _of_many(env: VectorKitchens) -> Callable[[float], float]:
    actions = _actions(env.num_envs)

    def play() -> int:
        env.reset(seed=0)
        for each in actions:
            env.step(each)
        return actions.size

    return lambda seconds: rate(play, seconds)


def _actions(players: int, steps: int = 200) -> np.ndarray:
    """Random actions, drawn before the clock runs: [steps, players]."""
    return np.random.default_rng(0).integers(len(Action), size=(steps, players))
