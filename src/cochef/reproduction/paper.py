"""The numbers that the paper reports."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from cochef.evaluation import published
from cochef.reproduction.scores import Published

EARLIER = "earlier results"
"""The row "Existing SOTA" of table 1: the best results in the literature before."""


@cache
def numbers() -> Mapping[str, Any]:
    """All numbers of `paper.toml`."""
    return tomllib.loads((resources.files("cochef.reproduction") / "paper.toml").read_text("utf-8"))


def with_scripts(layout: str) -> Mapping[str, Mapping[str, Published]]:
    """Table 2 in a layout: by script and method."""
    found = published.scores(layout).items()
    return {
        row: dict(cells) for row, cells in found if row.startswith("script:") and "seat" not in row
    }


def scripts_by_seat(layout: str) -> Mapping[str, Mapping[str, Mapping[str, list[float]]]]:
    """Table 23 in a layout: by script, method and seat."""
    return numbers()["by_seat"].get(layout, {})


def with_human_model(condition: str, layout: str, seat: int) -> Published | None:
    """Tables 1, 5, 21 and 22: a condition with the human model of a layout."""
    name = "earlier" if condition == EARLIER else condition
    cell = numbers().get(name, {}).get(layout, {}).get(str(seat))
    if cell is None:
        row = published.scores(layout).get(f"human-proxy:{layout} seat {seat}", {})
        cell = row.get(condition)
    return None if cell is None else (float(cell[0]), float(cell[1]))


def pair(cell: list[float] | None) -> Published | None:
    """A mean and a deviation as the file has them."""
    return None if cell is None else (cell[0], cell[1])
