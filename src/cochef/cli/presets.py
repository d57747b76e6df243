"""`cochef presets`: two presets side by side."""

from dataclasses import asdict, dataclass

from cochef.cli.output import JsonOption, print_json, print_rows
from cochef.experiments.presets import PresetName


@dataclass
class ComparePresets:
    """Show in which settings two presets differ; for laptop and paper also why."""

    one: PresetName = "laptop"
    other: PresetName = "paper"
    json: JsonOption = False

    def run(self) -> int:
        """Print the table."""
        from cochef.experiments.preset_table import differences

        found = differences(self.one, self.other)
        if self.json:
            print_json([asdict(difference) for difference in found])
            return 0
        is_explained = any(difference.reason for difference in found)
        rows = []
        for difference in found:
            values = dict(zip((self.one, self.other), difference.values, strict=True))
            reason = {"why": difference.reason} if is_explained else {}
            rows.append({"setting": difference.name, **values, **reason})
        print_rows(rows, whole=("setting",))
        return 0
