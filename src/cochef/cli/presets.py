"""`cochef presets`: two presets side by side."""

import json
from dataclasses import asdict, dataclass

from rich import box
from rich.console import Console
from rich.table import Column, Table

from cochef.cli.output import print_line
from cochef.experiments.presets import PresetName


@dataclass
class ComparePresets:
    """Show in which settings two presets differ; for laptop and paper also why."""

    one: PresetName = "laptop"
    other: PresetName = "paper"
    json: bool = False
    """As JSON instead of a table."""

    def run(self) -> int:
        """Print the table."""
        from cochef.experiments.preset_table import differences

        found = differences(self.one, self.other)
        if self.json:
            print_line(json.dumps([asdict(difference) for difference in found], indent=1))
            return 0
        columns = [Column(name, overflow="fold") for name in (self.one, self.other)]
        table = Table(Column("setting", no_wrap=True), *columns, box=box.SIMPLE)
        if any(difference.reason for difference in found):
            table.add_column("why", overflow="fold")
        for difference in found:
            table.add_row(difference.name, *difference.values, difference.reason)
        Console().print(table)
        return 0
