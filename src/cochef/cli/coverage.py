"""`cochef pool coverage`: which part of the space of human games pools cover."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from cochef.cli.output import JsonOption, print_json, print_line, print_result
from cochef.errors import InputError


@dataclass
class ShowCoverage:
    """Show how many people have a policy of a pool near them, by the mix of events they cause."""

    pools: tyro.conf.Positional[tuple[Path, ...]]
    """The directories of pools of one layout that people played."""
    out: Path = Path("out/coverage.png")
    """The picture to write: .png, .svg or .pdf."""
    json: JsonOption = False

    def run(self) -> int:
        """Read the pools, replay the people's games, and show both."""
        from cochef.agents import pool
        from cochef.evaluation import coverage, plots
        from cochef.experiments.pools import pool_events

        found = [pool.read(directory) for directory in self.pools]
        names = {files.layout.name for files in found}
        if len(names) != 1:
            raise InputError(
                f"pools of {', '.join(sorted(names)) or 'no layout'}; take pools of one layout"
            )
        layout = found[0].layout
        people = coverage.people_events(layout)
        counts = {str(files.directory): pool_events(files).counts for files in found}
        if len(counts) < len(found):
            raise InputError("a pool is given twice; give each once")
        shown = coverage.table(coverage.coverage(people, counts), layout.name)
        plots.save(plots.human_space(people, counts, layout.name), self.out)
        if self.json:
            print_json([dict(zip(shown.header, row, strict=True)) for row in shown.rows])
            return 0
        print_result(shown)
        print_line(f"written: {self.out}")
        return 0
