"""A state as a picture, and an episode as PNG, GIF or MP4.

Above the kitchen stand the score, the time and the orders; below it what each chef holds and what
it does next.
"""

import math
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import imageio_ffmpeg
import jax
from PIL import Image, ImageDraw

from cochef.errors import InputError
from cochef.files import claim_file, replaced_when_done, write_whole
from cochef.kitchen import recipes, sprites
from cochef.kitchen.canvas import font
from cochef.kitchen.constants import SEATS, Action, Direction, Tile
from cochef.kitchen.layout import Layout, Position, letters
from cochef.kitchen.state import State
from cochef.kitchen.text import to_json
from cochef.kitchen.trajectories import Trajectory
from cochef.validation import whole_number

TILE_SIZE = 64
TILE_SIZES = range(16, 257)
STEPS_PER_SECOND = 6.0

NextActions = tuple[str, str]  # by seat: an action's name, shown with a sign, or free text

_WALL = "#2c3540"
_CARD = "#3b4754"
_TEXT = "#f5f2ec"
_QUIET = "#a7b4be"
_HOLDS = 0.7  # where this begins on a chef's card, in tiles
_DOES = 1.26
_SIGNS = frozenset(action.name.lower() for action in Action)


class Moment(NamedTuple):
    """A state in an episode, the score so far, and what each chef does next."""

    state: State
    score: float
    next_actions: NextActions


def moments(trajectory: Trajectory, kitchen: int = 0) -> Iterator[Moment]:
    """The moments of one kitchen's episode, from its start to the end of its last step."""
    kitchens = trajectory.actions.shape[1]
    if not 0 <= kitchen < kitchens:
        raise InputError(f"kitchen {kitchen} was not recorded; allowed: 0 to {kitchens - 1}")
    episode = jax.device_get(trajectory).of_kitchen(kitchen)
    rewards = episode.outcomes.reward.sum(axis=-1)
    scores = [0.0, *rewards.cumsum().tolist()]
    names = [action.name.lower() for action in Action]
    next_actions = [(names[first], names[second]) for first, second in episode.actions]
    for step, actions in enumerate([*next_actions, ("", "")]):
        yield Moment(_at(episode.states, step), scores[step], actions)


def _at(states: State, step: int) -> State:
    return jax.tree.map(lambda leaf: leaf[step], states)


def render_state(
    layout: Layout,
    state: State,
    *,
    score: float | int = 0,
    next_actions: NextActions = ("", ""),
    tile_size: int = TILE_SIZE,
) -> Image.Image:
    """Draw the kitchen at one moment."""
    whole_number(tile_size, "tile size", TILE_SIZES[0], TILE_SIZES[-1], "pixels")
    plan = _Plan(layout, tile_size)
    picture = _background(plan).copy()
    data = to_json(layout, state)
    _draw_pots(picture, plan, data["pots"])
    for x, y, item in data["counters"]:
        _paste(picture, sprites.item(item, plan.part(0.62)), plan.middle((x, y), lift=0.07))
    # The chef further north is drawn first: the other one may cover what it holds.
    for seat, (x, y, facing, held) in sorted(enumerate(data["chefs"]), key=lambda chef: chef[1][1]):
        _paste(picture, sprites.chef(seat, facing, held, tile_size), plan.middle((x, y)))
    _draw_score_and_time(picture, plan, score, data["t"])
    for seat in range(SEATS):
        _draw_chef_card(picture, plan, seat, data["chefs"][seat][3], next_actions[seat])
    return picture


def render_moments(
    layout: Layout, episode: Iterable[Moment], tile_size: int = TILE_SIZE
) -> Iterator[Image.Image]:
    """Draw moments of an episode, one after the other."""
    for state, score, next_actions in episode:
        yield render_state(
            layout, state, score=score, next_actions=next_actions, tile_size=tile_size
        )


class _Box(NamedTuple):
    """A rectangle in pixels, as Pillow takes it."""

    left: int
    top: int
    right: int
    bottom: int


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
        digits = max(len(f"{order.value}{order.time}") for order in self.layout.orders)
        return self.part(1.08 + 0.12 * digits)

    @cached_property
    def orders_in_a_row(self) -> int:
        """How many orders fit side by side."""
        gap = self.part(0.08)
        return (self.width - gap) // (self.order_width + gap)

    @cached_property
    def kitchen(self) -> Position:
        """The top left corner of the kitchen."""
        rows = math.ceil(len(self.layout.orders) / self.orders_in_a_row)
        return (self.width - self.layout.width * self.tile) // 2, self.part(0.9 + 0.62 * rows)

    @cached_property
    def below(self) -> int:
        """Where the kitchen ends and the chefs' cards begin."""
        return self.kitchen[1] + self.layout.height * self.tile

    @cached_property
    def size(self) -> Position:
        """Width and height of the picture."""
        return self.width, self.below + self.part(1.1)

    def middle(self, position: Position, lift: float = 0.0) -> Position:
        """The middle of a cell, or a little above it."""
        left, top = self.kitchen
        x, y = position
        half = self.tile // 2
        return left + x * self.tile + half, top + y * self.tile + half - self.part(lift)

    def order(self, index: int) -> _Box:
        """The card of an order."""
        row, column = divmod(index, self.orders_in_a_row)
        gap = self.part(0.08)
        left = gap + column * (self.order_width + gap)
        top = self.part(0.84 + 0.62 * row)
        return _Box(left, top, left + self.order_width, top + self.part(0.54))

    def chef(self, seat: int) -> _Box:
        """The card of a chef."""
        gap = self.part(0.1)
        width = (self.width - self.part(0.3)) // 2
        left = gap + seat * (width + gap)
        top = self.below + gap
        return _Box(left, top, left + width, top + self.part(0.9))


def render_empty(layout: Layout, tile_size: int) -> Image.Image:
    """Draw the bare layout: its floor and stations, without pots and panels."""
    picture = Image.new("RGB", (layout.width * tile_size, layout.height * tile_size), _WALL)
    for cell in range(layout.width * layout.height):
        x, y = layout.position(cell)
        tile = layout.tile((x, y))
        open_sides = "".join(side.name[0] for side in Direction if _is_open(layout, (x, y), side))
        if tile is Tile.FLOOR:
            sprite = sprites.floor((x + y) % 2, "N" not in open_sides, tile_size)
        else:
            sprite = sprites.station(tile, open_sides, tile_size)
        picture.paste(sprite, (x * tile_size, y * tile_size))
    return picture


@cache
def _background(plan: _Plan) -> Image.Image:
    """All that stays the same during an episode."""
    picture = Image.new("RGB", plan.size, _WALL)
    picture.paste(render_empty(plan.layout, plan.tile), plan.kitchen)
    _draw_orders(picture, plan)
    pen = ImageDraw.Draw(picture)
    for seat in range(SEATS):
        card = plan.chef(seat)
        colour = sprites.CHEF_COLOURS[seat]
        pen.rounded_rectangle(card, plan.part(0.12), _CARD, colour, plan.part(0.04))
        portrait = sprites.portrait(seat, plan.part(0.62))
        _paste(picture, portrait, (card.left + plan.part(0.36), card.top + plan.part(0.45)))
        for words, x in (("holds", _HOLDS), ("does", _DOES)):
            at = (card.left + plan.part(x), card.top + plan.part(0.2))
            _write(picture, at, words, plan.part(0.17), _QUIET)
    _paste(picture, sprites.sign("coin", plan.part(0.4)), (plan.part(0.36), plan.part(0.36)))
    return picture


def _is_open(layout: Layout, position: Position, side: Direction) -> bool:
    """Whether floor or the outside lies on this side of a cell."""
    x = position[0] + side.offset[0]
    y = position[1] + side.offset[1]
    is_inside = 0 <= x < layout.width and 0 <= y < layout.height
    return not is_inside or layout.tile((x, y)) is Tile.FLOOR


def _draw_orders(picture: Image.Image, plan: _Plan) -> None:
    """A card for each order: the soup, what it pays, how long it cooks."""
    pen = ImageDraw.Draw(picture)
    for index, order in enumerate(plan.layout.orders):
        card = plan.order(index)
        middle = (card.top + card.bottom) // 2
        pen.rounded_rectangle(card, plan.part(0.1), _CARD)
        soup = sprites.item(f"soup:{letters(*order.contents)}", plan.part(0.48))
        _paste(picture, soup, (card.left + plan.part(0.27), middle))
        x = card.left + plan.part(0.54)
        for sign, number in (("coin", order.value), ("clock", order.time)):
            _paste(picture, sprites.sign(sign, plan.part(0.2)), (x + plan.part(0.08), middle))
            _write(picture, (x + plan.part(0.21), middle), str(number), plan.part(0.2))
            x += plan.part(0.27 + 0.12 * len(str(number)))


def _draw_pots(picture: Image.Image, plan: _Plan, pots: list[list]) -> None:
    shown = {(x, y): (contents, ticks) for x, y, contents, ticks in pots}
    times = recipes.cooking_times(plan.layout)
    for cell in plan.layout.pot_cells:
        position = plan.layout.position(cell)
        contents, ticks = shown.get(position, ("", -1))
        time = int(times[contents.count("o"), contents.count("t")])
        _paste(picture, sprites.pot(contents, ticks, time, plan.tile), plan.middle(position))


def _draw_score_and_time(picture: Image.Image, plan: _Plan, score: float | int, time: int) -> None:
    pen = ImageDraw.Draw(picture)
    horizon = plan.layout.horizon
    right = plan.width - plan.part(0.14)
    line = plan.part(0.36)
    _write(picture, (plan.part(0.66), line), f"{score:g}", plan.part(0.42))
    words = f"{time} / {horizon}"
    _write(picture, (right, line), words, plan.part(0.28), anchor="rm")
    clock = right - round(font(plan.part(0.28)).getlength(words)) - plan.part(0.24)
    _paste(picture, sprites.sign("clock", plan.part(0.28)), (clock, line))

    bar = _Box(plan.part(0.1), plan.part(0.66), plan.width - plan.part(0.1), plan.part(0.73))
    pen.rectangle(bar, _CARD)
    left_over = (bar.right - bar.left) * (horizon - time) // horizon
    pen.rectangle(bar._replace(right=bar.left + left_over), "#e9b44c")


def _draw_chef_card(
    picture: Image.Image, plan: _Plan, seat: int, held: str | None, next_action: str
) -> None:
    """What a chef holds and does next."""
    card = plan.chef(seat)
    middle = card.top + plan.part(0.56)
    hand = (card.left + plan.part(_HOLDS + 0.21), middle)
    if held:
        _paste(picture, sprites.item(held, plan.part(0.48)), hand)
    else:
        _write(picture, hand, "-", plan.part(0.24), _QUIET, anchor="mm")
    start = card.left + plan.part(_DOES)
    if next_action in _SIGNS:
        sign = sprites.sign(next_action, plan.part(0.26))
        _paste(picture, sign, (start + plan.part(0.13), middle))
        start += plan.part(0.3)
    height = plan.part(0.19)
    words = _shortened(next_action or "-", card.right - plan.part(0.06) - start, height)
    _write(picture, (start, middle), words, height, _TEXT if next_action else _QUIET)


def _write(
    picture: Image.Image,
    at: Position,
    words: str,
    height: int,
    fill: str = _TEXT,
    anchor: str = "lm",
) -> None:
    ImageDraw.Draw(picture).text(at, words, fill, font(height), anchor=anchor)


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
    content = BytesIO()
    picture.save(content, "PNG", optimize=True)
    write_whole(path, content.getvalue())


def save_gif(
    pictures: Iterable[Image.Image], path: Path, *, steps_per_second: float | int = STEPS_PER_SECOND
) -> None:
    """Write pictures as an endless animation, a frame each (equal neighbours become one)."""
    claim_file(path)
    first, others = _opened(pictures)
    # One palette for all frames, so that they differ only where something happened.
    palette = _palette(first)
    frames = (
        picture.quantize(palette=palette, dither=Image.Dither.NONE)
        for picture in chain([first], others)
    )
    content = BytesIO()
    next(frames).save(
        content,
        "GIF",
        save_all=True,
        append_images=frames,
        palette=bytes(palette.getpalette() or ()),
        optimize=True,
        duration=max(round(1000 / steps_per_second), 20),  # many viewers slow down what is faster
        loop=0,
    )
    write_whole(path, content.getvalue())


def _palette(picture: Image.Image) -> Image.Image:
    """The colours of a picture and of all that may appear in it later."""
    gallery = sprites.gallery(TILE_SIZE)
    width = max(picture.width, gallery.width)
    sheet = Image.new("RGB", (width, picture.height + gallery.height), _WALL)
    sheet.paste(picture, (0, 0))
    sheet.paste(gallery, (0, picture.height), gallery)
    # One of GIF's 256 colours is left for pixels that stay as they were.
    return sheet.quantize(255, Image.Quantize.MEDIANCUT)


def save_mp4(
    pictures: Iterable[Image.Image], path: Path, *, steps_per_second: float | int = STEPS_PER_SECOND
) -> None:
    """Write pictures as a film, one frame each."""
    # Not imageio_ffmpeg.write_frames: it forks, which a process with JAX in it must not do.
    claim_file(path)
    first, others = _opened(pictures)
    size = f"{first.width}x{first.height}"
    read = f"-f rawvideo -pix_fmt rgb24 -s {size} -r {steps_per_second} -i -"
    even = "pad=ceil(iw/2)*2:ceil(ih/2)*2"  # yuv420p takes only even sizes
    write = f"-c:v libx264 -crf 20 -vf {even} -pix_fmt yuv420p -movflags +faststart -f mp4"
    quiet = "-y -loglevel error"
    options = f"{quiet} {read} {write}".split()
    command = [imageio_ffmpeg.get_ffmpeg_exe(), *options]
    with replaced_when_done(path) as partial:
        _film([*command, str(partial.resolve())], chain([first], others), path)


def _film(command: Sequence[str], pictures: Iterable[Image.Image], path: Path) -> None:
    """Let ffmpeg make a film of pictures."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stderr=pipe) as ffmpeg:
        assert ffmpeg.stdin is not None
        with suppress(BrokenPipeError):  # ffmpeg has given up, and says why below
            for picture in pictures:
                ffmpeg.stdin.write(picture.tobytes())
        _, complaint = ffmpeg.communicate()
    if ffmpeg.returncode:
        why = complaint.decode(errors="replace").strip()
        raise InputError(f"{path}: the film could not be written ({why})")


def _opened(pictures: Iterable[Image.Image]) -> tuple[Image.Image, Iterator[Image.Image]]:
    """The first picture, and the others."""
    others = iter(pictures)
    for first in others:
        return first, others
    raise InputError("no pictures to write; at least one is needed")
