"""Players that bring about what random play hardly ever does: they walk to stations and use them.

The two wanderers in a kitchen share a preference for each kind of use, which changes now and then.
So they go through phases of cooking well, of wrong mixes, of cluttering counters and clearing them,
of waiting at a pot with a dish; and now and then both make for one tile to use it in the same step.
They see the state as JSON.
"""

from functools import cache

import numpy as np

from cochef.kitchen.constants import SEATS, Action, Direction, Tile
from cochef.kitchen.layout import Layout
from cochef.kitchen.navigation import UNREACHABLE, facing_distances
from tests.reference.allowed import shared_tiles
from tests.reference.uses import MEAN_WEIGHTS, Uses

_SPREAD = 0.5  # how far preferences stray from the mean, in powers of ten
_FASHIONS = ("take_tomato", "light_1", "light_2")  # where they stray twice as far
_PHASE = 80  # steps that preferences last on average
_MEETING = 120  # steps from one meeting at a tile to the next, on average
_MEETING_LASTS = 12
_PATIENCE = 15  # steps more than the way takes, after which a goal is dropped
_STEPS_ASIDE = 30  # at most so many steps goes a chef elsewhere when its way is blocked
_RANDOM = 0.04  # share of actions that are random
_NEAREST = 0.6  # how often the nearest of several tiles is taken


class RandomPair:
    """Two chefs that do anything at random."""

    def __init__(self, layout: Layout, rng: np.random.Generator):
        self._actions = iter(rng.integers(len(Action), size=(layout.horizon, SEATS)).tolist())

    def act(self, state: dict) -> tuple[int, int]:
        """Any two actions."""
        first, second = next(self._actions)
        return first, second


class Wanderers:
    """Two chefs that walk to stations by their common preferences and use them."""

    def __init__(self, layout: Layout, rng: np.random.Generator):
        self._rng = rng
        self._shared = shared_tiles(layout)
        self._chefs = [_Wanderer(layout, seat, rng) for seat in range(SEATS)]
        self._change_preferences()

    def act(self, state: dict) -> tuple[int, int]:
        """An action for each chef."""
        if self._rng.random() < 1 / _PHASE:
            self._change_preferences()
        if self._shared and self._rng.random() < 1 / _MEETING:
            self._meet(state, self._shared[self._rng.integers(len(self._shared))])
        return self._chefs[0].act(state), self._chefs[1].act(state)

    def _meet(self, state: dict, tile: int) -> None:
        if all(chef.distance(state, tile) < _MEETING_LASTS for chef in self._chefs):
            for chef in self._chefs:
                chef.pursue(tile, _MEETING_LASTS)

    def _change_preferences(self) -> None:
        spread = {kind: _SPREAD * (2 if kind in _FASHIONS else 1) for kind in MEAN_WEIGHTS}
        weights = {
            kind: mean * 10 ** self._rng.normal(0, spread[kind])
            for kind, mean in MEAN_WEIGHTS.items()
        }
        for chef in self._chefs:
            chef.weights = weights


class _Wanderer:
    """A chef with a goal: a tile to face and use."""

    def __init__(self, layout: Layout, seat: int, rng: np.random.Generator):
        self.weights = MEAN_WEIGHTS
        self._layout, self._seat, self._rng = layout, seat, rng
        self._routes, self._distances = _routes(layout)
        self._uses = Uses(layout, seat)
        self._pots = set(layout.cells_of(Tile.POT).tolist())
        self._goal: int | None = None
        self._patience = 0.0
        self._meeting = False
        self._last: tuple | None = None  # where it stood, what it held, what it did

    def pursue(self, tile: int, steps: int) -> None:
        """Make for a tile and use it over and over for some steps."""
        self._goal, self._patience, self._meeting = tile, steps, True

    def distance(self, state: dict, tile: int) -> int:
        """How many steps it takes to face a tile."""
        cell, facing, _ = self._where(state)
        return self._distances[cell][facing][tile]

    def act(self, state: dict) -> int:
        """The next action on the way to the goal, or the use of it."""
        cell, facing, held = self._where(state)
        self._patience -= 1
        self._review(cell, facing, held)
        if self._goal is None:
            self._goal = self._choose(state)
            self._patience = _PATIENCE + (
                0 if self._goal is None else self.distance(state, self._goal)
            )
        action = None if self._goal is None else self._routes[cell][facing][self._goal]
        if action is None or self._rng.random() < _RANDOM:
            action = int(self._rng.integers(len(Action)))
        self._last = ((cell, facing), held, action)
        return action

    def _where(self, state: dict) -> tuple[int, int, str | None]:
        x, y, facing, held = state["chefs"][self._seat]
        return y * self._layout.width + x, "NSEW".index(facing), held

    def _review(self, cell: int, facing: int, held: str | None) -> None:
        """Drop a goal that is reached, takes too long, does not answer, or is blocked."""
        if self._patience < 0:
            self._goal, self._meeting = None, False
        if self._last is None or self._meeting:
            return
        stood, had, did = self._last
        if held != had:
            self._goal = None
        elif did == Action.INTERACT:
            waits = held == "dish" and self._goal in self._pots
            self._goal = self._goal if self._rng.random() < (0.9 if waits else 0.2) else None
        elif stood == (cell, facing) and self._rng.random() < (0.2 if held else 0.6):
            elsewhere = [
                tile for tile, way in enumerate(self._routes[cell][facing]) if way is not None
            ]
            self._goal = elsewhere[self._rng.integers(len(elsewhere))]
            self._patience = _STEPS_ASIDE * self._rng.random()

    def _choose(self, state: dict) -> int | None:
        """A tile to use: the kind is drawn by preference, then often the nearest tile for it."""
        options: dict[str, list[int]] = {}
        for kind, tile in self._uses.options(state):
            options.setdefault(kind, []).append(tile)
        if not options:
            return None
        draw = self._rng.random() * sum(self.weights[kind] for kind in options)
        for kind in options:
            draw -= self.weights[kind]
            if draw <= 0:
                break
        if self._rng.random() < _NEAREST:
            return min(options[kind], key=lambda tile: self.distance(state, tile))
        return options[kind][self._rng.integers(len(options[kind]))]


@cache
def _routes(layout: Layout) -> tuple[list, list]:
    """Per cell, facing and tile: the action that leads in front of it (or None), and how far."""
    distance = facing_distances(layout).astype(int)
    table = np.full(distance.shape, None, object)
    for cell in layout.floor_cells:
        ahead = cell + layout.steps
        stands = np.where(layout.is_floor[ahead], ahead, cell)
        after = np.stack([distance[stands[direction], direction] for direction in Direction])
        table[cell] = np.where(after.min(axis=0) < UNREACHABLE, after.argmin(axis=0), None)
        for direction in Direction:
            table[cell, direction, ahead[direction]] = int(Action.INTERACT)
    table[:, :, layout.is_floor] = None
    return table.tolist(), distance.tolist()
