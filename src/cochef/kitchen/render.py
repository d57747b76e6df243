"""A state as a picture, and an episode as PNG, GIF or MP4.

Above the kitchen stand the score, the time and the orders; below it what each chef holds and wants.
"""

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Protocol, runtime_checkable

import imageio_ffmpeg
import jax
import numpy as np
from jaxtyping import Array, Int
from PIL import Image, ImageDraw

from cochef.errors import InputError
from cochef.kitchen import recipes, sprites
from cochef.kitchen.canvas import font
from cochef.kitchen.constants import SEATS, Action, Direction, Tile
from cochef.kitchen.dynamics import Outcome
from cochef.kitchen.layout import Layout, Position
from cochef.kitchen.state import State
from cochef.kitchen.text import letters, to_json

TILE_SIZE = 64
TILE_SIZES = range(16, 257)
STEPS_PER_SECOND = 6.0

Wants = tuple[str, str]

_WALL, _CARD, _TEXT, _QUIET = "#2c3540", "#3b4754", "#f5f2ec", "#a7b4be"
_HOLDS, _WANTS = 0.7, 1.26  # where these begin on a chef's card
_SIGNS = frozenset(action.name.lower() for action in Action)


@runtime_checkable
class Recorded(Protocol):
    """Episodes kept whole, as `cochef.rollout.record` gives them; axes time, kitchen, seat."""

    @property
    def states(self) -> State:
        """The states acted on, and the last one: [T + 1, E, ...]."""
        ...

    @property
    def actions(self) -> Int[Array, "time kitchens 2"]:
        """What each chef did."""
        ...

    @property
    def outcomes(self) -> Outcome:
        """What it brought about."""
        ...


@dataclass(frozen=True)
class Moment:
    """A state in an episode, the score up to it, and what each chef is about to do."""

    state: State
    score: float
    wants: Wants


def moments(recording: Recorded, kitchen: int = 0) -> Iterator[Moment]:
    """Every moment of the episode in one of the recorded kitchens, from the start to the end of its last step."""
    kitchens = recording.actions.shape[1]
    if not 0 <= kitchen < kitchens:
        raise InputError(f"kitchen {kitchen} was not recorded; allowed: 0 to {kitchens - 1}")
    states = jax.tree.map(lambda leaf: np.asarray(leaf)[:, kitchen], recording.states)
    rewards = np.asarray(recording.outcomes.reward)[:, kitchen].sum(axis=-1)
    scores = np.concatenate([[0], rewards.cumsum()])
    names = [
        [Action(action).name.lower() for action in pair]
        for pair in np.asarray(recording.actions)[:, kitchen]
    ]
    for step, (first, second) in enumerate([*names, ["", ""]]):
        yield Moment(
            jax.tree.map(lambda leaf: leaf[step], states), float(scores[step]), (first, second)
        )  # noqa: B023


def render_state(
    layout: Layout,
    state: State,
    *,
    score: float | int = 0,
    wants: Wants = ("", ""),
    tile_size: int = TILE_SIZE,
) -> Image.Image:
    """The kitchen at one moment; `wants` are actions' names, shown with a sign, or free text."""
    if tile_size not in TILE_SIZES:
        raise InputError(
            f"tile size {tile_size}; allowed: {TILE_SIZES[0]} to {TILE_SIZES[-1]} pixels"
        )
    plan = _Plan(layout, tile_size)
    picture = _background(plan).copy()
    data = to_json(layout, state)
    _draw_pots(picture, plan, data["pots"])
    for x, y, item in data["counters"]:
        _paste(picture, sprites.item(item, plan.part(0.62)), plan.middle((x, y), lift=0.07))
    for seat, (x, y, facing, held) in sorted(enumerate(data["chefs"]), key=lambda chef: chef[1][1]):
        _paste(picture, sprites.chef(seat, facing, held, tile_size), plan.middle((x, y)))
    _draw_score_and_time(picture, plan, score, data["t"])
    for seat in range(SEATS):
        _draw_hands_and_wish(picture, plan, seat, data["chefs"][seat][3], wants[seat])
    return picture


def render_episode(
    layout: Layout,
    recording: Recorded,
    kitchen: int = 0,
    tile_size: int = TILE_SIZE,
    wants: Sequence[Wants] | None = None,
) -> Iterator[Image.Image]:
    """A picture of the start and one after each step; `wants`, one pair a step, replaces the actions' names."""
    for step, moment in enumerate(moments(recording, kitchen)):
        labels = wants[step] if wants is not None and step < len(wants) else moment.wants
        yield render_state(
            layout, moment.state, score=moment.score, wants=labels, tile_size=tile_size
        )


@dataclass(frozen=True)
class _Plan:
    """Where everything goes in a picture, in pixels; all lengths are parts of a tile."""

    layout: Layout
    tile: int

    def part(self, of_tile: float | int) -> int:
        """A length given in tiles."""
        return round(of_tile * self.tile)

    @cached_property
    def width(self) -> int:
        """Of the picture; at least five tiles, for the panels."""
        return max(self.layout.width, 5) * self.tile

    @cached_property
    def order_width(self) -> int:
        """The width of an order's card, with room for the longest numbers."""
        return self.part(
            1.08 + 0.12 * max(len(f"{order.value}{order.time}") for order in self.layout.orders)
        )

    @cached_property
    def orders_in_a_row(self) -> int:
        """How many orders fit side by side."""
        gap = self.part(0.08)
        return (self.width - gap) // (self.order_width + gap)

    @cached_property
    def kitchen(self) -> Position:
        """The top left corner of the kitchen."""
        rows = -(-len(self.layout.orders) // self.orders_in_a_row)
        return (self.width - self.layout.width * self.tile) // 2, self.part(0.9 + 0.62 * rows)

    @cached_property
    def below(self) -> int:
        """Where the kitchen ends and the chefs' cards begin."""
        return self.kitchen[1] + self.layout.height * self.tile

    @cached_property
    def size(self) -> Position:
        """Width and height of the picture."""
        return self.width, self.below + self.part(1.1)

    def corner(self, place: Position) -> Position:
        """The top left corner of a cell."""
        return self.kitchen[0] + place[0] * self.tile, self.kitchen[1] + place[1] * self.tile

    def middle(self, place: Position, lift: float = 0.0) -> Position:
        """The middle of a cell, or a little above it."""
        x, y = self.corner(place)
        return x + self.tile // 2, y + self.tile // 2 - self.part(lift)

    def order(self, index: int) -> tuple[int, int, int, int]:
        """The card of an order."""
        row, column = divmod(index, self.orders_in_a_row)
        gap = self.part(0.08)
        left, top = gap + column * (self.order_width + gap), self.part(0.84 + 0.62 * row)
        return left, top, left + self.order_width, top + self.part(0.54)

    def chef(self, seat: int) -> tuple[int, int, int, int]:
        """The card of a chef."""
        gap, width = self.part(0.1), (self.width - self.part(0.3)) // 2
        left, top = gap + seat * (width + gap), self.below + gap
        return left, top, left + width, top + self.part(0.9)


def render_empty(layout: Layout, tile_size: int) -> Image.Image:
    """The bare kitchen: its floor and stations, without pots and panels."""
    picture = Image.new("RGB", (layout.width * tile_size, layout.height * tile_size), _WALL)
    for cell in range(layout.width * layout.height):
        x, y = place = layout.position(cell)
        open_sides = "".join(side.name[0] for side in Direction if _is_open(layout, place, side))
        if layout.tile(place) is Tile.FLOOR:
            tile = sprites.floor(sum(place) % 2, "N" not in open_sides, tile_size)
        else:
            tile = sprites.station(layout.tile(place), open_sides, tile_size)
        picture.paste(tile, (x * tile_size, y * tile_size))
    return picture


@cache
def _background(plan: _Plan) -> Image.Image:
    """All that stays the same during an episode."""
    picture = Image.new("RGB", plan.size, _WALL)
    picture.paste(render_empty(plan.layout, plan.tile), plan.kitchen)
    pen = ImageDraw.Draw(picture)
    _draw_orders(picture, pen, plan)
    for seat in range(SEATS):
        left, top, right, bottom = plan.chef(seat)
        pen.rounded_rectangle(
            (left, top, right, bottom),
            plan.part(0.12),
            _CARD,
            sprites.CHEF_COLOURS[seat],
            plan.part(0.04),
        )
        _paste(
            picture,
            sprites.portrait(seat, plan.part(0.62)),
            (left + plan.part(0.36), top + plan.part(0.45)),
        )
        for words, x in (("holds", _HOLDS), ("wants", _WANTS)):
            pen.text(
                (left + plan.part(x), top + plan.part(0.2)),
                words,
                _QUIET,
                font(plan.part(0.17)),
                anchor="lm",
            )
    _paste(picture, sprites.sign("coin", plan.part(0.4)), (plan.part(0.36), plan.part(0.36)))
    return picture


def _is_open(layout: Layout, place: Position, side: Direction) -> bool:
    """Whether floor or the outside lies on this side of a cell."""
    x, y = place[0] + side.offset[0], place[1] + side.offset[1]
    return (
        not (0 <= x < layout.width and 0 <= y < layout.height) or layout.tile((x, y)) is Tile.FLOOR
    )


def _draw_orders(picture: Image.Image, pen: ImageDraw.ImageDraw, plan: _Plan) -> None:
    """A card for each order: the soup, what it pays, how long it cooks."""
    for index, order in enumerate(plan.layout.orders):
        left, top, right, bottom = plan.order(index)
        middle = (top + bottom) // 2
        pen.rounded_rectangle((left, top, right, bottom), plan.part(0.1), _CARD)
        _paste(
            picture,
            sprites.item(f"soup:{letters(*order.contents)}", plan.part(0.48)),
            (left + plan.part(0.27), middle),
        )
        x = left + plan.part(0.54)
        for sign, number in (("coin", order.value), ("clock", order.time)):
            _paste(picture, sprites.sign(sign, plan.part(0.2)), (x + plan.part(0.08), middle))
            pen.text(
                (x + plan.part(0.21), middle), str(number), _TEXT, font(plan.part(0.2)), anchor="lm"
            )
            x += plan.part(0.27 + 0.12 * len(str(number)))


def _draw_pots(picture: Image.Image, plan: _Plan, pots: list[list]) -> None:
    shown = {(x, y): (contents, ticks) for x, y, contents, ticks in pots}
    times = recipes.cooking_times(plan.layout)
    for cell in plan.layout.pot_cells:
        contents, ticks = shown.get(plan.layout.position(cell), ("", -1))
        time = int(times[contents.count("o"), contents.count("t")])
        _paste(
            picture,
            sprites.pot(contents, ticks, time, plan.tile),
            plan.middle(plan.layout.position(cell)),
        )


def _draw_score_and_time(picture: Image.Image, plan: _Plan, score: float | int, time: int) -> None:
    pen, horizon, right = ImageDraw.Draw(picture), plan.layout.horizon, plan.width - plan.part(0.14)
    pen.text(
        (plan.part(0.66), plan.part(0.36)), f"{score:g}", _TEXT, font(plan.part(0.42)), anchor="lm"
    )
    words = f"{time} / {horizon}"
    pen.text((right, plan.part(0.36)), words, _TEXT, font(plan.part(0.28)), anchor="rm")
    clock = right - round(font(plan.part(0.28)).getlength(words)) - plan.part(0.24)
    _paste(picture, sprites.sign("clock", plan.part(0.28)), (clock, plan.part(0.36)))
    bar = (plan.part(0.1), plan.part(0.66), plan.width - plan.part(0.1), plan.part(0.73))
    pen.rectangle(bar, _CARD)
    pen.rectangle(
        (bar[0], bar[1], bar[0] + (bar[2] - bar[0]) * (horizon - time) // horizon, bar[3]),
        "#e9b44c",
    )


def _draw_hands_and_wish(
    picture: Image.Image, plan: _Plan, seat: int, held: str | None, wish: str
) -> None:
    pen = ImageDraw.Draw(picture)
    left, top, right, _ = plan.chef(seat)
    middle = top + plan.part(0.56)
    if held:
        _paste(
            picture, sprites.item(held, plan.part(0.48)), (left + plan.part(_HOLDS + 0.21), middle)
        )
    else:
        pen.text(
            (left + plan.part(_HOLDS + 0.21), middle),
            "-",
            _QUIET,
            font(plan.part(0.24)),
            anchor="mm",
        )
    start = left + plan.part(_WANTS)
    if wish in _SIGNS:
        _paste(picture, sprites.sign(wish, plan.part(0.26)), (start + plan.part(0.13), middle))
        start += plan.part(0.3)
    words = _shortened(wish or "-", right - plan.part(0.06) - start, plan.part(0.19))
    pen.text((start, middle), words, _TEXT if wish else _QUIET, font(plan.part(0.19)), anchor="lm")


def _shortened(words: str, width: int, height: int) -> str:
    """The words, or as much of them as fits, and an ellipsis."""
    if font(height).getlength(words) <= width:
        return words
    fitting = (words[:end].rstrip() + "…" for end in range(len(words) - 1, 0, -1))
    return next((short for short in fitting if font(height).getlength(short) <= width), "")


def _paste(picture: Image.Image, sprite: Image.Image, middle: Position) -> None:
    """Lay a sprite on the picture, its middle there."""
    picture.paste(sprite, (middle[0] - sprite.width // 2, middle[1] - sprite.height // 2), sprite)


def save_png(picture: Image.Image, path: Path) -> None:
    """Write one picture."""
    with _claimed(path).open("wb") as file:
        picture.save(file, "PNG", optimize=True)


def save_gif(
    pictures: Iterable[Image.Image], path: Path, *, steps_per_second: float | int = STEPS_PER_SECOND
) -> None:
    """Write pictures as an animation that repeats for ever, one frame each (equal neighbours become one)."""
    _claimed(path)
    first, others = _opened(pictures)
    # One palette for all frames, so that they differ only where something happened.
    palette = _palette(first)
    frames = (
        picture.quantize(palette=palette, dither=Image.Dither.NONE)
        for picture in chain([first], others)
    )
    next(frames).save(
        path,
        "GIF",
        save_all=True,
        append_images=frames,
        palette=bytes(palette.getpalette() or ()),
        optimize=True,
        duration=max(round(1000 / steps_per_second), 20),  # many viewers slow down what is faster
        loop=0,
    )


def _palette(picture: Image.Image) -> Image.Image:
    """The colours of a picture and of all that may appear in it later; one is left for "as before"."""
    gallery = sprites.gallery(TILE_SIZE)
    sheet = Image.new(
        "RGB", (max(picture.width, gallery.width), picture.height + gallery.height), _WALL
    )
    sheet.paste(picture, (0, 0))
    sheet.paste(gallery, (0, picture.height), gallery)
    return sheet.quantize(255, Image.Quantize.MEDIANCUT)


def save_mp4(
    pictures: Iterable[Image.Image], path: Path, *, steps_per_second: float | int = STEPS_PER_SECOND
) -> None:
    """Write pictures as a film, one frame each."""
    # Not imageio_ffmpeg.write_frames: it forks, which a process with JAX in it must not do.
    _claimed(path)
    first, others = _opened(pictures)
    read = f"-f rawvideo -pix_fmt rgb24 -s {first.width}x{first.height} -r {steps_per_second} -i -"
    write = "-c:v libx264 -crf 20 -vf pad=ceil(iw/2)*2:ceil(ih/2)*2 -pix_fmt yuv420p -movflags +faststart"
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(),
        "-y",
        "-loglevel",
        "error",
        *read.split(),
        *write.split(),
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, str(path.resolve())], stdin=pipe, stderr=pipe) as ffmpeg:
        assert ffmpeg.stdin is not None
        with suppress(BrokenPipeError):  # ffmpeg has given up, and says why below
            for picture in chain([first], others):
                ffmpeg.stdin.write(picture.tobytes())
        _, complaint = ffmpeg.communicate()
    if ffmpeg.returncode:
        raise InputError(
            f"{path}: the film could not be written ({complaint.decode(errors='replace').strip()})"
        )


def _opened(pictures: Iterable[Image.Image]) -> tuple[Image.Image, Iterator[Image.Image]]:
    """The first picture, and the others."""
    others = iter(pictures)
    for first in others:
        return first, others
    raise InputError("no pictures to write; at least one is needed")


def _claimed(path: Path) -> Path:
    """The path, in a folder made if need be and writable: tried before any work goes into a picture."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); give a file in a folder of yours"
        ) from error
    return path
