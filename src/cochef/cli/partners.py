"""`cochef partners`: the partners that agents are evaluated with."""

from dataclasses import dataclass

from rich.console import Console
from rich.table import Column, Table


@dataclass
class ListPartners:
    """List the partners that agents are evaluated with: what they do, and where they apply."""

    layout: str | None = None
    """Only those that apply in this layout."""

    def run(self) -> int:
        """Print the table."""
        from cochef import methods
        from cochef.agents import scripted, shipped
        from cochef.kitchen import layouts

        shown = [layouts.get(name) for name in ([self.layout] if self.layout else layouts.names())]
        columns = (
            Column("name", no_wrap=True),
            "what it does",
            Column("where", overflow="fold"),
        )
        table = Table(*columns, title="Partners and agents that ship", show_lines=True)
        for name, script in scripted.SCRIPTS.items():
            where = [layout.name for layout in shown if scripted.applies(script, layout)]
            if where:
                everywhere = len(where) == len(shown) > 1
                places = "everywhere" if everywhere else ", ".join(where)
                table.add_row(f"script:{name}", script.summary, places)
        summaries = {name: methods.summary(name) for name in methods.names()}
        for kind, summary in (shipped.CLONES | summaries).items():
            where = [layout.name for layout in shown if layout.name in shipped.layouts_of(kind)]
            if where:
                table.add_row(f"{kind}:LAYOUT", summary, ", ".join(where))
        console = Console()
        console.print(table)
        console.print(
            "Besides: random, stay, and the path of an agent file, "
            "such as those that `cochef run` leaves."
        )
        console.print(
            "Any of them: NAME@noise=0.1,idle=3 (clumsy, slow), 0.5*NAME+0.5*NAME (a mixture)."
        )
        return 0
