"""Everything that a picture of a kitchen shows, drawn by code: tiles, pots, items, chefs and signs.

Things are named as in the JSON form of a state: items "onion" or "soup:oot", contents "oot",
facings N S E W. Shapes are placed in hundredths of a tile. Every picture is drawn once and kept.
"""

import math
from functools import cache

from PIL import Image

from cochef.kitchen.canvas import Canvas, Length, Point
from cochef.kitchen.constants import SEATS, Action, Direction, Tile

INK = "#3b2f2f"
CHEF_COLOURS = ("#2f6fde", "#5fae3a")
CHEF_SHADES = ("#1d4596", "#3a7420")
CHEF_MARGIN = 20  # how far a chef and what it holds reach beyond the tile

_FLOORS = ("#f6ecdc", "#eee0c9")
_COUNTER = "#7f97a3"
_COUNTER_LIGHT = "#9db2bb"
_COUNTER_SEAM = "#6f8793"
_COUNTER_FRONT = "#546b77"
_COUNTER_FOOT = "#41545e"
_SKIN = "#f8cfa8"
_SKIN_SHADE = "#d99f72"
_HAIR = "#6b4a33"
_SHADOW = "#2b1d0e30"
_SOUPS = ((242, 193, 92), (223, 84, 58))  # onion, tomato
_THREE = {1: ((0, 0),), 2: ((-0.5, 0), (0.5, 0)), 3: ((-0.52, 0.32), (0.52, 0.32), (0, -0.52))}


@cache
def floor(parity: int, shaded: bool, size: int) -> Image.Image:
    """A floor tile; `shaded` when a counter to the north throws its shadow on it."""
    canvas = Canvas(size)
    canvas.box((-5, -5, 105, 105), _FLOORS[parity])
    canvas.line([(0, 100), (100, 100), (100, 0)], "#e2d2b6", 2)
    if shaded:
        canvas.box((-5, -5, 105, 9), _SHADOW)
        canvas.box((-5, -5, 105, 4), _SHADOW)
    return canvas.finish()


@cache
def station(tile: Tile, open_sides: str, size: int) -> Image.Image:
    """A counter with what stands on it; floor or the outside lies at its open sides."""
    canvas = Canvas(size)
    _counter(canvas, open_sides)
    match tile:
        case Tile.POT:
            canvas.box((9, 5, 91, 80), "#4b5158", 12, "#3a3f45", 3)
        case Tile.ONION_DISPENSER:
            _crate(canvas, "onion", "#b9804a", "#8a5a30")
        case Tile.TOMATO_DISPENSER:
            _crate(canvas, "tomato", "#d9c7a3", "#a58f66")
        case Tile.DISH_DISPENSER:
            _pile_of_dishes(canvas)
        case Tile.SERVING:
            _bell(canvas)
    return canvas.finish()


def _counter(canvas: Canvas, open_sides: str) -> None:
    canvas.box((-5, -5, 105, 105), _COUNTER)
    canvas.line([(0, 100), (100, 100), (100, 0)], _COUNTER_SEAM, 2)
    bottom = 84 if "S" in open_sides else 105
    if "S" in open_sides:
        canvas.box((-5, 84, 105, 105), _COUNTER_FRONT)
        canvas.box((-5, 96, 105, 105), _COUNTER_FOOT)
        canvas.line([(-5, 84), (105, 84)], _COUNTER_LIGHT, 4)
    edges = {"N": (-5, -5, 105, 4), "W": (-5, -5, 4, bottom), "E": (96, -5, 105, bottom)}
    for side, edge in edges.items():
        if side in open_sides:
            canvas.box(edge, _COUNTER_LIGHT)


def _crate(canvas: Canvas, item: str, wood: str, shade: str) -> None:
    canvas.box((10, 10, 90, 82), shade, 8)
    canvas.box((15, 15, 85, 60), "#4a3626", 5)
    for x, y in ((31, 31), (69, 31), (50, 29), (38, 45), (63, 45)):
        _item(canvas, item, (x, y), 18)
    for top in (52, 67):
        canvas.box((10, top, 90, top + 13), wood, 4, shade, 2)
    for x in (16, 84):
        canvas.circle(x, 58.5, 1.8, shade)
        canvas.circle(x, 73.5, 1.8, shade)


def _pile_of_dishes(canvas: Canvas) -> None:
    canvas.oval(50, 70, 36, 14, _SHADOW)
    for y in (62, 54, 46):
        canvas.oval(50, y, 36, 26, "#ffffff", "#8fa0ab", 2.5)
    canvas.oval(50, 45, 23, 15, "#e6edf1", "#c3ced5", 2)


def _bell(canvas: Canvas) -> None:
    canvas.box((7, 5, 93, 80), "#2f7d6b", 8, "#23604f", 3)
    canvas.box((13, 11, 87, 74), "#2f7d6b", 5, "#59b39d", 2.5)
    canvas.oval(50, 66, 31, 8, "#1d4f42")
    canvas.polygon(_turn((50, 60), 27, 24, 270, 450), "#f6d565", INK, 3)
    canvas.polygon(_turn((46, 56), 15, 14, 280, 350), "#fdf0b4")
    canvas.circle(50, 33, 5, "#f6d565", INK, 3)
    canvas.box((19, 58, 81, 68), "#e7eef1", 5, INK, 3)


def _turn(centre: Point, a: Length, b: Length, start: int, end: int) -> list[Point]:
    """Points of an ellipse, in degrees clockwise from the top."""
    angles = (math.radians(degree) for degree in range(start, end + 1, 3))
    return [(centre[0] + a * math.sin(angle), centre[1] - b * math.cos(angle)) for angle in angles]


@cache
def item(name: str, size: int) -> Image.Image:
    """An item that fills a square of this size."""
    canvas = Canvas(size)
    _item(canvas, name, (50, 50), 46)
    return canvas.finish()


def _item(canvas: Canvas, name: str, centre: Point, radius: Length) -> None:
    match name.partition(":"):
        case ("onion", _, _):
            _onion(canvas, centre, radius)
        case ("tomato", _, _):
            _tomato(canvas, centre, radius)
        case ("dish", _, _):
            _dish(canvas, centre, radius)
        case (_, _, contents):
            _dish(canvas, centre, radius)
            _soup(canvas, contents, centre, 0.74 * radius)


def _onion(canvas: Canvas, centre: Point, r: Length) -> None:
    x = centre[0]
    y = centre[1] + 0.14 * r
    bulb: list[Point] = []
    for degree in range(0, 360, 4):
        angle = math.radians(degree)
        tip = 0.30 * r * max(0, math.cos(angle)) ** 7
        dx = 0.86 * r * math.sin(angle) * math.sin(angle / 2) ** 0.5
        bulb.append((x + dx, y - 0.80 * r * math.cos(angle) - tip))
    canvas.line([(x, y - 0.7 * r), (x - 0.22 * r, y - 1.08 * r)], "#7a9a3e", 0.14 * r)
    canvas.line([(x, y - 0.7 * r), (x + 0.2 * r, y - 1.06 * r)], "#7a9a3e", 0.14 * r)
    canvas.polygon(bulb, "#eeb548", INK, 0.12 * r)
    for bend in (-0.42, 0, 0.42):
        rib = [
            (x + bend * r * math.sin(math.pi * k / 12), y + r * (-0.85 + 1.5 * k / 12))
            for k in range(2, 12)
        ]
        canvas.line(rib, "#c7862a", 0.08 * r)
    canvas.line([(x - 0.56 * r, y + 0.05 * r), (x - 0.5 * r, y - 0.22 * r)], "#fbe3a8", 0.13 * r)


def _tomato(canvas: Canvas, centre: Point, r: Length) -> None:
    x, y = centre
    canvas.oval(x, y + 0.08 * r, 0.92 * r, 0.84 * r, "#e2453b", INK, 0.12 * r)
    canvas.line([(x - 0.6 * r, y + 0.16 * r), (x - 0.5 * r, y - 0.2 * r)], "#f59d8c", 0.15 * r)
    star = [
        (
            x + r * reach * math.sin(k * math.pi / 5),
            y - 0.44 * r - r * 0.72 * reach * math.cos(k * math.pi / 5),
        )
        for k, reach in enumerate((0.62, 0.2) * 5)
    ]
    canvas.polygon(star, "#3f9145", "#27632c", 0.06 * r)


def _dish(canvas: Canvas, centre: Point, r: Length) -> None:
    canvas.circle(*centre, r, "#ffffff", "#7f909b", 0.08 * r)
    canvas.circle(*centre, 0.66 * r, "#e9eff2", "#c3ced5", 0.05 * r)


def _soup(canvas: Canvas, contents: str, centre: Point, r: Length) -> None:
    """Soup of the colour of what is in it, with the pieces swimming in it."""
    canvas.circle(*centre, r, _soup_colour(contents), "#00000000")
    canvas.circle(*centre, r, "#00000000", "#7a3d1d66", 0.07 * r)
    _pieces(canvas, contents, centre, r)


def _soup_colour(contents: str) -> str:
    part = contents.count("t") / len(contents)
    red, green, blue = (round(o + (t - o) * part) for o, t in zip(*_SOUPS, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _pieces(canvas: Canvas, contents: str, centre: Point, r: Length) -> None:
    names = {"o": "onion", "t": "tomato"}
    for letter, (dx, dy) in zip(contents, _THREE[len(contents)], strict=True):
        _item(canvas, names[letter], (centre[0] + dx * r, centre[1] + dy * r), 0.47 * r)


@cache
def pot(contents: str, ticks: int, time: int, size: int) -> Image.Image:
    """A pot on its stove: idle (ticks -1), cooking with the time left, or ready with a tick."""
    canvas = Canvas(size)
    centre = (50, 43)
    lit = ticks >= 0
    ready = ticks >= time
    if lit:
        canvas.circle(*centre, 40, "#2b2f34")
        canvas.arc(
            *centre, 40, (0, 360 * min(1, ticks / time)), "#58c26a" if ready else "#ff9f2e", 8
        )
    for x in (14, 86):
        canvas.box((x - 8, 37, x + 8, 49), "#23262a", 5)
    canvas.circle(*centre, 32, "#aab4bc", "#23262a", 3)
    canvas.circle(*centre, 26, "#33383e", "#23262a", 2)
    if lit:
        _soup(canvas, contents, centre, 25)
    elif contents:
        _pieces(canvas, contents, centre, 25)
    if ready:
        _steam(canvas)
        _badge(canvas, "#2f9e4f")
        canvas.line([(75, 73), (80, 79), (89, 67)], "#ffffff", 5)
    elif lit:
        _badge(canvas, "#c9560b")
        canvas.text(82, 73, str(time - ticks), 20, "#ffffff")
    return canvas.finish()


def _badge(canvas: Canvas, fill: str) -> None:
    canvas.circle(82, 73, 16, fill, "#ffffff", 3)


def _steam(canvas: Canvas) -> None:
    for x in (32, 50, 68):
        wisp = [(x + 4 * math.sin(k / 2), 26 - 2.4 * k) for k in range(10)]
        canvas.line(wisp, "#ffffffcc", 4)


@cache
def chef(seat: int, facing: str, held: str | None, size: int) -> Image.Image:
    """A chef with what it holds; the picture reaches CHEF_MARGIN beyond the tile on every side."""
    canvas = Canvas(size, CHEF_MARGIN)
    canvas.oval(50, 92, 27, 8, _SHADOW)
    if held and facing == "N":
        _hold(canvas, held, (83, 42))
    _body(canvas, seat, facing)
    _head(canvas, facing, (50, 48))
    _hat(canvas, seat, (50, 32))
    hands = {
        "N": ((26, 62), (74, 62)),
        "S": ((31, 79), (69, 79)),
        "E": ((58, 74), (77, 74)),
        "W": ((42, 74), (23, 74)),
    }
    if held and facing != "N":
        _hold(canvas, held, {"S": (50, 80), "E": (83, 68), "W": (17, 68)}[facing])
    for hand in hands[facing]:
        canvas.circle(*hand, 6.5, _SKIN, INK, 2.5)
    return canvas.finish()


@cache
def portrait(seat: int, size: int) -> Image.Image:
    """A chef's head."""
    canvas = Canvas(size)
    _head(canvas, "S", (50, 68), 1.25)
    _hat(canvas, seat, (50, 46), 1.25)
    return canvas.finish()


def _hold(canvas: Canvas, held: str, centre: Point) -> None:
    _item(canvas, held, centre, 20)


def _body(canvas: Canvas, seat: int, facing: str) -> None:
    for x in (41, 59):
        canvas.oval(x, 92, 9, 5, INK)
    canvas.box((27, 60, 73, 92), CHEF_COLOURS[seat], 14, INK, 3)
    match facing:
        case "S":
            canvas.box((36, 66, 64, 89.5), "#ffffff", 6)
        case "N":
            canvas.line([(31, 76), (69, 76)], "#ffffff", 4)
            canvas.line([(50, 76), (44, 86)], "#ffffff", 3)
            canvas.line([(50, 76), (56, 86)], "#ffffff", 3)
        case "E":
            canvas.box((56, 66, 70, 89.5), "#ffffff", 5)
        case _:
            canvas.box((30, 66, 44, 89.5), "#ffffff", 5)


def _head(canvas: Canvas, facing: str, centre: Point, zoom: Length = 1) -> None:
    x, y = centre
    look = {"N": 0, "S": 0, "E": zoom, "W": -zoom}[facing]
    if look:
        canvas.oval(x + 21 * look, y + 6 * zoom, 6 * zoom, 5 * zoom, _SKIN, INK, 3 * zoom)
    canvas.circle(x, y, 21 * zoom, _SKIN if facing != "N" else _HAIR, INK, 3 * zoom)
    if look:
        canvas.polygon(_turn(centre, -18.5 * look, 18.5 * zoom, 0, 150), _HAIR)
        canvas.oval(x + 19 * look, y + 6 * zoom, 5 * zoom, 3.2 * zoom, _SKIN)
        canvas.circle(x - 5 * look, y + 6 * zoom, 4 * zoom, _SKIN, _SKIN_SHADE, 1.5 * zoom)
    eyes = {"N": (), "S": (-7, 7), "E": (9,), "W": (-9,)}[facing]
    for eye in eyes:
        canvas.oval(x + eye * zoom, y + 2 * zoom, 2.8 * zoom, 3.8 * zoom, INK)
    if eyes:
        mouth = [
            (x + 10 * look + dx * zoom, y + dy * zoom) for dx, dy in ((-4, 11), (0, 13), (4, 11))
        ]
        canvas.line(mouth, "#a4533f", 2.4 * zoom)


def _hat(canvas: Canvas, seat: int, centre: Point, zoom: Length = 1) -> None:
    """Chef 1 wears a puffy toque, chef 2 a wide flat cap with a bobble; each bears its number."""
    x, y = centre
    shapes = (
        ((-13, -14, 11, 11), (13, -14, 11, 11), (0, -19, 13, 13), (0, -7, 18, 8)),
        ((0, -23, 5, 5), (0, -11, 27, 12)),
    )[seat]
    for grow, fill in ((1.5, INK), (-1, CHEF_COLOURS[seat])):
        for dx, dy, a, b in shapes:
            canvas.oval(x + dx * zoom, y + dy * zoom, (a + grow) * zoom, (b + grow) * zoom, fill)
    band = (x - 20 * zoom, y - 4 * zoom, x + 20 * zoom, y + 7 * zoom)
    canvas.box(band, CHEF_SHADES[seat], 4 * zoom, INK, 2.5 * zoom)
    canvas.text(x, y - 13 * zoom, str(seat + 1), 18 * zoom, "#ffffff")


@cache
def sign(name: str, size: int) -> Image.Image:
    """A small sign: a coin, a clock, or an action by its name."""
    canvas = Canvas(size)
    match name:
        case "coin":
            canvas.circle(50, 50, 46, "#f6c945", "#a87a12", 8)
            canvas.circle(50, 50, 28, "#fbe08a")
        case "clock":
            canvas.circle(50, 50, 46, "#ffffff", "#8fa0ab", 9)
            canvas.line([(50, 24), (50, 50), (68, 60)], INK, 9)
        case "stay":
            for x in (32, 68):
                canvas.box((x - 10, 18, x + 10, 82), "#ffffff", 5)
        case "interact":
            _hand(canvas)
        case _:
            _arrow(canvas, Direction[name.upper()])
    return canvas.finish()


def _arrow(canvas: Canvas, direction: Direction) -> None:
    dx, dy = direction.offset
    along, across = (dx, dy), (-dy, dx)

    def at(forward: Length, sideways: Length) -> Point:
        return 50 + forward * along[0] + sideways * across[0], 50 + forward * along[
            1
        ] + sideways * across[1]

    canvas.line([at(-34, 0), at(20, 0)], "#ffffff", 20)
    canvas.polygon([at(44, 0), at(2, 36), at(2, -36)], "#ffffff")


def _hand(canvas: Canvas) -> None:
    for x, top in ((30, 26), (45, 14), (60, 14), (75, 26)):
        canvas.line([(x, top), (x, 60)], "#ffffff", 12)
    canvas.line([(12, 50), (30, 72)], "#ffffff", 13)
    canvas.box((24, 48, 81, 92), "#ffffff", 18)


def gallery(size: int) -> Image.Image:
    """All that comes and goes in a kitchen, in a row."""
    items = ("onion", "tomato", "dish", "soup:ooo", "soup:oot", "soup:ott", "soup:ttt")
    pictures = [
        *(item(name, size) for name in items),
        *(
            pot(name.removeprefix("soup:"), ticks, 20, size)
            for name in items[3:]
            for ticks in (-1, 7, 20)
        ),
        *(chef(seat, facing, None, size) for seat in range(SEATS) for facing in "NSEW"),
        *(sign(action.name.lower(), size) for action in Action),
    ]
    row = Image.new(
        "RGBA", (sum(one.width for one in pictures), max(one.height for one in pictures))
    )
    left = 0
    for one in pictures:
        row.paste(one, (left, 0))
        left += one.width
    return row
