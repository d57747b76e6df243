"""Any state a kitchen can be in, whether play leads there or not."""

from functools import cache

import numpy as np

from cochef.kitchen.constants import POT_CAPACITY, Action, Cooking, Direction, Tile
from cochef.kitchen.layout import Layout
from cochef.kitchen.observation import URGENT
from cochef.kitchen.recipes import all_contents, cooking_times
from cochef.kitchen.text import letters

_PLAIN = ("onion", "tomato", "dish")


def random_state(layout: Layout, rng: np.random.Generator) -> dict:
    """A state in JSON with everything at random; each kind of tile is faced equally often."""
    clutter = rng.random() ** 2
    counters = [
        [*layout.position(cell), _item(layout, rng)]
        for cell in layout.counter_cells
        if rng.random() < clutter
    ]
    pots = [
        [*layout.position(cell), *_pot(layout, rng)]
        for cell in layout.pot_cells
        if rng.random() < 0.8
    ]
    return {
        "chefs": _chefs(layout, rng),
        "pots": sorted(pots),
        "counters": sorted(counters),
        "t": _time(layout, rng),
    }


def random_actions(rng: np.random.Generator) -> tuple[int, int]:
    """A joint action in which chefs mostly interact."""
    first, second = (
        int(Action.INTERACT) if rng.random() < 0.6 else int(rng.integers(len(Action)))
        for _ in range(2)
    )
    return first, second


def _time(layout: Layout, rng: np.random.Generator) -> int:
    """Any time before the end, often about when the end comes near."""
    about = layout.horizon - URGENT + int(rng.integers(-2, 3))
    return max(0, about) if rng.random() < 0.2 else int(rng.integers(layout.horizon))


@cache
def _standings(layout: Layout) -> list[list[tuple[int, str]]]:
    """For each kind of tile, floor included: where a chef can stand and look to face it."""
    facing: dict[Tile, list[tuple[int, str]]] = {}
    for cell in layout.floor_cells.tolist():
        for direction in Direction:
            tile = layout.tile(layout.position(cell + int(layout.steps[direction])))
            facing.setdefault(tile, []).append((cell, "NSEW"[direction]))
    return list(facing.values())


def _chefs(layout: Layout, rng: np.random.Generator) -> list[list]:
    kinds = _standings(layout)
    while True:
        picked = [kinds[rng.integers(len(kinds))] for _ in range(2)]
        (first, looks_first), (second, looks_second) = (
            kind[rng.integers(len(kind))] for kind in picked
        )
        if first != second:
            break
    hands = [None if rng.random() < 0.4 else _item(layout, rng) for _ in range(2)]
    return [
        [*layout.position(first), looks_first, hands[0]],
        [*layout.position(second), looks_second, hands[1]],
    ]


def _item(layout: Layout, rng: np.random.Generator) -> str:
    kind = int(rng.integers(len(_PLAIN) + 1))
    return (
        _PLAIN[kind]
        if kind < len(_PLAIN)
        else f"soup:{letters(*_contents(layout, rng, plated=True))}"
    )


def _contents(layout: Layout, rng: np.random.Generator, plated: bool) -> tuple[int, int]:
    fewest = POT_CAPACITY if plated and layout.cooking is Cooking.AUTOMATIC else 1
    fillings = [contents for contents in all_contents() if sum(contents) >= fewest]
    return fillings[rng.integers(len(fillings))]


def _pot(layout: Layout, rng: np.random.Generator) -> tuple[str, int]:
    contents = _contents(layout, rng, plated=False)
    done = int(cooking_times(layout)[contents])
    lit = (
        sum(contents) == POT_CAPACITY if layout.cooking is Cooking.AUTOMATIC else rng.random() < 0.6
    )
    if not lit:
        return letters(*contents), -1
    return letters(*contents), done if rng.random() < 0.4 else int(rng.integers(done + 1))
