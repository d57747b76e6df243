"""Scripted people: partners with a fixed habit, for evaluation only. They see the true state.

A script repeats tasks. A task takes an item and brings it somewhere: to a random goal tile among those that are
valid and can be reached, kept while it stays so. Without any, the chef walks to a random floor cell. When it has
not left its cell for three steps, it steps in a random direction until it does.
"""

from dataclasses import dataclass
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from cochef.errors import InputError
from cochef.kitchen.constants import POT_CAPACITY, Action, Direction, Item, Tile
from cochef.kitchen.items import is_soup
from cochef.kitchen.layout import Layout
from cochef.kitchen.movement import in_front
from cochef.kitchen.navigation import NO_WAY, THERE, UNREACHABLE, Routes, routes
from cochef.kitchen.pots import is_lit
from cochef.kitchen.state import Chef, State
from cochef.pytree import pytree

_PATIENCE = 3
_NO_GOAL = -1
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
    layouts: tuple[str, ...] = ()  # the only layouts where it makes sense; empty: wherever its items are


_ONION_TO_POT = Task(Item.ONION, Tile.POT, from_counters=True)
_TOMATO_TO_POT = Task(Item.TOMATO, Tile.POT, from_counters=True)
_DELIVERY = Task(Item.DISH, Tile.POT, from_counters=True)
_MIDDLE = tuple((x, 2) for x in range(2, 6))

SCRIPTS = {
    script.name: script
    for script in (
        Script("onion_placement", "puts onions into any pot with room, whatever is in it", (_ONION_TO_POT,)),
        Script("tomato_placement", "puts tomatoes into any pot with room, whatever is in it", (_TOMATO_TO_POT,)),
        Script("delivery", "plates soups and brings them to the nearest serving tile", (_DELIVERY,)),
        Script("onion_everywhere", "litters the counters with onions", (Task(Item.ONION, Tile.COUNTER, False),)),
        Script("tomato_everywhere", "litters the counters with tomatoes", (Task(Item.TOMATO, Tile.COUNTER, False),)),
        Script("dish_everywhere", "litters the counters with dishes", (Task(Item.DISH, Tile.COUNTER, False),)),
        Script("onion_placement_and_delivery", "places onions or delivers, as fits", (_ONION_TO_POT, _DELIVERY)),
        Script("tomato_placement_and_delivery", "places tomatoes or delivers, as fits", (_TOMATO_TO_POT, _DELIVERY)),
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
    """Whether a script makes sense in a kitchen: everything it takes is there to be taken."""
    has_items = all(len(layout.cells_of(_DISPENSER[task.item])) for task in script.tasks)
    return has_items and (not script.layouts or layout.name in script.layouts)


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
    """What a script looks at: its chef, the stations in the order of the routes, and the first step to each target."""

    chef: Chef
    front: Int[Array, ""]
    lying: Int[Array, " stations"]
    has_room: Bool[Array, " stations"]
    is_lit: Bool[Array, " stations"]
    own: Int[Array, ""]
    other: Int[Array, ""]


class Scripted(eqx.Module):
    """A script as an agent in one kitchen."""

    script: Script = eqx.field(static=True)
    layout: Layout = eqx.field(static=True)

    def begin(self, key: Key[Array, ""]) -> Habit:
        """A task to begin with; the first step counts as one on the same cell."""
        task = _pick(jax.random.uniform(key), len(self.script.tasks))
        return Habit(task, jnp.bool_(False), jnp.full(_PHASES, _NO_GOAL), jnp.int32(_NO_GOAL), jnp.int32(0))

    def act(self, state: State, seat: int, memory: Habit, key: Key[Array, ""]) -> tuple[Int[Array, ""], Habit]:
        """Go on with the task or begin another, then get unstuck if need be."""
        draw_task, draw_goal, draw_direction = jax.random.uniform(key, (3,))
        scene = self._look(state, seat)
        habit = self._choose_task(scene, memory, draw_task)
        phase, valid, brings = self._phase(scene, habit)
        goal, first = self._choose_goal(scene, phase, valid, habit.goals, draw_goal)

        anywhere = _pick(draw_direction, len(Direction))
        facing = (goal < self._routes.stations) & (scene.front == jnp.asarray(self._routes.targets)[goal])
        action = jnp.where(facing & valid[goal], Action.INTERACT, jnp.where(first == THERE, anywhere, first))
        stuck = jnp.where((scene.chef.cell == habit.cell) | (habit.cell == _NO_GOAL), habit.stuck + 1, 0)
        action = jnp.where(stuck >= _PATIENCE, anywhere, action)

        goals = jnp.where(jnp.arange(_PHASES) == phase, goal, habit.goals)
        return action, Habit(habit.task, habit.brings | brings, goals, scene.chef.cell, stuck)

    @property
    def _routes(self) -> Routes:
        return routes(self.layout)

    def _look(self, state: State, seat: int) -> Scene:
        chef = jax.tree.map(lambda leaf: leaf[seat], state.chefs)
        has_room = ~is_lit(state.pots) & (state.pots.contents.sum(axis=-1) < POT_CAPACITY)
        counters, pots = self.layout.counter_cells, self.layout.pot_cells
        dispensed = self.layout.dispensed[self._routes.targets[: self._routes.stations]]
        floor_index = np.zeros(len(self.layout.is_floor), np.int32)
        floor_index[self.layout.floor_cells] = np.arange(len(self.layout.floor_cells))
        return Scene(
            chef=chef,
            front=in_front(self.layout, chef),
            lying=self._at_stations(counters, state.counters) + dispensed,
            has_room=self._at_stations(pots, has_room),
            is_lit=self._at_stations(pots, is_lit(state.pots)),
            own=jnp.asarray(floor_index)[chef.cell],
            other=jnp.asarray(floor_index)[state.chefs.cell[1 - seat]],
        )

    def _at_stations(self, cells: np.ndarray, values: Shaped[Array, " n"]) -> Shaped[Array, " stations"]:
        """`values` at the stations that stand on `cells`, zero at the others."""
        stations = self._routes.targets[: self._routes.stations]
        source = [np.flatnonzero(cells == cell)[0] if cell in cells else len(cells) for cell in stations]
        return jnp.append(values, jnp.zeros(1, values.dtype))[np.array(source)]

    def _is(self, *tiles: Tile) -> np.ndarray:
        return np.isin(self._routes.targets[: self._routes.stations], self.layout.cells_of(*tiles))

    def _choose_task(self, scene: Scene, habit: Habit, draw: Float[Array, ""]) -> Habit:
        """Leave a task that has become pointless; draw a new one when it is done."""
        hand, task, restart = scene.chef.held, habit.task, jnp.bool_(False)
        if len(self.script.tasks) > 1:
            reachable = jnp.asarray(self._routes.first)[scene.own, scene.other][: self._routes.stations] != NO_WAY
            nothing_to_fill = ~(scene.has_room & reachable).any()
            nothing_to_plate = ~(scene.is_lit & reachable).any() & ~is_soup(hand)
            stops_filling = (task == 0) & nothing_to_fill
            task = jnp.where(stops_filling, 1, task)
            stops_plating = (task == 1) & nothing_to_plate
            task, restart = jnp.where(stops_plating, 0, task), stops_filling | stops_plating
        done = ~restart & habit.brings & (hand == Item.NOTHING)
        task = jnp.where(done, _pick(draw, len(self.script.tasks)), task)
        fresh = restart | done
        goals = jnp.where(fresh, _NO_GOAL, habit.goals)
        return Habit(task, habit.brings & ~fresh, goals, habit.cell, habit.stuck)

    def _phase(self, scene: Scene, habit: Habit) -> tuple[Int[Array, ""], Bool[Array, " stations"], Bool[Array, ""]]:
        """The phase of the task, the stations that are valid goals in it, and whether the task's load is in hand."""
        phases, valid, brings = zip(*(self._phase_of(task, scene) for task in self.script.tasks), strict=True)
        of_task = partial(jax.lax.select_n, habit.task) if len(phases) > 1 else lambda only: only
        return of_task(*phases), jnp.stack(valid)[habit.task], of_task(*brings)

    def _phase_of(self, task: Task, scene: Scene) -> tuple[Int[Array, ""], Bool[Array, " stations"], Bool[Array, ""]]:
        hand, counters = scene.chef.held, self._is(Tile.COUNTER)
        delivers = task.item is Item.DISH and task.to is Tile.POT
        serves = is_soup(hand) & delivers
        phase = jnp.select(
            [hand == Item.NOTHING, hand == task.item, serves], [_TAKE, _BRING, _SERVE], default=_PUT_DOWN
        )
        empty = counters & (scene.lying == Item.NOTHING)
        takes_it = empty | (scene.has_room & _is_ingredient(hand)) | (self._is(Tile.SERVING) & is_soup(hand))
        offered = (scene.lying == task.item) & (task.from_counters | ~counters)
        if task.to is Tile.COUNTER:
            only = np.isin(self._routes.targets[: self._routes.stations], [self.layout.cell(p) for p in task.only])
            bring = empty & (only if task.only else True)
        else:
            bring = scene.is_lit if delivers else scene.has_room
        by_phase = {_PUT_DOWN: takes_it, _TAKE: offered, _BRING: bring, _SERVE: jnp.asarray(self._is(Tile.SERVING))}
        valid = jnp.select([phase == key for key in by_phase], list(by_phase.values()), default=False)
        return phase, valid, serves if delivers else hand == task.item

    def _choose_goal(
        self,
        scene: Scene,
        phase: Int[Array, ""],
        valid: Bool[Array, " stations"],
        goals: Int[Array, "4"],
        draw: Float[Array, ""],
    ) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """The target to go to, and the first direction on the way."""
        first = jnp.asarray(self._routes.first)[scene.own, scene.other]
        forbidden = max(task.forbidden_rows for task in self.script.tasks)
        if forbidden:
            careful = jnp.asarray(routes(self.layout, forbidden).first)[scene.own, scene.other]
            first = jnp.where(phase == _BRING, careful, first)
        stations = self._routes.stations
        reachable = first != NO_WAY
        open_to = valid & reachable[:stations]
        candidates = jnp.concatenate([open_to, reachable[stations:] & ~open_to.any()])
        length = jnp.asarray(self._routes.length)[scene.own, scene.other]
        nearest = jnp.where(candidates, length, UNREACHABLE).argmin()
        kept = goals[phase]
        keep = (kept != _NO_GOAL) & (kept < stations) & open_to[kept]
        # As in the reference, a chef that cannot serve goes to the nearest floor, its own cell: it steps anywhere.
        fresh = jnp.where(phase == _SERVE, nearest, _pick_among(draw, candidates))
        goal = jnp.where(keep, kept, fresh)
        return goal, first[goal].astype(jnp.int32)


def _is_ingredient(item: Int[Array, ""]) -> Bool[Array, ""]:
    return (item == Item.ONION) | (item == Item.TOMATO)


def _pick(draw: Float[Array, ""], count: int) -> Int[Array, ""]:
    """One of `count` numbers, each as likely."""
    return (draw * count).astype(jnp.int32)


def _pick_among(draw: Float[Array, ""], candidates: Bool[Array, " n"]) -> Int[Array, ""]:
    """The index of one of the candidates, each as likely."""
    rank = jnp.cumsum(candidates)
    return (rank > (draw * rank[-1]).astype(jnp.int32)).argmax()
