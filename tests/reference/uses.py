"""What a chef could do next: every tile whose use makes sense, and what kind of use that is."""

from collections.abc import Iterator, Mapping
from functools import cache

from cochef.kitchen import recipes
from cochef.kitchen.constants import POT_CAPACITY, Cooking, Tile
from cochef.kitchen.layout import Layout
from tests.reference.allowed import DISPENSERS, INGREDIENT_NAMES, faced_by

MEAN_WEIGHTS = {  # of each kind of use among all that are possible
    "take_onion": 1.0,
    "take_tomato": 1.4,
    "take_spoiler": 5.0,
    "take_dish": 0.05,
    "take_dish_for_soup": 2.0,
    "clear_onion": 1.0,
    "clear_tomato": 1.0,
    "clear_dish": 2.0,
    "clear_soup": 3.0,
    "clear_useless": 0.15,
    "make_room": 3.0,
    "fill": 4.0,
    "spoil": 10.0,
    "light_1": 0.2,
    "light_2": 0.6,
    "light_3": 4.0,
    "plate": 6.0,
    "wait": 0.02,
    "serve": 4.0,
    "put_onion": 0.8,
    "put_tomato": 0.8,
    "put_dish": 0.3,
    "put_soup": 2.0,
    "pass": 4.0,
    "waste": 0.1,
}

Option = tuple[str, int]  # kind of use, cell of the tile


class Uses:
    """What the chef in one seat of a kitchen could do."""

    def __init__(self, layout: Layout, seat: int):
        self._layout, self._seat = layout, seat
        faced = faced_by(layout, Tile.COUNTER)
        self._counters, self._shared = sorted(faced[seat]), faced[0] & faced[1]
        self._stations = {
            tile: sorted(faced_by(layout, tile)[seat]) for tile in Tile if tile is not Tile.FLOOR
        }
        self._usable = _usable(layout, seat)
        self._reachable = recipes.reachable_values(layout).tolist()

    def options(self, state: dict) -> Iterator[Option]:
        """Every use that makes sense in a state, and some that do not."""
        held = state["chefs"][self._seat][3]
        lying = {self._layout.cell((x, y)): item.split(":")[0] for x, y, item in state["counters"]}
        pots = dict.fromkeys(self._stations[Tile.POT], ("", -1))
        pots |= {
            self._layout.cell((x, y)): (contents, ticks) for x, y, contents, ticks in state["pots"]
        }
        if held is None:
            yield from self._with_empty_hands(pots, lying, state["chefs"][1 - self._seat][3])
        else:
            yield from self._with_item(held.split(":")[0], pots, lying)

    def _with_item(self, item: str, pots: Mapping, lying: Mapping[int, str]) -> Iterator[Option]:
        for tile in (Tile.SERVING, Tile.DISH_DISPENSER, Tile.POT):
            yield from (("waste", cell) for cell in self._stations[tile])
        for cell in self._stations[Tile.POT]:
            contents, ticks = pots[cell]
            if item in INGREDIENT_NAMES and _is_open(contents, ticks):
                yield ("spoil" if self._spoils(contents, item) else "fill"), cell
            elif item == "dish" and contents:
                yield ("plate" if ticks >= 0 else "wait"), cell
        if item == "soup":
            yield from (("serve", cell) for cell in self._stations[Tile.SERVING])
        yield from ((f"put_{item}", cell) for cell in self._counters if cell not in lying)
        if item not in self._usable:
            yield from (("pass", cell) for cell in self._shared if cell not in lying)

    def _with_empty_hands(
        self, pots: Mapping, lying: Mapping[int, str], partner_holds: str | None
    ) -> Iterator[Option]:
        cooking = sum(ticks >= 0 for _, ticks in pots.values())
        for item, tile in DISPENSERS.items():
            if item == "dish":
                dishes = [*lying.values(), partner_holds].count("dish")
                kind = "take_dish_for_soup" if dishes < cooking else "take_dish"
            else:
                opened = [
                    contents for contents, ticks in pots.values() if _is_open(contents, ticks)
                ]
                spoils = any(self._spoils(contents, item) for contents in opened)
                kind = "take_spoiler" if spoils else f"take_{item}"
            hopeless = self._goes_nowhere(item, pots, lying)
            yield from (("waste" if hopeless else kind, cell) for cell in self._stations[tile])
        for cell in self._stations[Tile.POT]:
            contents, ticks = pots[cell]
            if contents and ticks < 0 and self._layout.cooking is Cooking.MANUAL:
                yield f"light_{len(contents)}", cell
        full = all(cell in lying for cell in self._shared)
        for cell in self._counters:
            if cell in lying:
                yield self._clearing(cell, lying[cell], full, cooking > 0), cell

    def _clearing(self, cell: int, item: str, full: bool, cooking: bool) -> str:
        """Whether taking this from a counter helps: to use it, pass it on, or make room."""
        if full and cell in self._shared and item in self._usable:
            return "make_room"
        useful = item in self._usable or cell not in self._shared
        return f"clear_{item}" if useful and (cooking or item != "dish") else "clear_useless"

    def _goes_nowhere(self, item: str, pots: Mapping, lying: Mapping[int, str]) -> bool:
        """Whether a chef that takes this item from its dispenser might have to hold it for long."""
        if item not in self._usable:
            free = len(self._shared - set(lying))
            return free < min(len(self._shared), 1 if item == "dish" else 2)
        own = [pots[cell] for cell in self._stations[Tile.POT]]
        wanted = any(
            ticks >= 0 if item == "dish" else _is_open(contents, ticks) for contents, ticks in own
        )
        return not wanted and sum(cell not in lying for cell in self._counters) < 3

    def _spoils(self, contents: str, item: str) -> bool:
        """Whether a begun pot is worthless, or will be worth less when filled up with this item."""
        onions, tomatoes = contents.count("o"), contents.count("t")
        missing = POT_CAPACITY - onions - tomatoes
        before = self._reachable[onions][tomatoes]
        after = self._reachable[onions + missing * (item == "onion")][
            tomatoes + missing * (item == "tomato")
        ]
        return contents != "" and (before == 0 or after < before)


def _is_open(contents: str, ticks: int) -> bool:
    """Whether a pot takes another ingredient."""
    return ticks < 0 and len(contents) < POT_CAPACITY


@cache
def _usable(layout: Layout, seat: int) -> frozenset[str]:
    """The items that a chef itself can bring where they belong."""
    pots, serving = faced_by(layout, Tile.POT)[seat], faced_by(layout, Tile.SERVING)[seat]
    return frozenset([*(DISPENSERS if pots else []), *(["soup"] if serving else [])])
