"""Fictitious co-play (Strouse et al. 2021): self-play policies at three levels of skill.

Its population is that of plain self-play. MEP and TrajDiv take the same three levels of theirs.
"""

from dataclasses import dataclass
from pathlib import Path

from cochef.learning import snapshots
from cochef.learning.runs import SNAPSHOTS
from cochef.learning.snapshots import Snapshot
from cochef.methods import selfplay

population = selfplay.population


@dataclass(frozen=True)
class SkillLevels:
    """Where to find a member at its three levels."""

    init: Snapshot
    """After the first update."""
    mid: Snapshot
    """Where its training return was nearest to half of the final one; the earliest such."""
    final: Snapshot


def skill_levels(directory: Path) -> tuple[SkillLevels, ...]:
    """The levels of every member of the run in a directory."""
    kept = snapshots.read(directory / SNAPSHOTS)
    init, final = kept[0], kept[-1]

    def mid(member: int) -> Snapshot:
        half = final.returns[member] / 2
        return min(kept, key=lambda snapshot: abs(snapshot.returns[member] - half))

    return tuple(SkillLevels(init, mid(member), final) for member in range(len(final.returns)))
