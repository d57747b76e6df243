"""A tiny kitchen to learn in, and what must not depend on accidents in a run."""

from cochef.agents import storage
from cochef.kitchen import layouts
from cochef.learning import runs

KITCHEN = """
horizon = 30
grid = '''
XPX
O1D
X2X
XSX
'''
[orders]
ooo = { value = 20, time = 5 }
"""
LAYOUT = layouts.parse(KITCHEN, "narrow")


def bits(path):
    """All that a file holds; its header's entries come in any order."""
    card, tensors = storage.read(path)
    return card, {name: (array.dtype, array.shape, array.tobytes()) for name, array in tensors.items()}


def outcome(directory):
    """Agents, snapshots, the last checkpoint, and metrics without the time."""
    kept = [*directory.glob("agents/*"), *directory.glob("snapshots/*"), max(directory.glob("checkpoints/*"))]
    files = {str(path.relative_to(directory)): bits(path) for path in kept}
    told = [{name: value for name, value in line.items() if name != "seconds"} for line in runs.metrics(directory)]
    return files, told
