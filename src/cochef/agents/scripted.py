"""Scripted people: partners with a fixed habit, for evaluation only. They see the true state.

A script repeats tasks. A task takes an item and brings it somewhere: to a random goal tile among those that are
valid and can be reached, kept while it stays so. Without any, the chef walks to a random floor cell. When it has
not left its cell for three steps, it steps in a random direction until it does.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, UInt32

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

Words = UInt32[Array, " words"]  # a set of targets of the routes, 31 a word

_PATIENCE = 3
_NO_GOAL = -1
_WORD = 31  # bits used of each word
_PRIME = np.uint32(4_294_967_291)  # the largest below 2 ** 32
_MOST_TARGETS = 512  # a power of two, more than a layout can have
_PHASES = 4
_PUT_DOWN, _TAKE, _BRING, _SERVE = range(_PHASES)


@dataclass(frozen=True)
class Task:
    """Take an item and bring it to a kind of tile; a dish brought to a pot becomes a soup and is served."""

    item: Item
    to: Tile
    from_counters: bool
    only: tuple[tuple[int, int], ...] = ()  # if given, the only places to bring it to
    forbidden_rows: int = 0  # rows at the top that are not entered while bringing


@dataclass(frozen=True)
class Script:
    """A habit: its tasks are drawn with equal chances, changed early when they have become pointless."""

    name: str
    about: str
    tasks: tuple[Task, ...]
    layouts: tuple[
        str, ...
    ] = ()  # the only layouts where it makes sense; empty: wherever its items are


_ONION_TO_POT = Task(Item.ONION, Tile.POT, from_counters=True)
_TOMATO_TO_POT = Task(Item.TOMATO, Tile.POT, from_counters=True)
_DELIVERY = Task(Item.DISH, Tile.POT, from_counters=True)
_MIDDLE = tuple((x, 2) for x in range(2, 6))

SCRIPTS = {
    script.name: script
    for script in (
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
            "delivery", "plates soups and brings them to the nearest serving tile", (_DELIVERY,)
        ),
        Script(
            "onion_everywhere",
            "litters the counters with onions",
            (Task(Item.ONION, Tile.COUNTER, False),),
        ),
        Script(
            "tomato_everywhere",
            "litters the counters with tomatoes",
            (Task(Item.TOMATO, Tile.COUNTER, False),),
        ),
        Script(
            "dish_everywhere",
            "litters the counters with dishes",
            (Task(Item.DISH, Tile.COUNTER, False),),
        ),
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
            (Task(Item.ONION, Tile.COUNTER, False, only=_MIDDLE, forbidden_rows=2),),
            layouts=("counter_circuit",),
        ),
    )
}

_DISPENSER = {
    Item.ONION: Tile.ONION_DISPENSER,
    Item.TOMATO: Tile.TOMATO_DISPENSER,
    Item.DISH: Tile.DISH_DISPENSER,
}


def applies(script: Script, layout: Layout) -> bool:
    """Whether a script makes sense in a kitchen: what it takes is there, and somewhere to put it.

    No script lights a pot, so the ones that both fill and plate need a kitchen that cooks by itself.
    """
    has_items = all(len(layout.cells_of(_DISPENSER[task.item])) for task in script.tasks)
    has_counters = len(layout.counter_cells) > 0 or all(
        task.to is not Tile.COUNTER for task in script.tasks
    )
    known = not script.layouts or any(layouts.is_shipped(layout, name) for name in script.layouts)
    return (
        has_items
        and has_counters
        and known
        and (len(script.tasks) == 1 or layout.cooking is Cooking.AUTOMATIC)
    )


def names_for(layout: Layout) -> tuple[str, ...]:
    """The scripts that make sense in a kitchen."""
    return tuple(name for name, script in SCRIPTS.items() if applies(script, layout))


def script(name: str, layout: Layout) -> "Scripted":
    """The scripted agent of this name for a kitchen."""
    if name not in SCRIPTS:
        raise InputError(f"unknown script {name!r}; known: {', '.join(SCRIPTS)}")
    if not applies(SCRIPTS[name], layout):
        raise InputError(
            f"script {name!r} makes no sense in {layout.name}; there: {', '.join(names_for(layout)) or 'none'}"
        )
    return Scripted(SCRIPTS[name], layout)


@pytree
class Habit:
    """What a script remembers: its task, whether it has held what the task brings, a goal per phase, being stuck."""

    task: Int[Array, ""]
    brings: Bool[Array, ""]
    goals: Int[Array, "4"]
    cell: Int[Array, ""]
    stuck: Int[Array, ""]


@pytree
class Scene:
    """What a script looks at: its chef, who stands where, and sets of stations as bits of words."""

    chef: Chef
    front: Int[Array, ""]
    standing: Int[Array, ""]  # own and other floor cell as one number
    empty: Words  # counters that nothing lies on
    has_room: Words  # pots that take an ingredient
    lit: Words  # pots that cook or are ready


class Scripted(eqx.Module):
    """A script as an agent in one kitchen."""

    script: Script = eqx.field(static=True)
    layout: Layout = eqx.field(static=True)

    def begin(self, key: Key[Array, ""]) -> Habit:
        """A task to begin with; the first step counts as one on the same cell."""
        task = jax.random.randint(key, (), 0, len(self.script.tasks))
        return Habit(
            task, jnp.bool_(False), jnp.full(_PHASES, _NO_GOAL), jnp.int32(_NO_GOAL), jnp.int32(0)
        )

    def act(
        self, state: State, seat: int, carry: Habit, key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], Habit]:
        """Go on with the task or begin another, then get unstuck if need be."""
        draw_goal, draw = _once(jax.random.bits(key, (2,)))
        anywhere, draw_task = (draw % len(Direction)).astype(jnp.int32), draw >> _WORD
        scene = self._look(state, seat)
        habit = self._choose_task(scene, carry, draw_task)
        phase, valid, brings = self._phase(scene, state.counters, habit)
        goal, first = self._choose_goal(scene, phase, valid, habit.goals, draw_goal)

        faces_goal = _holds(valid, goal) & (
            scene.front == jnp.asarray(routes(self.layout).targets)[goal]
        )
        action = jnp.where(faces_goal, Action.INTERACT, jnp.where(first == THERE, anywhere, first))
        stuck = jnp.where(
            (scene.chef.cell == habit.cell) | (habit.cell == _NO_GOAL), habit.stuck + 1, 0
        )
        action = jnp.where(stuck >= _PATIENCE, anywhere, action)

        goals = jnp.where(jnp.arange(_PHASES) == phase, goal, habit.goals)
        return action, Habit(habit.task, habit.brings | brings, goals, scene.chef.cell, stuck)

    def _look(self, state: State, seat: int) -> Scene:
        chef = jax.tree.map(lambda leaf: leaf[seat], state.chefs)
        floor_index = np.zeros(len(self.layout.is_floor), np.int32)
        floor_index[self.layout.floor_cells] = np.arange(len(self.layout.floor_cells))
        own, other = (jnp.asarray(floor_index)[state.chefs.cell[who]] for who in (seat, 1 - seat))
        has_room = ~is_lit(state.pots) & (state.pots.contents.sum(axis=-1) < POT_CAPACITY)
        return Scene(
            chef=chef,
            front=in_front(self.layout, chef),
            standing=own * len(self.layout.floor_cells) + other,
            empty=self._set(self.layout.counter_cells, state.counters == Item.NOTHING),
            has_room=self._set(self.layout.pot_cells, has_room),
            lit=self._set(self.layout.pot_cells, is_lit(state.pots)),
        )

    def _set(self, cells: np.ndarray, members: Bool[Array, " n"] | None = None) -> Words:
        """The set of those of the targets at `cells` that are members; all of them if not said."""
        targets = routes(self.layout).targets
        position = np.searchsorted(targets, cells, sorter=np.argsort(targets))
        position = np.argsort(targets)[position].astype(np.uint32)
        word = np.arange(-(-len(targets) // _WORD))[:, None] == position // _WORD
        bits = np.where(word, np.uint32(1) << position % _WORD, 0).astype(np.uint32)
        return jnp.sum(
            jnp.asarray(bits) if members is None else jnp.where(members, bits, 0),
            axis=1,
            dtype=jnp.uint32,
        )

    def _choose_task(self, scene: Scene, habit: Habit, draw: UInt32[Array, ""]) -> Habit:
        """Leave a task that has become pointless; draw a new one when it is done."""
        hand, task, restart = scene.chef.held, habit.task, jnp.bool_(False)
        if len(self.script.tasks) > 1:
            reachable = _reachable(routes(self.layout), scene.standing)
            stops_filling = (task == 0) & ~_any(scene.has_room & reachable)
            task = jnp.where(stops_filling, 1, task)
            stops_plating = (task == 1) & ~_any(scene.lit & reachable) & ~is_soup(hand)
            task, restart = jnp.where(stops_plating, 0, task), stops_filling | stops_plating
        done = ~restart & habit.brings & (hand == Item.NOTHING)
        if len(self.script.tasks) > 1:
            task = jnp.where(done, draw.astype(jnp.int32), task)
        goals = jnp.where(restart | done, _NO_GOAL, habit.goals)
        return Habit(task, habit.brings & ~(restart | done), goals, habit.cell, habit.stuck)

    def _phase(
        self, scene: Scene, counters: Int[Array, " counters"], habit: Habit
    ) -> tuple[Int[Array, ""], Words, Bool[Array, ""]]:
        """The phase of the task, the stations that are valid goals in it, and whether the task's load is in hand."""
        options = [self._phase_of(task, scene, counters) for task in self.script.tasks]
        chosen = options[0]
        for number, option in enumerate(options[1:], 1):
            chosen = jax.tree.map(
                lambda new, old: jnp.where(habit.task == number, new, old), option, chosen
            )  # noqa: B023
        return chosen

    def _phase_of(
        self, task: Task, scene: Scene, counters: Int[Array, " counters"]
    ) -> tuple[Int[Array, ""], Words, Bool[Array, ""]]:
        hand, serving = scene.chef.held, self._set(self.layout.serving_cells)
        delivers = task.item is Item.DISH and task.to is Tile.POT
        serves = is_soup(hand) & delivers
        phase = jnp.select(
            [hand == Item.NOTHING, hand == task.item, serves],
            [_TAKE, _BRING, _SERVE],
            default=_PUT_DOWN,
        )
        is_ingredient = (hand == Item.ONION) | (hand == Item.TOMATO)
        takes_it = (
            scene.empty
            | jnp.where(is_ingredient, scene.has_room, 0)
            | jnp.where(is_soup(hand), serving, 0)
        )
        offered = self._set(self.layout.cells_of(_DISPENSER[task.item]))
        if task.from_counters:
            offered |= self._set(self.layout.counter_cells, counters == task.item)
        if task.to is Tile.COUNTER:
            only = [self.layout.cell(place) for place in task.only]
            bring = scene.empty & self._set(np.array(only)) if only else scene.empty
        else:
            bring = scene.lit if delivers else scene.has_room
        by_phase = {_PUT_DOWN: takes_it, _TAKE: offered, _BRING: bring, _SERVE: serving}
        valid = jnp.select([phase == key for key in by_phase], list(by_phase.values()))
        return phase, valid, serves if delivers else hand == task.item

    def _choose_goal(
        self,
        scene: Scene,
        phase: Int[Array, ""],
        valid: Words,
        goals: Int[Array, "4"],
        draw: UInt32[Array, ""],
    ) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """The target to go to, and the first direction on the way."""
        paths = routes(self.layout)
        careful = routes(self.layout, max(task.forbidden_rows for task in self.script.tasks))
        reachable = _reachable(paths, scene.standing)
        if careful is not paths:
            reachable = jnp.where(phase == _BRING, _reachable(careful, scene.standing), reachable)
        floor = self._set(self.layout.floor_cells)
        open_to = valid & reachable
        candidates = _once(jnp.where(_any(open_to), open_to, floor & reachable))
        kept = jnp.sum(jnp.where(jnp.arange(_PHASES) == phase, goals, 0))
        nearest = jnp.asarray(_nearest(paths, self.layout.serving_cells))[scene.standing]
        fresh = jnp.where(
            phase == _SERVE, nearest, _pick_among(draw, candidates, len(paths.targets))
        )
        goal = jnp.where((kept != _NO_GOAL) & _holds(open_to, kept), kept, fresh)
        first = _first(paths, scene.standing, goal)
        if careful is not paths:
            first = jnp.where(phase == _BRING, _first(careful, scene.standing, goal), first)
        return goal, first


def _once(words: UInt32[Array, " words"]) -> UInt32[Array, " words"]:
    """The same words, computed once: a compiler repeats cheap work wherever it is read, but not a remainder.

    Sets stay as they are, as they use only 31 bits; of random words, the five highest are mapped to the lowest.
    """
    return words % _PRIME


def _any(words: Words) -> Bool[Array, ""]:
    return (words != 0).any()


def _holds(words: Words, index: Int[Array, ""]) -> Bool[Array, ""]:
    """Whether a set has a member."""
    word = jnp.sum(jnp.where(jnp.arange(words.size) == index // _WORD, words, 0))
    return (word >> (index % _WORD).astype(jnp.uint32)) % 2 == 1


def _reachable(paths: Routes, standing: Int[Array, ""]) -> Words:
    """The set of targets that can be walked to."""
    open_way = (paths.first != NO_WAY).reshape(-1, len(paths.targets))
    words = -(-len(paths.targets) // _WORD)
    padded = np.pad(open_way, ((0, 0), (0, words * _WORD - len(paths.targets)))).reshape(
        -1, words, _WORD
    )
    packed = (padded.astype(np.uint32) << np.arange(_WORD, dtype=np.uint32)).sum(
        axis=-1, dtype=np.uint32
    )
    return jnp.asarray(packed)[standing]


def _first(paths: Routes, standing: Int[Array, ""], goal: Int[Array, ""]) -> Int[Array, ""]:
    """The first direction on the way to a goal."""
    return jnp.asarray(paths.first.ravel())[standing * len(paths.targets) + goal].astype(jnp.int32)


def _nearest(paths: Routes, cells: np.ndarray) -> np.ndarray:
    """By standing: the nearest of some stations, of equally near ones the first; else the own cell."""
    length = paths.length.reshape(-1, len(paths.targets)).astype(np.int32)
    among = np.flatnonzero(np.isin(paths.targets, cells))
    nearest = among[length[:, among].argmin(axis=1)]
    floor = paths.stations + length[:, paths.stations :].argmin(axis=1)
    return np.where(length[np.arange(len(length)), nearest] < UNREACHABLE, nearest, floor).astype(
        np.int32
    )


def _pick_among(draw: UInt32[Array, ""], candidates: Words, targets: int) -> Int[Array, ""]:
    """One of the candidates, each as likely: every target's number hashes to a random rank, and the highest wins."""
    index = np.arange(candidates.size * _WORD, dtype=np.uint32).reshape(-1, _WORD)
    rank = draw ^ (index * np.uint32(0x9E3779B9))
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        rank = (rank ^ (rank >> shift)) * np.uint32(factor)
    rank = (rank ^ (rank >> 16)) & ~np.uint32(_MOST_TARGETS - 1)
    chosen = ((candidates[:, None] >> (index % _WORD)) % 2 == 1) & (index < targets)
    return (jnp.max(jnp.where(chosen, rank | index, 0)) % _MOST_TARGETS).astype(jnp.int32)
