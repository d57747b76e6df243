"""Smooth shapes: drawn several times larger than wanted, then shrunk."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from PIL import Image, ImageDraw, ImageFont

OVERSIZE = 4
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
Length = float | int  # in hundredths of a tile
Point = tuple[Length, Length]


@cache
def font(size: int) -> Font:
    """The typeface that comes with Pillow, so that pictures look the same on every machine."""
    return ImageFont.load_default(size)


class Canvas:
    """A transparent picture to draw on, in hundredths of a tile from the tile's top left corner.

    The picture reaches `margin` beyond the tile on every side. Colours may be translucent
    (#rrggbbaa).
    """

    def __init__(self, tile_size: int, margin: int = 0) -> None:
        """An empty picture."""
        side = tile_size + 2 * round(tile_size * margin / 100)
        self._scale = tile_size * OVERSIZE / 100
        self._shift = (side - tile_size) * OVERSIZE / 2
        self._image = Image.new("RGBA", (side * OVERSIZE, side * OVERSIZE))

    def finish(self) -> Image.Image:
        """The picture in its real size."""
        return self._image.reduce(OVERSIZE)

    def circle(
        self,
        x: Length,
        y: Length,
        radius: Length,
        fill: str,
        outline: str | None = None,
        width: Length = 0,
    ) -> None:
        """A disc around (x, y); the outline lies inside the radius."""
        self.oval(x, y, radius, radius, fill, outline, width)

    def oval(
        self,
        x: Length,
        y: Length,
        a: Length,
        b: Length,
        fill: str,
        outline: str | None = None,
        width: Length = 0,
    ) -> None:
        """An ellipse of half-axes a and b."""
        with self._pen(fill) as pen:
            pen.ellipse(self._at((x - a, y - b), (x + a, y + b)), fill, outline, self._thick(width))

    def box(
        self,
        corners: tuple[Length, Length, Length, Length],
        fill: str,
        radius: Length = 0,
        outline: str | None = None,
        width: Length = 0,
    ) -> None:
        """A rectangle (left, top, right, bottom) with rounded corners."""
        left, top, right, bottom = corners
        with self._pen(fill) as pen:
            pen.rounded_rectangle(
                self._at((left, top), (right, bottom)),
                radius * self._scale,
                fill,
                outline,
                self._thick(width),
            )

    def polygon(
        self, points: Sequence[Point], fill: str, outline: str | None = None, width: Length = 0
    ) -> None:
        """A filled shape; the outline runs along its edge."""
        with self._pen(fill) as pen:
            pen.polygon(self._at(*points), fill)
        if outline and width:
            self.line([*points, *points[:2]], outline, width)

    def line(self, points: Sequence[Point], fill: str, width: Length) -> None:
        """A line with round ends and joints."""
        with self._pen(fill) as pen:
            pen.line(self._at(*points), fill, self._thick(width), joint="curve")
            for x, y in (points[0], points[-1]):
                pen.ellipse(
                    self._at((x - width / 2, y - width / 2), (x + width / 2, y + width / 2)), fill
                )

    def arc(
        self, x: Length, y: Length, radius: Length, angles: Point, fill: str, width: Length
    ) -> None:
        """Part of a ring whose outer radius is given; angles in degrees clockwise from the top."""
        with self._pen(fill) as pen:
            box = self._at((x - radius, y - radius), (x + radius, y + radius))
            pen.arc(box, angles[0] - 90, angles[1] - 90, fill, self._thick(width))

    def text(self, x: Length, y: Length, text: str, height: Length, fill: str) -> None:
        """Bold text centred on (x, y)."""
        with self._pen(fill) as pen:
            stroke = height * self._scale / 40
            (place,) = self._at((x, y))
            pen.text(
                place,
                text,
                fill,
                font(round(height * self._scale)),
                anchor="mm",
                stroke_width=stroke,
            )

    @contextmanager
    def _pen(self, fill: str) -> Iterator[ImageDraw.ImageDraw]:
        """Draws straight on the picture, or, with a translucent colour, on a film laid over it."""
        if len(fill) < len("#rrggbbaa"):
            yield ImageDraw.Draw(self._image)
        else:
            film = Image.new("RGBA", self._image.size)
            yield ImageDraw.Draw(film)
            self._image.alpha_composite(film)

    def _at(self, *points: Point) -> list[Point]:
        return [(x * self._scale + self._shift, y * self._scale + self._shift) for x, y in points]

    def _thick(self, width: Length) -> int:
        return round(width * self._scale)
