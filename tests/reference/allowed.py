"""What can happen at all in a kitchen, worked out from its grid and orders."""

from collections.abc import Iterator
from functools import cache

from cochef.kitchen import recipes
from cochef.kitchen.constants import INGREDIENTS, POT_CAPACITY, SEATS, Cooking, Tile
from cochef.kitchen.events import Event
from cochef.kitchen.layout import Contents, Layout

DISPENSERS = {
    "onion": Tile.ONION_DISPENSER,
    "tomato": Tile.TOMATO_DISPENSER,
    "dish": Tile.DISH_DISPENSER,
}
INGREDIENT_NAMES = ("onion", "tomato")


def faced_by(layout: Layout, *tiles: Tile) -> list[set[int]]:
    """Per seat: the cells of some kinds of tile that its chef can face."""
    cells = set(layout.cells_of(*tiles).tolist())
    return [
        cells & {cell + int(step) for cell in reach for step in layout.steps}
        for reach in layout.reachable_by
    ]


def holders(layout: Layout) -> dict[str, set[int]]:
    """Which seats can get each item: from a dispenser, a pot, or over a counter of both."""
    counters, pots = faced_by(layout, Tile.COUNTER), faced_by(layout, Tile.POT)
    may_pass = bool(counters[0] & counters[1])

    def passed_on(seats: set[int]) -> set[int]:
        return set(range(SEATS)) if seats and may_pass else seats

    held = {}
    for item, tile in DISPENSERS.items():
        held[item] = passed_on({seat for seat, cells in enumerate(faced_by(layout, tile)) if cells})
    used = {pot for item in INGREDIENT_NAMES for seat in held[item] for pot in pots[seat]}
    held["soup"] = passed_on({seat for seat in held["dish"] if pots[seat] & used})
    return held


def placements(layout: Layout) -> set[tuple[Contents, Contents]]:
    """The contents of a pot before and after every placement that chefs can make."""
    held, pots = holders(layout), faced_by(layout, Tile.POT)
    addable = [any(pots[seat] for seat in held[item]) for item in INGREDIENT_NAMES]
    found: set[tuple[Contents, Contents]] = set()
    frontier: set[Contents] = {(0, 0)}
    while frontier:
        old = frontier.pop()
        for kind in range(INGREDIENTS):
            new = (old[0] + (kind == 0), old[1] + (kind == 1))
            if addable[kind] and sum(old) < POT_CAPACITY:
                found.add((old, new))
                frontier.add(new)
    return found


def soups(layout: Layout) -> set[Contents]:
    """What can be plated: full pots, or any that is not empty where chefs light them."""
    fewest = POT_CAPACITY if layout.cooking is Cooking.AUTOMATIC else 1
    return {new for _, new in placements(layout) if sum(new) >= fewest}


def allowed_events(layout: Layout) -> set[Event]:
    """Every event that can happen in a kitchen."""
    held = holders(layout)
    counters, serving = faced_by(layout, Tile.COUNTER), faced_by(layout, Tile.SERVING)
    events = set(_placement_events(layout))
    for item, seats in held.items():
        if any(counters[seat] for seat in seats):
            events |= {
                Event[f"PUT_{item.upper()}_ON_COUNTER"],
                Event[f"PICKUP_{item.upper()}_FROM_COUNTER"],
            }
    for item, tile in DISPENSERS.items():
        if any(faced_by(layout, tile)):
            events.add(Event[f"PICKUP_{item.upper()}_FROM_DISPENSER"])
    if held["soup"]:
        events |= {Event.SOUP_PICKUP, Event.USEFUL_DISH_PICKUP}
    if any(serving[seat] for seat in held["soup"]):
        events.add(Event.DELIVERY)
    return events


def allowed(layout: Layout) -> set[str]:
    """Everything that is counted and can happen on a layout: events by label, and the rest."""
    events = allowed_events(layout)
    names = {event.label for event in events}
    worth = recipes.values(layout)
    if Event.DELIVERY in events and any(worth[soup] == 0 for soup in soups(layout)):
        names.add("worthless_delivery")
    if shared_tiles(layout):
        names.add("both_on_one_tile")
    if layout.cooking is Cooking.MANUAL:
        names |= {f"lit_with_{sum(soup)}" for soup in soups(layout)}
    return names


@cache
def shared_tiles(layout: Layout) -> list[int]:
    """The tiles that both chefs can face at the same time, each from a cell of its own."""
    found = []
    for tile in set(range(layout.width * layout.height)) - set(layout.floor_cells.tolist()):
        around = {tile + int(step) for step in layout.steps}
        first, second = (around & reach for reach in layout.reachable_by)
        if first and second and len(first | second) > 1:
            found.append(tile)
    return sorted(found)


def _placement_events(layout: Layout) -> Iterator[Event]:
    reachable = recipes.reachable_values(layout)
    for old, new in placements(layout):
        before, after, tomato = reachable[old], reachable[new], new[1] > old[1]
        yield Event.PLACEMENT_IN_POT
        yield Event.POTTING_TOMATO if tomato else Event.POTTING_ONION
        if after > 0:
            yield Event.VIABLE_PLACEMENT
        if after == before:
            yield Event.OPTIMAL_PLACEMENT
        if before > 0 and after == 0:
            yield Event.CATASTROPHIC_PLACEMENT
        if before == 0:
            yield Event.USELESS_PLACEMENT
        if tomato and sum(old) == 0:
            yield Event.TOMATO_IN_EMPTY_POT
        if tomato and after == before > 0:
            yield Event.OPTIMAL_TOMATO_PLACEMENT
        if tomato and old[0] == 0 and old[1] > 0:
            yield Event.USEFUL_TOMATO_PICKUP
