"""`cochef partners`: the people nobody trains with."""

from dataclasses import dataclass

from rich.console import Console
from rich.table import Column, Table


@dataclass
class Partners:
    """List the partners that agents are measured with: what they do, and where they apply."""

    layout: str | None = None
    """Only those that apply in this kitchen."""

    def run(self) -> int:
        """Print the table."""
        from cochef.agents import scripted, shipped
        from cochef.kitchen import layouts

        shown = [layouts.get(self.layout)] if self.layout else [layouts.get(name) for name in layouts.names()]
        columns = (Column("name", no_wrap=True), "what it does", Column("where", overflow="fold"))
        table = Table(*columns, title="Partners and agents that ship", show_lines=True)
        for name, script in scripted.SCRIPTS.items():
            where = [layout.name for layout in shown if scripted.applies(script, layout)]
            if where:
                everywhere = len(where) == len(shown) and len(shown) > 1
                table.add_row(f"script:{name}", script.about, "everywhere" if everywhere else ", ".join(where))
        for kind, about in shipped.KINDS.items():
            where = [layout.name for layout in shown if layout.name in shipped.layouts_of(kind)]
            if where:
                table.add_row(f"{kind}:LAYOUT", about, ", ".join(where))
        Console().print(table)
        Console().print("Besides: random, stay, and the path of an agent file, such as those that `cochef run` leaves.")
        Console().print("Any of them: NAME@noise=0.1,idle=3 (clumsy, slow), 0.5*NAME+0.5*NAME (a mixture).")
        return 0
