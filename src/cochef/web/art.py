"""The pages' pictures: all sprites on one sheet, empty kitchens, and what describes a layout."""

import io
from functools import cache
from typing import Any

from PIL import Image

from cochef.kitchen import recipes, sprites
from cochef.kitchen.constants import SEATS
from cochef.kitchen.layout import Layout
from cochef.kitchen.render import render_empty
from cochef.kitchen.text import letters

TILE = 96  # pixels; the page scales them to its window

_COLUMNS = 8


@cache
def sheet() -> tuple[bytes, dict[str, Any]]:
    """A PNG with all sprites, and where each of them is: name -> [x, y, width, height]."""
    pictures = _pictures()
    side = max(max(sprite.size) for sprite in pictures.values())
    rows = -(-len(pictures) // _COLUMNS)
    page = Image.new("RGBA", (_COLUMNS * side, rows * side))
    places: dict[str, list[int]] = {}
    for number, (name, sprite) in enumerate(pictures.items()):
        row, column = divmod(number, _COLUMNS)
        corner = (column * side, row * side)
        page.paste(sprite, corner)
        places[name] = [*corner, *sprite.size]
    return _png(page), {"tile": TILE, "margin": sprites.CHEF_MARGIN, "sprites": places}


@cache
def picture(layout: Layout) -> bytes:
    """A PNG of the empty kitchen."""
    return _png(render_empty(layout, TILE))


def describe(layout: Layout) -> dict[str, Any]:
    """What a page has to know about a layout."""
    times = recipes.cooking_times(layout)
    return {
        "name": layout.name,
        "rows": list(layout.rows),
        "pots": [list(layout.position(cell)) for cell in layout.pot_cells],
        "cooking": layout.cooking.value,
        "orders": [
            {"contents": letters(*order.contents), "value": order.value, "time": order.time}
            for order in layout.orders
        ],
        "times": {letters(*contents): int(times[contents]) for contents in _fillings()},
    }


def _pictures() -> dict[str, Image.Image]:
    """Every sprite by its name.

    Over the badge and the ring of a cooking pot the page draws how far it is.
    """
    fillings = [letters(*contents) for contents in _fillings()]
    items = ["onion", "tomato", "dish", *(f"soup:{filling}" for filling in fillings)]
    return {
        **{
            f"chef:{seat}{facing}": sprites.chef(seat, facing, None, TILE)
            for seat in range(SEATS)
            for facing in "NSEW"
        },
        **{f"portrait:{seat}": sprites.portrait(seat, TILE) for seat in range(SEATS)},
        **{name: sprites.item(name, TILE) for name in items},
        **{f"pot:{filling}": sprites.pot(filling, -1, 1, TILE) for filling in ["", *fillings]},
        **{f"cooking:{filling}": sprites.pot(filling, 0, 1, TILE) for filling in fillings},
        **{f"ready:{filling}": sprites.pot(filling, 1, 1, TILE) for filling in fillings},
        **{f"sign:{name}": sprites.sign(name, TILE) for name in ("coin", "clock")},
    }


def _fillings() -> list[tuple[int, int]]:
    """Everything that can be in a pot, but nothing."""
    return [contents for contents in recipes.all_contents() if any(contents)]


def _png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()
