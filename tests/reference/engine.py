"""overcooked_ai 1.1.0 as a second opinion: plays our layouts and speaks our JSON.

The package is used as published. The one edit to its transitions is `AutomaticGridworld`: a pot
starts when its third item lands, and no other way. Manual layouts run without any edit.
"""

import copy
import sys
import warnings
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace

import numpy as np

from cochef.kitchen.constants import SEATS, Cooking
from cochef.kitchen.events import Event
from cochef.kitchen.layout import Layout, Position


def _register_nothing(**_: object) -> None:
    """Stands for gym's registration of environments."""


def _import_reference() -> tuple[ModuleType, ModuleType, ModuleType]:
    """The package's modules, imported without gym and with the old name of infinity."""
    np.Inf = np.inf
    stubs = {name: ModuleType(name) for name in ("gym", "gym.envs", "gym.envs.registration")}
    stubs["gym.envs.registration"].register = _register_nothing
    sys.modules.update(stubs)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its docstrings hold escapes that Python warns about
            from overcooked_ai_py.mdp import actions, overcooked_mdp  # noqa: PLC0415
            from overcooked_ai_py.planning import planners  # noqa: PLC0415
    finally:
        for name in stubs:
            del sys.modules[name]
    return actions, overcooked_mdp, planners


_actions, _mdp, _planners = _import_reference()

ReferenceState = _mdp.OvercookedState

_FACINGS = dict(zip(_actions.Direction.ALL_DIRECTIONS, "NSEW", strict=True))
_OFFSETS = {letter: offset for offset, letter in _FACINGS.items()}
_INTERACT = _actions.Action.ALL_ACTIONS.index(_actions.Action.INTERACT)
_STAY = _actions.Action.ALL_ACTIONS.index(_actions.Action.STAY)


class AutomaticGridworld(_mdp.OvercookedGridworld):
    """The reference's rules with pots that start when the third item lands, and only then."""

    def log_object_potting(self, events_infos, state, old_soup, new_soup, obj_name, player_index):
        """Called right after an ingredient has been added, before the step's tick."""
        super().log_object_potting(events_infos, state, old_soup, new_soup, obj_name, player_index)
        if new_soup.is_full:
            new_soup.begin_cooking()

    def soup_to_be_cooked_at_location(self, state, pos):
        """Hands start no pot."""
        return False


@dataclass(frozen=True)
class ReferenceOutcome:
    """What a step brought about, by the reference: per seat the events and the reward."""

    events: tuple[frozenset[Event], ...]
    reward: tuple[float, ...]


class Engine:
    """The reference, playing one of our kitchens."""

    _configured: "Engine | None" = (
        None  # recipes are global there: the engine whose recipes are in force
    )

    def __init__(self, layout: Layout):
        self.layout = layout
        world = (
            AutomaticGridworld if layout.cooking is Cooking.AUTOMATIC else _mdp.OvercookedGridworld
        )
        self._world = world(
            terrain=[list(row) for row in layout.rows],
            start_player_positions=list(layout.starts),
            start_all_orders=[
                {"ingredients": _ingredients(order.contents)} for order in layout.orders
            ],
            recipe_values=[order.value for order in layout.orders],
            recipe_times=[order.time for order in layout.orders],
            layout_name=layout.name,
        )
        Engine._configured = self
        self._planner: SimpleNamespace | None = None
        self._planner_2019: SimpleNamespace | None = None

    def start(self) -> ReferenceState:
        """The state an episode begins with."""
        return self._recipes_in_force().get_standard_start_state()

    def step(
        self, state: ReferenceState, actions: tuple[int, int]
    ) -> tuple[ReferenceState, ReferenceOutcome]:
        """The state after a joint action, and what it brought about."""
        after, infos = self._transition(state, actions)
        events = tuple(
            frozenset(self._events(state, actions, seat, after, infos)) for seat in range(SEATS)
        )
        return after, ReferenceOutcome(events, tuple(infos["sparse_reward_by_agent"]))

    def planes(self, state: ReferenceState) -> np.ndarray:
        """The lossless encoding of both seats with our axes: [seat, y, x, plane]."""
        views = self._recipes_in_force().lossless_state_encoding(state, horizon=self.layout.horizon)
        return np.stack(views).transpose(0, 2, 1, 3)

    def features(self, state: ReferenceState) -> np.ndarray:
        """The 96 features of both seats; every counter is a goal, ties go row by row."""
        world = self._recipes_in_force()
        if self._planner is None:
            planner = _planners.MotionPlanner(world, counter_goals=world.get_counter_locations())
            self._planner = SimpleNamespace(motion_planner=planner)
        state = copy.copy(state)
        state.objects = dict(sorted(state.objects.items(), key=lambda entry: entry[0][::-1]))
        return np.stack(world.featurize_state(state, self._planner))

    def features_2019(self, state: ReferenceState) -> np.ndarray:
        """The 62 features of 2019 of both seats, from this package's planner and pot states.

        They are put together as the code of 2019 did it, with its slips: a planner without counters
        as goals, pots asked for by names they do not have, and the first player's place for both.
        """
        world = self._recipes_in_force()
        if self._planner_2019 is None:
            planner = _planners.MotionPlanner(world, counter_goals=[])
            self._planner_2019 = SimpleNamespace(motion_planner=planner)
        blocks = [self._block_2019(state, player) for player in state.players]
        places = [np.array(player.position) for player in state.players]
        seats = [
            [blocks[seat], blocks[1 - seat], places[1 - seat] - places[seat], places[0]]
            for seat in range(SEATS)
        ]
        return np.stack([np.concatenate(parts) for parts in seats])

    def _block_2019(self, state: ReferenceState, player) -> np.ndarray:
        world = self._world
        pots = world.get_pot_states(state)
        on_counters = world.get_counter_objects_dict(state)
        held = player.held_object.name if player.has_object() else None

        def way(places: list[Position]) -> tuple[int, int]:
            return world.get_deltas_to_closest_location(player, places, self._planner_2019)[1]

        onions = world.get_onion_dispenser_locations() + on_counters["onion"]
        dishes = world.get_dish_dispenser_locations() + on_counters["dish"]
        walls = [tile != " " for _, tile in world.get_adjacent_features(player)]
        parts = [
            [player.orientation == direction for direction in _FACINGS],
            [held == name for name in ("onion", "soup", "dish")],
            (0, 0) if held == "onion" else way(onions),
            way(pots["empty"]),
            way(pots["one_onion"]),
            way(pots["two_onion"]),
            way(pots["cooking"]),
            way(pots["ready"]),
            (0, 0) if held == "dish" else way(dishes),
            way(on_counters["soup"]),
            way(world.get_serving_locations()),
            walls,
        ]
        return np.concatenate([np.asarray(part, int) for part in parts])

    def to_json(self, state: ReferenceState) -> dict:
        """A state of the reference in our JSON form."""
        pots, counters = [], []
        for (x, y), thing in state.objects.items():
            if self.layout.rows[y][x] == "P":
                pots.append([x, y, _letters(thing), thing._cooking_tick])
            else:
                counters.append([x, y, _name(thing)])
        chefs = [
            [*chef.position, _FACINGS[chef.orientation], _name(chef.held_object)]
            for chef in state.players
        ]
        return {
            "chefs": chefs,
            "pots": sorted(pots),
            "counters": sorted(counters),
            "t": state.timestep,
        }

    def from_json(self, data: dict) -> ReferenceState:
        """The state of the reference that our JSON describes."""
        world = self._recipes_in_force()
        pots = [_soup((x, y), contents, ticks) for x, y, contents, ticks in data["pots"]]
        things = [*pots, *(_thing((x, y), name) for x, y, name in data["counters"])]
        chefs = [
            _mdp.PlayerState((x, y), _OFFSETS[facing], held and _thing((x, y), held))
            for x, y, facing, held in data["chefs"]
        ]
        return ReferenceState(
            chefs,
            {thing.position: thing for thing in things},
            all_orders=world.start_all_orders,
            timestep=data["t"],
        )

    def _recipes_in_force(self):
        if Engine._configured is not self:
            _mdp.Recipe.configure(self._world.recipe_config)
            Engine._configured = self
        return self._world

    def _transition(
        self, state: ReferenceState, actions: tuple[int, int]
    ) -> tuple[ReferenceState, dict]:
        joint = tuple(_actions.Action.ALL_ACTIONS[action] for action in actions)
        return self._recipes_in_force().get_state_transition(state, joint)

    def _events(
        self,
        state: ReferenceState,
        actions: tuple[int, int],
        seat: int,
        after: ReferenceState,
        infos: dict,
    ):
        """Our events of one seat: those the reference logs, and four more from its states."""
        if actions[seat] != _INTERACT:
            return
        chef = state.players[seat]
        x, y = _actions.Action.move_in_direction(chef.position, chef.orientation)
        tile = self.layout.rows[y][x]
        logged = [name for name, seats in infos["event_infos"].items() if seats[seat]]
        for name in logged:
            if (name, tile) in _LOGGED_AT:
                yield _LOGGED_AT[name, tile]
        held = after.players[seat].held_object
        if tile == "T" and chef.held_object is None and held.name == "tomato":
            yield Event.PICKUP_TOMATO_FROM_DISPENSER
        if "potting_tomato" in logged or "potting_onion" in logged:
            yield Event.PLACEMENT_IN_POT
        if "potting_tomato" in logged:
            yield from self._tomato_placement(self._before(state, actions, seat), (x, y), logged)
        if held is not None and held.name == "tomato" and chef.held_object is None:
            yield from self._tomato_pickup(self._before(state, actions, seat), seat)

    def _before(self, state: ReferenceState, actions: tuple[int, int], seat: int) -> ReferenceState:
        """What hands, pots and counters hold when it is this seat's turn to interact."""
        return state if seat == 0 else self._transition(state, (actions[0], _STAY))[0]

    def _tomato_placement(self, before: ReferenceState, pot: Position, logged: list[str]):
        if not before.has_object(pot):
            yield Event.TOMATO_IN_EMPTY_POT
        if "optimal_tomato_potting" in logged and "useless_tomato_potting" not in logged:
            yield Event.OPTIMAL_TOMATO_PLACEMENT

    def _tomato_pickup(self, before: ReferenceState, seat: int):
        partner = before.players[1 - seat].held_object
        pots = [
            before.get_object(pot).ingredients
            for pot in self._world.get_pot_locations()
            if before.has_object(pot)
        ]
        if (partner is None or partner.name != "tomato") and any(
            p in (["tomato"], ["tomato"] * 2) for p in pots
        ):
            yield Event.USEFUL_TOMATO_PICKUP


def _logged_at() -> dict[tuple[str, str], Event]:
    """Our event for each name that the reference logs, and the tile; others are not ours."""
    table = {("soup_delivery", "S"): Event.DELIVERY, ("soup_pickup", "P"): Event.SOUP_PICKUP}
    table["dish_pickup", "D"] = Event.PICKUP_DISH_FROM_DISPENSER
    table["onion_pickup", "O"] = Event.PICKUP_ONION_FROM_DISPENSER
    table["useful_dish_pickup", "D"] = table["useful_dish_pickup", "X"] = Event.USEFUL_DISH_PICKUP
    for item in ("onion", "tomato", "dish", "soup"):
        table[f"{item}_drop", "X"] = Event[f"PUT_{item.upper()}_ON_COUNTER"]
        table[f"{item}_pickup", "X"] = Event[f"PICKUP_{item.upper()}_FROM_COUNTER"]
    for item in ("onion", "tomato"):
        table[f"potting_{item}", "P"] = Event[f"POTTING_{item.upper()}"]
        for kind in ("viable", "optimal", "catastrophic", "useless"):
            table[f"{kind}_{item}_potting", "P"] = Event[f"{kind.upper()}_PLACEMENT"]
    return table


_LOGGED_AT = _logged_at()


def _ingredients(contents: tuple[int, int]) -> list[str]:
    return ["onion"] * contents[0] + ["tomato"] * contents[1]


def _letters(soup) -> str:
    return "".join(sorted(ingredient[0] for ingredient in soup.ingredients))


def _name(thing) -> str | None:
    if thing is None:
        return None
    return f"soup:{_letters(thing)}" if thing.name == "soup" else thing.name


def _soup(place: Position, contents: str, ticks: int, finished: bool = False):
    onions, tomatoes = contents.count("o"), contents.count("t")
    return _mdp.SoupState.get_soup(place, onions, tomatoes, cooking_tick=ticks, finished=finished)


def _thing(place: Position, name: str):
    if name.startswith("soup:"):
        return _soup(place, name.removeprefix("soup:"), -1, finished=True)
    return _mdp.ObjectState(name, place)
