import random
import re
from importlib import resources

import jax
import numpy as np
import pytest

from cochef.kitchen import layouts
from cochef.kitchen.constants import SEATS, Action, Cooking
from cochef.kitchen.dynamics import step
from cochef.kitchen.layout import Order
from cochef.kitchen.layouts import LayoutError
from cochef.kitchen.state import start
from cochef.kitchen.text import draw, from_json, to_json

GOOD = """
description = "A room to break."
cooking = "automatic"
horizon = 100
grid = '''
XXPXX
O1 2T
X   X
XDXSX
'''

[orders]
ooo = { value = 20, time = 20 }
ott = { value = 10, time = 5 }
"""
ROWS = "XXPXX\nO1 2T\nX   X\nXDXSX"


def grid(rows):
    return GOOD.replace(ROWS, rows)


def order(line):
    return GOOD.replace("ooo = { value = 20, time = 20 }", line)


def test_every_shipped_layout_can_be_read():
    assert set(layouts.PAPER_LAYOUTS) < set(layouts.names()) and len(layouts.names()) >= 13
    for name in layouts.names():
        assert layouts.get(name).name == name
        assert layouts.description(name)


def test_a_layout_holds_what_its_text_says():
    layout = layouts.parse(GOOD, "mine")
    assert (layout.name, layout.cooking, layout.horizon) == ("mine", Cooking.AUTOMATIC, 100)
    assert (layout.width, layout.height, layout.starts) == (5, 4, ((1, 1), (3, 1)))
    assert layout.rows == ("XXPXX", "O   T", "X   X", "XDXSX")
    assert layout.orders == (Order((3, 0), 20, 20), Order((1, 2), 10, 5))


def test_cooking_and_horizon_have_defaults():
    layout = layouts.parse(re.sub("(description|cooking|horizon).*", "", GOOD), "mine")
    assert (layout.cooking, layout.horizon) == (Cooking.AUTOMATIC, 400)


def test_a_layout_is_read_from_the_path_of_its_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert layouts.get(str(path)) == layouts.read(path) == layouts.parse(GOOD, "mine")


FAULTS = {
    "unequal rows": (
        grid("XXPXX\nO1 2T\nX    X\nXDXSX"),
        "row 3 of the grid has 6 cells, row 1 has 5; make all rows equally long",
    ),
    "unknown tile": (
        grid("XXPXX\nO1 2T\nX Q X\nXDXSX"),
        "unknown tile 'Q' at column 3, row 3; "
        "use ' ' floor, 'X' counter, 'P' pot, 'O' onion dispenser, "
        "'T' tomato dispenser, 'D' dish dispenser, 'S' serving, '1' and '2' the starts",
    ),
    "a missing start": (
        grid("XXPXX\nO1  T\nX   X\nXDXSX"),
        "no start for chef 2; put a '2' on a floor cell of the grid",
    ),
    "a double start": (
        grid("XXPXX\nO1 2T\nX  1X\nXDXSX"),
        "two starts for chef 1, at column 2, row 2 and at column 4, row 3; keep one of them",
    ),
    "open at a side": (
        grid("XXPXX\nO1 2T\nX    \nXDXSX"),
        "the kitchen is open at column 5, row 3; close its rim with counters ('X') or stations",
    ),
    "open at a start": (
        grid("XXPXX\nO1 XT\nX   X\nXD2SX"),
        "the kitchen is open at column 3, row 4; close its rim with counters ('X') or stations",
    ),
    "no pot": (grid("XXXXX\nO1 2T\nX   X\nXDXSX"), "no pot ('P') to cook in; add one to the grid"),
    "no serving tile": (
        grid("XXPXX\nO1 2T\nX   X\nXDXXX"),
        "no serving ('S') to deliver to; add one to the grid",
    ),
    "no dishes": (
        grid("XXPXX\nO1 2T\nX   X\nXXXSX"),
        "no dish dispenser ('D') to plate a soup; add one to the grid",
    ),
    "no onions": (
        grid("XXPXX\nX1 2T\nX   X\nXDXSX"),
        "no onion dispenser ('O') for an order; add one to the grid",
    ),
    "no tomatoes": (
        grid("XXPXX\nO1 2X\nX   X\nXDXSX"),
        "no tomato dispenser ('T') for an order; add one to the grid",
    ),
    "an unreachable station": (
        grid("XXPXXP\nO1 2TX\nX   XX\nXDXSXX"),
        "no chef can reach the pot at column 6, row 1; open a way to it or make it a counter ('X')",
    ),
    "an unreachable floor": (
        grid("XXPXXXX\nO1 2TXX\nX   X X\nXDXSXXX"),
        "no chef can reach the floor at column 6, row 3; "
        "open a way to it or make it a counter ('X')",
    ),
    "an order of 0 items": (
        order('"" = { value = 20, time = 20 }'),
        "order '' has 0 items; a soup has 1 to 3",
    ),
    "an order of 4 items": (
        order("oooo = { value = 20, time = 20 }"),
        "order 'oooo' has 4 items; a soup has 1 to 3",
    ),
    "a negative value": (
        order("ooo = { value = -1, time = 20 }"),
        "value of order 'ooo' is -1; it takes a whole number from 0 to 1000",
    ),
    "a value that is no whole number": (
        order("ooo = { value = 2.5, time = 20 }"),
        "value of order 'ooo' is 2.5; it takes a whole number from 0 to 1000",
    ),
    "a huge value": (
        order(f"ooo = {{ value = 0x{'f' * 5000}, time = 20 }}"),
        "value of order 'ooo' is a huge int; it takes a whole number from 0 to 1000",
    ),
    "no cooking time": (
        order("ooo = { value = 20, time = 0 }"),
        "time of order 'ooo' is 0; it takes a whole number from 1 to 200",
    ),
    "an unknown ingredient": (
        order("oop = { value = 20, time = 20 }"),
        "order 'oop' has unknown ingredients; use o (onion) and t (tomato)",
    ),
    "an order listed twice": (
        order("tto = { value = 20, time = 20 }"),
        "order 'ott' is listed twice; keep one of them",
    ),
    "half an order": (
        order("ooo = { value = 20 }"),
        "order 'ooo' needs a value and a time: ooo = { value = 20, time = 20 }",
    ),
    "an order of two items that pots never cook": (
        order("oo = { value = 20, time = 20 }"),
        "order 'oo' can never be cooked, as pots start by themselves with their third item; "
        'ask for three items or set cooking = "manual"',
    ),
    "no orders": (
        GOOD.split("[orders]", maxsplit=1)[0],
        "no orders; add [orders] and a line such as ooo = { value = 20, time = 20 }",
    ),
    "too wide": (
        grid("X" * 30 + "\n" + "X" * 30),
        "grid is 30 x 2, too large; at most 20 x 20 cells",
    ),
    "too high": (grid("\n".join(["XXX"] * 21)), "grid is 3 x 21, too large; at most 20 x 20 cells"),
    "no grid": (
        "[orders]\nooo = { value = 20, time = 20 }",
        "no grid; add grid = ''' followed by the rows of the kitchen and '''",
    ),
    "an empty grid": (
        grid(""),
        "no grid; add grid = ''' followed by the rows of the kitchen and '''",
    ),
    "unknown key": (
        "colour = 1\n" + GOOD,
        "unknown key 'colour'; allowed: cooking, description, grid, horizon, orders",
    ),
    "bad cooking": (
        GOOD.replace('"automatic"', '"slow"'),
        'cooking is \'slow\'; it takes "automatic" or "manual"',
    ),
    "bad horizon": (
        GOOD.replace("horizon = 100", "horizon = 0"),
        "horizon is 0; it takes a whole number from 1 to 10000",
    ),
    "a horizon that is true": (
        GOOD.replace("horizon = 100", "horizon = true"),
        "horizon is True; it takes a whole number from 1 to 10000",
    ),
    "bad description": (
        GOOD.replace('"A room to break."', "[1]"),
        "description is [1]; it takes one line of text in quotes",
    ),
    "nested without end": (
        f"description{'.a' * 5000} = 1\n" + GOOD.replace('description = "A room to break."', ""),
        "description is a huge dict; it takes one line of text in quotes",
    ),
}


@pytest.mark.parametrize(("text", "message"), FAULTS.values(), ids=FAULTS)
def test_every_fault_is_named_with_its_place_and_remedy(text, message):
    with pytest.raises(LayoutError) as error:
        layouts.parse(text, "mine")
    assert str(error.value) == f"mine: {message}"


def test_text_that_is_no_toml_is_named_with_the_line():
    with pytest.raises(LayoutError, match=r"^mine: not a TOML file: .* \(at line 4, column 9\)$"):
        layouts.parse(GOOD.replace("horizon = 100", "horizon 100"), "mine")


def test_a_layout_of_unknown_name_is_an_error_that_lists_the_known():
    with pytest.raises(
        LayoutError,
        match=r"^unknown layout 'cramped'; did you mean cramped_room\? known: .*\.toml file$",
    ):
        layouts.get("cramped")


def test_a_missing_file_is_named(tmp_path):
    _expect_unreadable(
        tmp_path / "mine.toml",
        "cannot be read (No such file or directory); give the path of a layout",
    )


def test_a_directory_is_no_layout_file(tmp_path):
    _expect_unreadable(tmp_path, "cannot be read (Is a directory); give the path of a layout file")


def test_a_path_that_no_system_allows_is_named(tmp_path):
    _expect_unreadable(
        tmp_path / "a\0b.toml",
        "cannot be read (embedded null byte); give the path of a layout file",
    )


def test_a_file_that_is_not_utf_8_is_named_with_the_byte(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"description = '\xff'")
    _expect_unreadable(path, "byte 15 is not UTF-8 text; save the file as UTF-8")


def test_a_file_is_read_only_up_to_its_largest_size(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD + "#" * layouts.MAX_FILE_BYTES)
    _expect_unreadable(path, "larger than 65536 bytes; not a layout file")


def _expect_unreadable(path, message):
    with pytest.raises(LayoutError) as error:
        layouts.read(path)
    assert str(error.value).startswith(f"{path}: {message}")


MUTANTS = 10_000
STEPPED = 3


def test_a_mutated_layout_file_is_a_clear_error_or_a_layout(tmp_path):
    chance = random.Random(0)
    folder = resources.files("cochef.kitchen") / "layout_files"
    originals = [(folder / f"{name}.toml").read_bytes() for name in layouts.names()]
    path = tmp_path / "mutant.toml"
    found, messages = set(), set()
    with path.open("wb", buffering=0) as file:
        for _ in range(MUTANTS):
            file.seek(0)
            file.write(mutate(chance.choice(originals), chance))
            file.truncate()
            try:
                found.add(layouts.read(path))
            except LayoutError as error:
                assert str(error).startswith(f"{path}: ")
                messages.add(re.sub(r"[\d'\"].*", "", str(error).removeprefix(f"{path}: ")))
    assert len(found) > 100
    assert len(messages) > 20
    for layout in chance.sample(sorted(found, key=str), STEPPED):
        _play(layout, chance)


LETTERS = [bytes([letter]) for letter in b" XPOTDS12\n\t'\"=[]{}.#,-+_0123456789otaxeinf\\"] + [
    "\u00e9\u2028".encode()
]
VALUES = [
    b"0",
    b"-1",
    b"3",
    b"2000",
    b"1e3",
    b"nan",
    b"true",
    b"'x'",
    b"[]",
    b"{}",
    b"1979-05-27",
    b"'manual'",
    b"ooo",
]


def mutate(content, chance):
    """The file with one to four faults."""
    for _ in range(chance.randint(1, 4)):
        content = chance.choice(FAULTY_HANDS)(content, chance)
    return content


def replace_letter(content, chance):
    at = chance.randrange(len(content) + 1)
    return content[:at] + chance.choice(LETTERS) + content[at + 1 :]


def insert_letter(content, chance):
    at = chance.randrange(len(content) + 1)
    return content[:at] + chance.choice(LETTERS) + content[at:]


def insert_byte(content, chance):
    at = chance.randrange(len(content) + 1)
    return content[:at] + chance.randbytes(1) + content[at:]


def delete_letter(content, chance):
    at = chance.randrange(len(content) + 1)
    return content[:at] + content[at + 1 :]


def drop_line(content, chance):
    lines = content.splitlines(keepends=True) or [b""]
    del lines[chance.randrange(len(lines))]
    return b"".join(lines)


def double_line(content, chance):
    lines = content.splitlines(keepends=True) or [b""]
    at = chance.randrange(len(lines))
    return b"".join(lines[: at + 1] + lines[at:])


def replace_tile(content, chance):
    """Another tile in the grid."""
    tiles = [match.start() for match in re.finditer(rb"[ XPOTDS12](?=[ XPOTDS12]*\n)", content)]
    at = chance.choice(tiles or [0])
    return content[:at] + chance.choice(LETTERS[:9]) + content[at + 1 :]


def change_value(content, chance):
    values = list(re.finditer(rb"= *([^ =,{}\n]+)", content))
    if not values:
        return content
    start, end = chance.choice(values).span(1)
    return content[:start] + chance.choice(VALUES) + content[end:]


FAULTY_HANDS = [
    replace_letter,
    insert_letter,
    insert_byte,
    delete_letter,
    drop_line,
    double_line,
    replace_tile,
    change_value,
]


def _play(layout, chance):
    """The kitchen can be stepped, drawn and written down."""
    state = start(layout)
    for _ in range(3):
        joint = np.array([chance.randrange(len(Action)) for _ in range(SEATS)], np.int32)
        state, _ = jax.jit(step, static_argnums=0)(layout, state, joint)
    assert draw(layout, state).count("\n") == layout.height - 1
    assert to_json(layout, from_json(layout, to_json(layout, state))) == to_json(layout, state)
