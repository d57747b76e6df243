"""How fast kitchens are stepped: ours, and those of others, in one go."""

import contextlib
import os
import platform
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key, UInt8

from cochef.benchmarks.loop import Runner, Shown, Simulator
from cochef.benchmarks.peers.process import Peer, running
from cochef.benchmarks.peers.service import Contender
from cochef.errors import InputError
from cochef.kitchen import observation
from cochef.kitchen.constants import Tile
from cochef.kitchen.dynamics import Outcome, step
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State, start

OWN = "CoChef"
MAX_KITCHENS = 2**16

_COMPILATIONS = 3  # at most; they take long

View = Callable[[Layout, State], UInt8[Array, "..."]]
Tell = Callable[[str], None]

VIEWS: Mapping[str, View | None] = {"compact": observation.compact, "26 planes": observation.grid, "none": None}


@dataclass(frozen=True)
class Entry:
    """What was measured of one simulator: a rate (kitchen steps a second) for each round."""

    simulator: str
    observation: str
    rates: tuple[float, ...]
    compile_seconds: float | None

    @property
    def rate(self) -> float:
        """The median over the rounds."""
        return statistics.median(self.rates)

    def times(self, other: "Entry") -> float:
        """How many times faster than another: the median over the rounds, each of which measures both."""
        return statistics.median(own / its for own, its in zip(self.rates, other.rates, strict=True))


@dataclass(frozen=True)
class Contest:
    """Simulators measured side by side in one kitchen."""

    layout: str
    kitchens: int
    entries: tuple[Entry, ...]

    @property
    def own(self) -> list[Entry]:
        """Our simulator, with each of its observations."""
        return [entry for entry in self.entries if entry.simulator == OWN]

    @property
    def peers(self) -> list[Entry]:
        """The simulators of others."""
        return [entry for entry in self.entries if entry.simulator != OWN]

    def to_json(self) -> dict[str, Any]:
        """All of it, and what it was measured with."""
        return {
            "layout": self.layout,
            "kitchens": self.kitchens,
            "entries": [{**asdict(entry), "rate": entry.rate} for entry in self.entries],
            "times_faster": {
                own.observation: {peer.simulator: own.times(peer) for peer in self.peers} for own in self.own
            },
            "machine": machine(),
        }


def machine() -> dict[str, Any]:
    """What the numbers are measured with."""
    return {
        "python": platform.python_version(),
        "jax": jax.__version__,
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "devices": [device.device_kind for device in jax.devices()],
    }


def simulator(layout: Layout, view: View | None) -> Simulator:
    """Our kitchen with an observation of both chefs; the kitchens are the last axis of all arrays."""

    def one(state: State, actions: Int[Array, "2"]) -> tuple[State, Outcome]:
        state, outcome = step(layout, state, actions)
        over = state.time >= layout.horizon
        return jax.tree.map(lambda first, now: jnp.where(over, first, now), start(layout), state), outcome

    def begin(_: Key[Array, ""], kitchens: int) -> State:
        return jax.tree.map(lambda leaf: jnp.repeat(leaf[..., None], kitchens, axis=-1), start(layout))

    def advance(_: Key[Array, ""], state: State, actions: Int[Array, "2 kitchens"]) -> tuple[State, Shown]:
        seen = () if view is None else view(layout, state)
        after, outcome = jax.vmap(one, in_axes=-1, out_axes=-1)(state, actions)
        return after, (seen, outcome)

    return Simulator(begin, advance)


def rows_with_starts(layout: Layout) -> list[str]:
    """A kitchen as its peers read it: each seat's number where its chef starts."""
    rows = [list(row) for row in layout.rows]
    for seat, (x, y) in enumerate(layout.starts):
        rows[y][x] = str(seat + 1)
    return ["".join(row) for row in rows]


def check_kitchens(kitchens: int) -> None:
    """Complain about a number of kitchens that cannot be measured."""
    if not 1 <= kitchens <= MAX_KITCHENS:
        raise InputError(f"{kitchens} kitchens; it takes a whole number from 1 to {MAX_KITCHENS}")


def own_rates(layout: Layout, kitchens: int, seconds: float) -> Contest:
    """Our own rates, measured once."""
    check_kitchens(kitchens)
    runners = {view: Runner(simulator(layout, show), kitchens) for view, show in VIEWS.items()}
    entries = tuple(Entry(OWN, view, (runner.rate(seconds),), None) for view, runner in runners.items())
    return Contest(layout.name, kitchens, entries)


def compare(layout: Layout, kitchens: int, rounds: int, seconds: float, python: Path | None, tell: Tell) -> Contest:
    """Our kitchen, and the peers in the environment of this Python, measured in turns over some rounds."""
    check_kitchens(kitchens)
    if rounds < 1:
        raise InputError(f"{rounds} rounds; it takes at least 1")
    with contextlib.ExitStack() as stack:
        contenders: dict[tuple[str, str], Contender] = {}
        for view, show in VIEWS.items():
            tell(f"compiling {OWN}, observation: {view}")
            contenders[OWN, view] = Runner(simulator(layout, show), kitchens)
        for peer in _peers(stack, layout, kitchens, python, tell) if python else ():
            contenders[peer.name, "26 planes"] = peer
        rates: dict[tuple[str, str], list[float]] = {who: [] for who in contenders}
        for turn in range(1, rounds + 1):
            tell(f"round {turn} of {rounds}")
            for who, contender in contenders.items():
                rates[who].append(contender.rate(seconds))
        tell("compile times")
        compilations = min(rounds, _COMPILATIONS)
        compiling = {who: _compile_seconds(contender, compilations) for who, contender in contenders.items()}
        entries = tuple(Entry(*who, tuple(rates[who]), compiling[who]) for who in contenders)
        return Contest(layout.name, kitchens, entries)


def _peers(stack: contextlib.ExitStack, layout: Layout, kitchens: int, python: Path, tell: Tell) -> Iterator[Peer]:
    """The peers that know all that is in this kitchen, as processes that end with the stack."""
    orders = [["onion"] * order.contents[0] + ["tomato"] * order.contents[1] for order in layout.orders]
    options = {"rows": rows_with_starts(layout), "orders": orders, "kitchens": kitchens}
    for program in ("jaxmarl", "overcooked_ai"):
        if program == "jaxmarl" and len(layout.cells_of(Tile.TOMATO_DISPENSER)):
            tell("JaxMARL knows no tomatoes: it is left out")
            continue
        tell(f"starting {program}")
        yield from stack.enter_context(running(python, program, options))


def _compile_seconds(contender: Contender, times: int) -> float | None:
    seconds = [contender.compile_seconds() for _ in range(times)]
    return None if None in seconds else statistics.median(filter(None, seconds))
