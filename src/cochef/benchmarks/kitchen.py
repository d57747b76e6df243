"""How fast kitchens are stepped: ours, and those of others, in the same rounds."""

import contextlib
import os
import platform
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key, UInt8

from cochef.benchmarks.loop import Simulator, SimulatorRunner, StepOutput
from cochef.benchmarks.peers.process import Peer, running
from cochef.benchmarks.peers.service import Measurable
from cochef.kitchen import observation
from cochef.kitchen.constants import Tile
from cochef.kitchen.dynamics import Outcome, step
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State, start
from cochef.kitchen.stepping import repeat_kitchens, step_kitchens
from cochef.validation import whole_number

OWN = "CoChef"
MAX_KITCHENS = 2**16

_MAX_COMPILATIONS = 3  # they take long

ObservationFunction = Callable[[Layout, State], UInt8[Array, "..."]]

OBSERVATIONS: Mapping[str, ObservationFunction | None] = {
    "compact": observation.compact,
    "26 planes": observation.grid,
    "none": None,
}


@dataclass(frozen=True)
class SimulatorRates:
    """The rates of one simulator (kitchen steps a second), one for each round."""

    simulator: str
    observation: str
    rates: tuple[float, ...]
    compile_seconds: float | None

    @property
    def rate(self) -> float:
        """The median over the rounds."""
        return statistics.median(self.rates)

    def times(self, other: "SimulatorRates") -> float:
        """How many times faster than another: the median over the rounds, which measure both."""
        return median_ratio(self.rates, other.rates)


@dataclass(frozen=True)
class SimulatorComparison:
    """Simulators measured side by side in one layout."""

    layout: str
    kitchens: int
    entries: tuple[SimulatorRates, ...]

    @property
    def own(self) -> list[SimulatorRates]:
        """Our simulator, with each of its observations."""
        return [entry for entry in self.entries if entry.simulator == OWN]

    @property
    def peers(self) -> list[SimulatorRates]:
        """The simulators of others."""
        return [entry for entry in self.entries if entry.simulator != OWN]

    def to_json(self) -> dict[str, Any]:
        """All numbers, and what they were measured with."""
        times_faster = {}
        for own in self.own:
            times_faster[own.observation] = {peer.simulator: own.times(peer) for peer in self.peers}
        return {
            "layout": self.layout,
            "kitchens": self.kitchens,
            "entries": [{**asdict(entry), "rate": entry.rate} for entry in self.entries],
            "times_faster": times_faster,
            "machine": machine(),
        }


def median_ratio(own: Sequence[float], other: Sequence[float]) -> float:
    """The median over the rounds of how many times the other's number ours is."""
    return statistics.median(ours / its for ours, its in zip(own, other, strict=True))


def machine() -> dict[str, Any]:
    """What the numbers are measured with."""
    return {
        "python": platform.python_version(),
        "jax": jax.__version__,
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "devices": [device.device_kind for device in jax.devices()],
    }


def simulator(layout: Layout, observe: ObservationFunction | None) -> Simulator:
    """Our kitchen with an observation of both chefs; kitchens are the last axis of all arrays."""

    def step_or_restart(state: State, actions: Int[Array, "2"]) -> tuple[State, Outcome]:
        state, outcome = step(layout, state, actions)
        done = state.time >= layout.horizon
        restarted = jax.tree.map(
            lambda first, now: jnp.where(done, first, now), start(layout), state
        )
        return restarted, outcome

    def reset(_: Key[Array, ""], kitchens: int) -> State:
        return repeat_kitchens(start(layout), kitchens)

    def step_all(
        _: Key[Array, ""], state: State, actions: Int[Array, "2 kitchens"]
    ) -> tuple[State, StepOutput]:
        observations = () if observe is None else observe(layout, state)
        transition = step_kitchens(step_or_restart, state, actions)
        return transition.next_state, (observations, transition.outcome)

    return Simulator(reset, step_all)


def shards(kitchens: int) -> int:
    """A shard a device: the largest number of devices that divides the kitchens evenly."""
    return max(number for number in range(1, len(jax.devices()) + 1) if kitchens % number == 0)


def check_kitchens(kitchens: int) -> None:
    """Refuse a number of kitchens that cannot be measured."""
    whole_number(kitchens, "kitchens", 1, MAX_KITCHENS)


def own_rates(layout: Layout, kitchens: int, seconds: float) -> SimulatorComparison:
    """Measure our own rates once."""
    check_kitchens(kitchens)
    # All programs are compiled before the first is measured.
    runners = {
        name: SimulatorRunner(simulator(layout, observe), kitchens, shards(kitchens))
        for name, observe in OBSERVATIONS.items()
    }
    entries = tuple(
        SimulatorRates(OWN, name, (runner.rate(seconds),), None) for name, runner in runners.items()
    )
    return SimulatorComparison(layout.name, kitchens, entries)


def compare(
    layout: Layout,
    kitchens: int,
    rounds: int,
    seconds: float,
    python: Path | None,
    log: Callable[[str], None],
) -> SimulatorComparison:
    """Measure our kitchen, and the peers in the environment of `python`, in turns."""
    check_kitchens(kitchens)
    whole_number(rounds, "rounds", 1)
    with contextlib.ExitStack() as stack:
        simulators: dict[tuple[str, str], Measurable] = {}
        for name, observe in OBSERVATIONS.items():
            log(f"compiling {OWN}, observation: {name}")
            simulators[OWN, name] = SimulatorRunner(
                simulator(layout, observe), kitchens, shards(kitchens)
            )
        if python:
            for peer in peers(stack, layout, python, log, {"kitchens": kitchens}):
                simulators[peer.name, "26 planes"] = peer
        rates: dict[tuple[str, str], list[float]] = {which: [] for which in simulators}
        for number in range(1, rounds + 1):
            log(f"round {number} of {rounds}")
            for which, one in simulators.items():
                rates[which].append(one.rate(seconds))
        log("compile times")
        compilations = min(rounds, _MAX_COMPILATIONS)
        entries = [
            SimulatorRates(*which, tuple(rates[which]), _compile_seconds(one, compilations))
            for which, one in simulators.items()
        ]
    return SimulatorComparison(layout.name, kitchens, tuple(entries))


def peers(
    stack: contextlib.ExitStack,
    layout: Layout,
    python: Path,
    log: Callable[[str], None],
    settings: Mapping[str, Any],
) -> Iterator[Peer]:
    """The peers that know all that is in this layout, as processes that end with the stack."""
    orders = [
        ["onion"] * order.contents[0] + ["tomato"] * order.contents[1] for order in layout.orders
    ]
    options = {"rows": layout.rows_with_starts, "orders": orders, **settings}
    for program in ("jaxmarl", "overcooked_ai"):
        if program == "jaxmarl" and len(layout.cells_of(Tile.TOMATO_DISPENSER)):
            log("JaxMARL knows no tomatoes: it is left out")
            continue
        log(f"starting {program}")
        yield from stack.enter_context(running(python, program, options))


def _compile_seconds(one: Measurable, times: int) -> float | None:
    """The median over some compilations; None where nothing is compiled."""
    seconds = [one.compile_seconds() for _ in range(times)]
    return None if None in seconds else statistics.median(filter(None, seconds))
