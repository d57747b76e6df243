"""Contrast of the pages' colours, by the formula of the Web Content Accessibility Guidelines."""

import re

import pytest

from cochef.web.app import static_files

TEXT = 4.5
SIGN = 3.0
PAIRS = [
    ("text", "ground", TEXT),
    ("text", "card", TEXT),
    ("text", "field", TEXT),
    ("quiet", "card", TEXT),
    ("quiet", "ground", TEXT),
    ("main-text", "main", TEXT),
    ("warn", "card", TEXT),
    ("line", "card", SIGN),
    ("line", "ground", SIGN),
    ("seat0", "card", SIGN),
    ("seat1", "card", SIGN),
    ("main", "card", SIGN),
]


def colours(scheme):
    style = (static_files() / "style.css").read_text("utf-8")
    blocks = {"bright": r":root \{(.*?)\}", "dark": r':root\[data-theme="dark"\] \{(.*?)\}'}
    return dict(re.findall(r"--([\w-]+): (#\w{6})", re.search(blocks[scheme], style, re.DOTALL)[1]))


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["bright", "dark"])
@pytest.mark.parametrize(("front", "back", "least"), PAIRS)
def test_colours_stand_out_in_a_bright_and_a_dark_room(scheme, front, back, least):
    shown = colours(scheme)
    dark, light = sorted(luminance(shown[name]) for name in (front, back))
    assert (light + 0.05) / (dark + 0.05) >= least


def test_the_systems_dark_colours_are_the_chosen_dark_ones():
    style = (static_files() / "style.css").read_text("utf-8")
    system = re.search(r"prefers-color-scheme: dark\) \{(.*?)\n\}", style, re.DOTALL)[1]
    assert dict(re.findall(r"--([\w-]+): (#\w{6})", system)) == colours("dark")
