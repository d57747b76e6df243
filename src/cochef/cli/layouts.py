"""`cochef layouts`: list, draw and check kitchens."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro


@dataclass
class ListLayouts:
    """List and draw every kitchen that ships with the package."""

    def run(self) -> int:
        """Print them all."""
        return 0


@dataclass
class CheckLayouts:
    """Check layout files; says what is wrong, where, and what to do about it."""

    files: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Layout files (.toml)."""

    def run(self) -> int:
        """Check each; 1 if any is no kitchen."""
        return 0


@dataclass
class Layouts:
    """List, draw and check kitchens."""

    action: Annotated[
        Annotated[ListLayouts, tyro.conf.subcommand("list")] | Annotated[CheckLayouts, tyro.conf.subcommand("check")],
        tyro.conf.arg(name=""),
    ] = field(default_factory=ListLayouts)

    def run(self) -> int:
        """Do what was asked."""
        return self.action.run()
