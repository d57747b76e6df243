"""Any state a kitchen can be in, whether play leads there or not."""

import numpy as np

from cochef.kitchen.constants import POT_CAPACITY, Action, Cooking
from cochef.kitchen.layout import Layout
from cochef.kitchen.recipes import all_contents, cooking_times
from cochef.kitchen.text import letters

_PLAIN = ("onion", "tomato", "dish")


def random_state(layout: Layout, rng: np.random.Generator) -> dict:
    """A state in JSON with everything at random; chefs often face something they can use."""
    cells = rng.choice(layout.floor_cells, 2, replace=False)
    clutter = rng.random()
    counters = [[*layout.place(cell), _item(layout, rng)] for cell in layout.counter_cells if rng.random() < clutter]
    pots = [[*layout.place(cell), *_pot(layout, rng)] for cell in layout.pot_cells if rng.random() < 0.8]
    return {
        "chefs": [
            [*layout.place(cell), rng.choice(list("NSEW")).item(), _item(layout, rng) if rng.random() < 0.8 else None]
            for cell in cells
        ],
        "pots": sorted(pots),
        "counters": sorted(counters),
        "t": int(rng.integers(layout.horizon)),
    }


def random_actions(rng: np.random.Generator) -> tuple[int, int]:
    """A joint action in which chefs mostly interact."""
    first, second = (int(Action.INTERACT) if rng.random() < 0.6 else int(rng.integers(len(Action))) for _ in range(2))
    return first, second


def _item(layout: Layout, rng: np.random.Generator) -> str:
    kind = int(rng.integers(len(_PLAIN) + 1))
    return _PLAIN[kind] if kind < len(_PLAIN) else f"soup:{letters(*_contents(layout, rng, plated=True))}"


def _contents(layout: Layout, rng: np.random.Generator, plated: bool) -> tuple[int, int]:
    fewest = POT_CAPACITY if plated and layout.cooking is Cooking.AUTOMATIC else 1
    fillings = [contents for contents in all_contents() if sum(contents) >= fewest]
    return fillings[rng.integers(len(fillings))]


def _pot(layout: Layout, rng: np.random.Generator) -> tuple[str, int]:
    contents = _contents(layout, rng, plated=False)
    done = int(cooking_times(layout)[contents])
    lit = sum(contents) == POT_CAPACITY if layout.cooking is Cooking.AUTOMATIC else rng.random() < 0.6
    if not lit:
        return letters(*contents), -1
    return letters(*contents), done if rng.random() < 0.4 else int(rng.integers(done + 1))
