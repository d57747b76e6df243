"""Arbitrary states of a kitchen as JSON, and JSON that is nearly a state."""

import copy
from functools import cache
from itertools import combinations_with_replacement, permutations

from hypothesis import Phase, settings
from hypothesis import strategies as st

from cochef.kitchen import recipes
from cochef.kitchen.constants import POT_CAPACITY, SEATS, Cooking, Direction, Tile

EXAMPLES = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.shrink],  # explaining a failure by tracing takes minutes
)

LETTERS = [
    "".join(pair)
    for size in range(1, POT_CAPACITY + 1)
    for pair in combinations_with_replacement("ot", size)
]


@cache
def items(layout):
    """Anything a hand or a counter can hold."""
    soups = [
        letters
        for letters in LETTERS
        if len(letters) == POT_CAPACITY or layout.cooking is Cooking.MANUAL
    ]
    return st.sampled_from(["onion", "tomato", "dish", *(f"soup:{letters}" for letters in soups)])


@cache
def places(layout):
    """Two chefs anywhere; they often face a station of some kind, or one and the same."""
    stands = [
        (layout.position(cell), facing) for cell in layout.floor_cells for facing in Direction
    ]
    at_stations = [stand for stand in stands if layout.tile(in_front(stand)) is not Tile.FLOOR]
    at_one = [
        pair for pair in permutations(at_stations, 2) if in_front(pair[0]) == in_front(pair[1])
    ]
    by_kind = [[stand for stand in stands if layout.tile(in_front(stand)) is tile] for tile in Tile]
    anywhere = st.one_of([st.sampled_from(kind) for kind in by_kind if kind])
    any_two = st.tuples(anywhere, anywhere)
    both = any_two | any_two | st.sampled_from(at_one) if at_one else any_two
    return both.filter(lambda pair: pair[0][0] != pair[1][0])


def in_front(stand):
    """The (x, y) that a chef faces."""
    (x, y), facing = stand
    return x + facing.offset[0], y + facing.offset[1]


@cache
def pots(layout):
    """What is in the pots that are not empty, and how far it has cooked."""
    times = recipes.cooking_times(layout)

    def filled(contents):
        time = int(times[contents.count("o"), contents.count("t")])
        full, automatic = len(contents) == POT_CAPACITY, layout.cooking is Cooking.AUTOMATIC
        lit, idle = st.sampled_from([time, time - 1]) | st.integers(0, time), st.just(-1)
        return st.tuples(st.just(contents), (lit if full else idle) if automatic else idle | lit)

    filling = st.none() | st.one_of([filled(contents) for contents in LETTERS])
    cells = sorted(layout.position(cell) for cell in layout.pot_cells)
    return st.tuples(*[filling for _ in cells]).map(
        lambda fillings: [[*place, *pot] for place, pot in zip(cells, fillings, strict=True) if pot]
    )


@cache
def states(layout):
    """Any state that the kitchen can be described in, sorted as the package writes it."""
    hands = st.tuples(*[st.none() | items(layout)] * SEATS)
    cells = sorted(layout.position(cell) for cell in layout.counter_cells)
    counters = st.dictionaries(st.sampled_from(cells), items(layout), max_size=6)
    return st.builds(
        lambda stands, held, pots, lying, time: {
            "chefs": [
                [*place, facing.name[0], item]
                for (place, facing), item in zip(stands, held, strict=True)
            ],
            "pots": pots,
            "counters": sorted([*place, item] for place, item in lying.items()),
            "t": time,
        },
        places(layout),
        hands,
        pots(layout),
        counters,
        st.integers(0, layout.horizon - 1),
    )


SCRAPS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 30),
    st.integers(),
    st.floats(),
    st.sampled_from(
        [
            "N",
            "NS",
            "onion",
            "dish",
            "soup:",
            "soup:oot",
            "soup:tt",
            "soup:oooo",
            "oo",
            "to",
            "",
            "t",
        ]
    ),
    st.text(max_size=3),
)
JUNK = st.recursive(
    SCRAPS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner)
)


@st.composite
def nearly_states(draw, layout):
    """A state with one to three parts replaced, left out, doubled or named otherwise."""
    tree = [copy.deepcopy(draw(states(layout)))]
    for _ in range(draw(st.integers(1, 3))):
        owner, key = draw(st.sampled_from(_parts(tree)))
        change = draw(st.sampled_from(["replace", "leave out", "double", "rename"]))
        if change == "leave out" and owner is not tree:
            del owner[key]
        elif change == "double" and isinstance(owner, list) and owner is not tree:
            owner.insert(key, copy.deepcopy(owner[key]))
        elif change == "rename" and isinstance(owner, dict):
            owner[draw(st.text(max_size=3))] = owner.pop(key)
        else:
            owner[key] = draw(JUNK)
    return tree[0]


def _parts(tree):
    """Every place in some nested JSON, as its owner and its key there."""
    found, open_ends = [], [tree]
    while open_ends:
        owner = open_ends.pop()
        for key, part in owner.items() if isinstance(owner, dict) else enumerate(owner):
            found.append((owner, key))
            if isinstance(part, dict | list):
                open_ends.append(part)
    return found
