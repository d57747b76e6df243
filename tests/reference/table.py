"""What the long proof compared, as a table."""

from cochef.kitchen import layouts
from cochef.kitchen.events import Event
from tests.reference.allowed import allowed
from tests.reference.proof import Comparison

PROPERTY = "exactness"  # under this name a test's report carries its row


def row_of(comparison: Comparison) -> dict[str, int]:
    """What a report carries: plain numbers by name."""
    return {
        "steps": comparison.steps,
        "differences": len(comparison.differences),
        **comparison.counts,
    }


def render(rows: dict[str, dict[str, int]]) -> str:
    """The rows of some layouts as columns; a dash where a layout does not allow something."""
    counted = ["steps", "differences", *(event.label for event in Event)]
    counted += sorted({what for row in rows.values() for what in row} - set(counted))
    columns = [["", *counted]]
    for name in (name for name in layouts.names() if name in rows):
        shown = allowed(layouts.get(name)) | {"steps", "differences"}
        columns.append(
            [name, *(str(rows[name].get(what, 0)) if what in shown else "-" for what in counted)]
        )
    widths = [max(map(len, column)) for column in columns]
    lines = zip(*columns, strict=True)
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
