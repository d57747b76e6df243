"""A tiny layout to learn in, and what must not depend on accidents in a run."""

from cochef.agents import storage
from cochef.kitchen import layouts
from cochef.learning.writers import read_metrics
from tests.narrow_layout import NARROW

LAYOUT = layouts.parse(NARROW, "narrow")


def bits(path):
    """All that a file holds; its header's entries come in any order."""
    card, tensors = storage.read(path)
    return card, {
        name: (array.dtype, array.shape, array.tobytes()) for name, array in tensors.items()
    }


def outcome(directory):
    """Agents, snapshots, the last checkpoint, and metrics without the time."""
    kept = [
        *directory.glob("agents/*"),
        *directory.glob("snapshots/*"),
        max(directory.glob("checkpoints/*")),
    ]
    files = {str(path.relative_to(directory)): bits(path) for path in kept}
    metrics = [
        {name: value for name, value in line.items() if name != "seconds"}
        for line in read_metrics(directory)
    ]
    return files, metrics
