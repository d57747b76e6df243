"""Scripted partners with fixed behaviour, for evaluation only. They observe the true state.

A script repeats tasks. A task takes an item and brings it somewhere: to a random goal tile among
those that are valid and can be reached, kept while it stays so. Without any, the chef walks to a
random floor cell. When it has not left its cell for three steps, it steps in a random direction
until it does.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, UInt32

from cochef import validation
from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.kitchen.constants import POT_CAPACITY, Action, Cooking, Direction, Item, Tile
from cochef.kitchen.items import is_soup
from cochef.kitchen.layout import Layout
from cochef.kitchen.movement import in_front
from cochef.kitchen.navigation import NO_WAY, THERE, UNREACHABLE, Routes, routes
from cochef.kitchen.pots import is_lit
from cochef.kitchen.state import Chef, State
from cochef.pytree import pytree

# A set of targets of the routes as bits, 31 a word. The highest bit stays free, so that words are
# below `_PRIME` and `_computed_once` leaves them as they are.
TargetSet = UInt32[Array, " words"]

_PATIENCE = 3  # steps on one cell after which a chef is stuck
_NO_GOAL = -1
_WORD = 31  # bits used of each word
_PRIME = np.uint32(4_294_967_291)  # the largest below 2 ** 32
_MOST_TARGETS = 512  # a power of two, more than a layout can have
_PHASES = 4
_PUT_DOWN, _TAKE, _BRING, _SERVE = range(_PHASES)


@dataclass(frozen=True)
class ScriptTask:
    """Take an item to a kind of tile; a dish taken to a pot becomes a soup, which is served."""

    item: Item
    to: Tile
    from_counters: bool
    only: tuple[tuple[int, int], ...] = ()  # if given, the only places to bring it to
    forbidden_rows: int = 0  # rows at the top that are not entered while bringing


@dataclass(frozen=True)
class Script:
    """Repeats its tasks: drawn with equal chances, and left early when they become pointless."""

    name: str
    summary: str
    tasks: tuple[ScriptTask, ...]
    layouts: tuple[str, ...] = ()  # where it makes sense; empty: wherever its items are

    def __post_init__(self) -> None:
        """Refuse what a scripted agent would not do as it is said."""
        for task in self.tasks:
            if task.to not in (Tile.POT, Tile.COUNTER):
                raise InputError(f"{self.name}: to {task.to}; a task goes to pots or counters")
        targets = [(task.item is not Item.DISH, task.to) for task in self.tasks]
        if len(targets) != 1 and targets != [(True, Tile.POT), (False, Tile.POT)]:
            raise InputError(
                f"{self.name}: {len(targets)} tasks; a script has one, or two: "
                "first one that fills pots, then one that delivers"
            )


_ONION_TO_POT = ScriptTask(Item.ONION, Tile.POT, from_counters=True)
_TOMATO_TO_POT = ScriptTask(Item.TOMATO, Tile.POT, from_counters=True)
_DELIVERY = ScriptTask(Item.DISH, Tile.POT, from_counters=True)
_ONION_TO_COUNTER = ScriptTask(Item.ONION, Tile.COUNTER, from_counters=False)
_TOMATO_TO_COUNTER = ScriptTask(Item.TOMATO, Tile.COUNTER, from_counters=False)
_DISH_TO_COUNTER = ScriptTask(Item.DISH, Tile.COUNTER, from_counters=False)
_ONION_TO_MIDDLE = ScriptTask(
    Item.ONION,
    Tile.COUNTER,
    from_counters=False,
    only=tuple((x, 2) for x in range(2, 6)),
    forbidden_rows=2,
)

_SCRIPTS = (
    Script(
        "onion_placement",
        "puts onions into any pot with room, whatever is in it",
        (_ONION_TO_POT,),
    ),
    Script(
        "tomato_placement",
        "puts tomatoes into any pot with room, whatever is in it",
        (_TOMATO_TO_POT,),
    ),
    Script(
        "delivery",
        "plates soups and brings them to the nearest serving tile",
        (_DELIVERY,),
    ),
    Script("onion_everywhere", "litters the counters with onions", (_ONION_TO_COUNTER,)),
    Script("tomato_everywhere", "litters the counters with tomatoes", (_TOMATO_TO_COUNTER,)),
    Script("dish_everywhere", "litters the counters with dishes", (_DISH_TO_COUNTER,)),
    Script(
        "onion_placement_and_delivery",
        "places onions or delivers, as fits",
        (_ONION_TO_POT, _DELIVERY),
    ),
    Script(
        "tomato_placement_and_delivery",
        "places tomatoes or delivers, as fits",
        (_TOMATO_TO_POT, _DELIVERY),
    ),
    Script(
        "onion_to_middle_counter",
        "passes onions over the middle counter from the lower half of the ring",
        (_ONION_TO_MIDDLE,),
        layouts=("counter_circuit",),
    ),
)
SCRIPTS = {script.name: script for script in _SCRIPTS}

_DISPENSER = {
    Item.ONION: Tile.ONION_DISPENSER,
    Item.TOMATO: Tile.TOMATO_DISPENSER,
    Item.DISH: Tile.DISH_DISPENSER,
}


def applies(script: Script, layout: Layout) -> bool:
    """Whether a script makes sense in a layout: its items are there, and somewhere to put them.

    No script lights a pot, so those that both fill and plate need pots that start by themselves.
    """
    items = all(len(layout.cells_of(_DISPENSER[task.item])) for task in script.tasks)
    needs_counters = any(task.to is Tile.COUNTER for task in script.tasks)
    counters = len(layout.counter_cells) > 0 or not needs_counters
    place = not script.layouts or any(layouts.is_shipped(layout, name) for name in script.layouts)
    cooking = len(script.tasks) == 1 or layout.cooking is Cooking.AUTOMATIC
    return items and counters and place and cooking


def names_for(layout: Layout) -> tuple[str, ...]:
    """The scripts that make sense in a layout."""
    return tuple(name for name, script in SCRIPTS.items() if applies(script, layout))


def script(name: str, layout: Layout) -> "Scripted":
    """The scripted agent of this name for a layout."""
    chosen = SCRIPTS[validation.known(name, "script", SCRIPTS)]
    if not applies(chosen, layout):
        there = ", ".join(names_for(layout)) or "none"
        raise InputError(f"script {name!r} makes no sense in {layout.name}; there: {there}")
    return Scripted(chosen, layout)


@pytree
class ScriptCarry:
    """What a script carries from step to step."""

    task: Int[Array, ""]
    brings: Bool[Array, ""]  # whether it has held what the task brings
    goals: Int[Array, "4"]  # a goal for each phase
    cell: Int[Array, ""]  # where it was in the step before
    stuck: Int[Array, ""]  # steps on that cell


@pytree
class ScriptObservation:
    """What a script observes: its chef, who stands where, and sets of stations."""

    chef: Chef
    front: Int[Array, ""]
    standing: Int[Array, ""]  # own and other floor cell as one number
    empty: TargetSet  # counters that nothing lies on
    has_room: TargetSet  # pots that take an ingredient
    lit: TargetSet  # pots that cook or are ready


class Scripted(eqx.Module):
    """A script as an agent of one layout."""

    script: Script = eqx.field(static=True)
    layout: Layout = eqx.field(static=True)

    def begin(self, key: Key[Array, ""]) -> ScriptCarry:
        """Draw the first task; the first step counts as one on the same cell."""
        return ScriptCarry(
            task=jax.random.randint(key, (), 0, len(self.script.tasks)),
            brings=jnp.bool_(False),
            goals=jnp.full(_PHASES, _NO_GOAL),
            cell=jnp.int32(_NO_GOAL),
            stuck=jnp.int32(0),
        )

    def act(
        self, state: State, seat: int, carry: ScriptCarry, key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], ScriptCarry]:
        """Continue the task or begin another; step in a random direction when stuck."""
        draw_goal, draw = _computed_once(jax.random.bits(key, (2,)))
        # One word serves for both: its remainder is a direction, its highest bit a task.
        anywhere = (draw % len(Direction)).astype(jnp.int32)
        draw_task = draw >> _WORD
        observed = self._observe(state, seat)
        carry = self._choose_task(observed, carry, draw_task)
        phase, valid, brings = self._phase(observed, state.counters, carry)
        goal, first = self._choose_goal(observed, phase, valid, carry.goals, draw_goal)

        targets = jnp.asarray(routes(self.layout).targets)
        faces_goal = _contains(valid, goal) & (observed.front == targets[goal])
        walk = jnp.where(first == THERE, anywhere, first)
        action = jnp.where(faces_goal, Action.INTERACT, walk)
        same_cell = (observed.chef.cell == carry.cell) | (carry.cell == _NO_GOAL)
        stuck = jnp.where(same_cell, carry.stuck + 1, 0)
        action = jnp.where(stuck >= _PATIENCE, anywhere, action)

        goals = jnp.where(jnp.arange(_PHASES) == phase, goal, carry.goals)
        after = ScriptCarry(carry.task, carry.brings | brings, goals, observed.chef.cell, stuck)
        return action, after

    def _observe(self, state: State, seat: int) -> ScriptObservation:
        chef = jax.tree.map(lambda leaf: leaf[seat], state.chefs)
        floor_index = np.zeros(len(self.layout.is_floor), np.int32)
        floor_index[self.layout.floor_cells] = np.arange(len(self.layout.floor_cells))
        own = jnp.asarray(floor_index)[state.chefs.cell[seat]]
        other = jnp.asarray(floor_index)[state.chefs.cell[1 - seat]]
        lit = is_lit(state.pots)
        has_room = ~lit & (state.pots.contents.sum(axis=-1) < POT_CAPACITY)
        return ScriptObservation(
            chef=chef,
            front=in_front(self.layout, chef),
            standing=own * len(self.layout.floor_cells) + other,
            empty=self._set(self.layout.counter_cells, state.counters == Item.NOTHING),
            has_room=self._set(self.layout.pot_cells, has_room),
            lit=self._set(self.layout.pot_cells, lit),
        )

    def _set(self, cells: np.ndarray, members: Bool[Array, " n"] | None = None) -> TargetSet:
        """The set of the targets at `cells`, or of those of them that are members."""
        targets = routes(self.layout).targets
        position = np.searchsorted(targets, cells, sorter=np.argsort(targets))
        position = np.argsort(targets)[position].astype(np.uint32)
        word = np.arange(-(-len(targets) // _WORD))[:, None] == position // _WORD
        bits = np.where(word, np.uint32(1) << position % _WORD, 0).astype(np.uint32)
        chosen = jnp.asarray(bits) if members is None else jnp.where(members, bits, 0)
        return jnp.sum(chosen, axis=1, dtype=jnp.uint32)

    def _choose_task(
        self, observed: ScriptObservation, carry: ScriptCarry, draw: UInt32[Array, ""]
    ) -> ScriptCarry:
        """Leave a task that has become pointless; draw a new one when it is done."""
        hand = observed.chef.held
        task = carry.task
        restart = jnp.bool_(False)
        has_two_tasks = len(self.script.tasks) > 1
        if has_two_tasks:
            reachable = _reachable(routes(self.layout), observed.standing)
            stops_filling = (task == 0) & ~_any(observed.has_room & reachable)
            task = jnp.where(stops_filling, 1, task)
            stops_plating = (task == 1) & ~_any(observed.lit & reachable) & ~is_soup(hand)
            task = jnp.where(stops_plating, 0, task)
            restart = stops_filling | stops_plating
        done = ~restart & carry.brings & (hand == Item.NOTHING)
        if has_two_tasks:
            task = jnp.where(done, draw.astype(jnp.int32), task)
        goals = jnp.where(restart | done, _NO_GOAL, carry.goals)
        brings = carry.brings & ~(restart | done)
        return ScriptCarry(task, brings, goals, carry.cell, carry.stuck)

    def _phase(
        self, observed: ScriptObservation, counters: Int[Array, " counters"], carry: ScriptCarry
    ) -> tuple[Int[Array, ""], TargetSet, Bool[Array, ""]]:
        """The task's phase, its valid goals, and whether the chef holds what the task brings."""
        options = [self._phase_of(task, observed, counters) for task in self.script.tasks]
        chosen = options[0]
        for number, option in enumerate(options[1:], 1):
            is_task = carry.task == number
            chosen = jax.tree.map(
                lambda new, old, is_task=is_task: jnp.where(is_task, new, old), option, chosen
            )
        return chosen

    def _phase_of(
        self, task: ScriptTask, observed: ScriptObservation, counters: Int[Array, " counters"]
    ) -> tuple[Int[Array, ""], TargetSet, Bool[Array, ""]]:
        hand = observed.chef.held
        serving = self._set(self.layout.serving_cells)
        delivers = task.item is Item.DISH and task.to is Tile.POT
        serves = is_soup(hand) & delivers
        phase = jnp.select(
            [hand == Item.NOTHING, hand == task.item, serves],
            [_TAKE, _BRING, _SERVE],
            default=_PUT_DOWN,
        )
        is_ingredient = (hand == Item.ONION) | (hand == Item.TOMATO)
        put_down = (
            observed.empty
            | jnp.where(is_ingredient, observed.has_room, 0)
            | jnp.where(is_soup(hand), serving, 0)
        )
        take = self._set(self.layout.cells_of(_DISPENSER[task.item]))
        if task.from_counters:
            take |= self._set(self.layout.counter_cells, counters == task.item)
        if task.to is Tile.COUNTER:
            only = [self.layout.cell(place) for place in task.only]
            bring = observed.empty & self._set(np.array(only)) if only else observed.empty
        else:
            bring = observed.lit if delivers else observed.has_room
        goals = {_PUT_DOWN: put_down, _TAKE: take, _BRING: bring, _SERVE: serving}
        valid = jnp.select([phase == key for key in goals], list(goals.values()))
        return phase, valid, serves if delivers else hand == task.item

    def _choose_goal(
        self,
        observed: ScriptObservation,
        phase: Int[Array, ""],
        valid: TargetSet,
        goals: Int[Array, "4"],
        draw: UInt32[Array, ""],
    ) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """The target to go to, and the first direction on the way."""
        standing = observed.standing
        paths = routes(self.layout)
        careful = routes(self.layout, max(task.forbidden_rows for task in self.script.tasks))
        reachable = _reachable(paths, standing)
        if careful is not paths:
            reachable = jnp.where(phase == _BRING, _reachable(careful, standing), reachable)
        floor = self._set(self.layout.floor_cells)
        options = valid & reachable
        candidates = _computed_once(jnp.where(_any(options), options, floor & reachable))
        kept = jnp.sum(jnp.where(jnp.arange(_PHASES) == phase, goals, 0))
        nearest = jnp.asarray(_nearest(paths, self.layout.serving_cells))[standing]
        drawn = _draw_member(draw, candidates, len(paths.targets))
        fresh = jnp.where(phase == _SERVE, nearest, drawn)
        goal = jnp.where((kept != _NO_GOAL) & _contains(options, kept), kept, fresh)
        first = _first_direction(paths, standing, goal)
        if careful is not paths:
            first = jnp.where(phase == _BRING, _first_direction(careful, standing, goal), first)
        return goal, first


def _computed_once(words: UInt32[Array, " words"]) -> UInt32[Array, " words"]:
    """The same words, but computed only once.

    A compiler repeats cheap work wherever its result is read, but not a remainder. Sets stay as
    they are, as they use only 31 bits; of random words, the five highest are mapped to the lowest.
    """
    return words % _PRIME


def _any(words: TargetSet) -> Bool[Array, ""]:
    return (words != 0).any()


def _contains(words: TargetSet, index: Int[Array, ""]) -> Bool[Array, ""]:
    word = jnp.sum(jnp.where(jnp.arange(words.size) == index // _WORD, words, 0))
    return (word >> (index % _WORD).astype(jnp.uint32)) % 2 == 1


def _reachable(paths: Routes, standing: Int[Array, ""]) -> TargetSet:
    """The set of targets that can be walked to."""
    targets = len(paths.targets)
    words = -(-targets // _WORD)
    has_way = (paths.first != NO_WAY).reshape(-1, targets)
    padded = np.pad(has_way, ((0, 0), (0, words * _WORD - targets))).reshape(-1, words, _WORD)
    bits = padded.astype(np.uint32) << np.arange(_WORD, dtype=np.uint32)
    return jnp.asarray(bits.sum(axis=-1, dtype=np.uint32))[standing]


def _first_direction(
    paths: Routes, standing: Int[Array, ""], goal: Int[Array, ""]
) -> Int[Array, ""]:
    """The first direction on the way to a goal."""
    index = standing * len(paths.targets) + goal
    return jnp.asarray(paths.first.ravel())[index].astype(jnp.int32)


def _nearest(paths: Routes, cells: np.ndarray) -> np.ndarray:
    """By standing: the nearest of some stations (the first of a tie), or else the own cell."""
    length = paths.length.reshape(-1, len(paths.targets)).astype(np.int32)
    stations = np.flatnonzero(np.isin(paths.targets, cells))
    nearest = stations[length[:, stations].argmin(axis=1)]
    own_cell = paths.stations + length[:, paths.stations :].argmin(axis=1)
    can_reach = length[np.arange(len(length)), nearest] < UNREACHABLE
    return np.where(can_reach, nearest, own_cell).astype(np.int32)


def _draw_member(draw: UInt32[Array, ""], candidates: TargetSet, targets: int) -> Int[Array, ""]:
    """One of the candidates, all equally likely.

    Every target's number hashes to a random rank, and the highest rank wins.
    """
    index = np.arange(candidates.size * _WORD, dtype=np.uint32).reshape(-1, _WORD)
    rank = draw ^ (index * np.uint32(0x9E3779B9))
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        rank = (rank ^ (rank >> shift)) * np.uint32(factor)
    # The lowest bits give way to the target's number, which is then read off the maximum.
    rank = (rank ^ (rank >> 16)) & ~np.uint32(_MOST_TARGETS - 1)
    chosen = ((candidates[:, None] >> (index % _WORD)) % 2 == 1) & (index < targets)
    return (jnp.max(jnp.where(chosen, rank | index, 0)) % _MOST_TARGETS).astype(jnp.int32)
