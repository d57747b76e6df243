"""`cochef partners`: the partners that agents are evaluated with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cochef.cli.output import JsonOption, print_line, print_rows

if TYPE_CHECKING:
    from cochef.kitchen.layout import Layout


@dataclass
class ListPartners:
    """List the partners that agents are evaluated with: what they do, and where they apply."""

    layout: str | None = None
    """Only those that apply in this layout."""
    json: JsonOption = False

    def run(self) -> int:
        """Print the table."""
        from cochef.kitchen import layouts

        shown = [layouts.get(name) for name in ([self.layout] if self.layout else layouts.names())]
        rows = [*_scripts(shown), *_shipped(shown)]
        if self.json:
            print_rows(rows, as_json=True)
            return 0
        names = [layout.name for layout in shown]
        for row in rows:
            if row["where"] == names and len(names) > 1:
                row["where"] = "everywhere"
        print_rows(rows, "Partners and agents that ship", whole=("name",))
        print_line(
            "Besides: random, stay, and the path of an agent file, "
            "such as those that `cochef run` leaves."
        )
        print_line(
            "Any of them: NAME@noise=0.1,idle=3 (clumsy, slow), 0.5*NAME+0.5*NAME (a mixture)."
        )
        return 0


def _scripts(shown: "Sequence[Layout]") -> list[dict[str, object]]:
    from cochef.agents import scripted

    rows = []
    for name, script in scripted.SCRIPTS.items():
        where = [layout.name for layout in shown if scripted.applies(script, layout)]
        rows.append({"name": f"script:{name}", "what it does": script.summary, "where": where})
    return [row for row in rows if row["where"]]


def _shipped(shown: "Sequence[Layout]") -> list[dict[str, object]]:
    from cochef import methods
    from cochef.agents import shipped

    summaries = {name: methods.summary(name) for name in methods.names()}
    rows = []
    for kind, summary in (shipped.CLONES | summaries).items():
        where = [layout.name for layout in shown if layout.name in shipped.layouts_of(kind)]
        rows.append({"name": f"{kind}:LAYOUT", "what it does": summary, "where": where})
    return [row for row in rows if row["where"]]
