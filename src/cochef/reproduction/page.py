"""A page about an experiment: text, tables, figures and claims, and the files beside it."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from matplotlib.figure import Figure

from cochef.evaluation import plots, tables
from cochef.evaluation.report import Block, Paragraph, Picture, Report
from cochef.evaluation.tables import ResultTable
from cochef.files import write_whole
from cochef.reproduction import origin
from cochef.reproduction.claims import LEAST_POPULATIONS, LEVEL, MARGIN, Claim, corrected
from cochef.reproduction.scores import NOT_RUN, Entry, near_best, tidy

_NARROW = 5.0  # inches of a figure that stands beside others
OURS = "ours"
SIMULATED = "Simulated: "  # before all titles where nobody took part
PAPER = "paper"
DIFFERENCE = "difference"


@dataclass
class Page:
    """What is shown about an experiment, as it is put together."""

    blocks: list[Block] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    finding: str = ""
    """What came out, in a sentence without its full stop, where scores and claims do not say it."""
    is_simulated: bool = False
    """Whether nobody took part: then all that is added after it is set says so."""

    def say(self, text: str) -> None:
        """Add a paragraph."""
        self.blocks.append(Paragraph(text))

    def say_not_run(self, what: str) -> None:
        """Add that there is no result of something yet."""
        self.say(f"{what}: {NOT_RUN}.")

    def table(self, name: str, table: ResultTable, tidy_rows: bytes | None = None) -> None:
        """Add a table, also as CSV and LaTeX with a key of its marks below.

        The CSV may have more than is shown.
        """
        if self.is_simulated:
            table = replace(table, title=self.titled(table.title))
        self.blocks.append(table)
        self.files[f"{name}.csv"] = tidy_rows or self._csv(table)
        meanings = origin.key([table.title, *itertools.chain(*table.rows)])
        below = [f"{mark}: {meaning}." for mark, meaning in meanings.items()]
        self.files[f"{name}.tex"] = table.latex(below).encode()

    def figure(self, name: str, figure: Figure, caption: str) -> None:
        """Add a figure, as PNG and SVG."""
        caption = self.titled(caption)
        if self.is_simulated:
            figure.suptitle(f"{SIMULATED}nobody took part")
        wide = bool(figure.get_figwidth() > _NARROW)  # not numpy's
        self.blocks.append(Picture(f"{name}.png", caption, wide=wide))
        self.figures[name] = figure

    def picture(self, name: str, content: bytes, caption: str, *, wide: bool = False) -> None:
        """Add a picture or film that is there already."""
        self.blocks.append(Picture(name, caption, wide=wide))
        self.files[name] = content

    def claim(self, claims: Iterable[Claim]) -> None:
        """Add claims of some topics with all their cases, each with its statistic."""
        self.claims += corrected(claims)

    def titled(self, title: str) -> str:
        """A title that says whether all is simulated."""
        return f"{SIMULATED}{title}" if self.is_simulated else title

    def _csv(self, table: ResultTable) -> bytes:
        """The cells as they are shown, with a column that says whether they are simulated."""
        if not self.is_simulated:
            return table.csv()
        rows = tuple((*row, "yes") for row in table.rows)
        return replace(table, header=(*table.header, "simulated"), rows=rows).csv()

    def add_claim_table(self) -> None:
        """Add all claims with their statistics, if there are any."""
        if self.claims:
            self.table("claims", claim_table(self.claims))

    def write(self, title: str, directory: Path) -> None:
        """Write the page and all its files."""
        Report(self.titled(title), self.blocks).write(directory)
        for name, content in self.files.items():
            write_whole(directory / name, content)
        for name, figure in self.figures.items():
            # Saving closes a figure, which does not keep it from being saved again.
            plots.save(figure, directory / f"{name}.png")
            plots.save(figure, directory / f"{name}.svg")


def claim_table(found: Iterable[Claim]) -> ResultTable:
    """Claims with their statistics."""
    header = ("the paper's claim", "case", "here", "difference over populations", "p (Holm's)")
    rows = [
        (
            *(claim.topic, claim.text, f"{claim.verdict}{claim.origin.marks}"),
            *(claim.statistic, claim.p_text),
        )
        for claim in found
    ]
    note = (
        "p is of a two-sided paired t test over populations against 0 (for 'not below': against "
        f"-{MARGIN:g}); in brackets it is corrected by Holm's method for all tested cases of the "
        f"claim. Where this is below {LEVEL:g}, the case holds if the mean is above that number, "
        "and does not hold if it is below. All else is open. A test takes "
        f"{LEAST_POPULATIONS} populations and sides that are all of the current configurations. "
        "Over several layouts, every layout weighs the same and has its own variance."
    )
    return ResultTable("Claims", header, tuple(rows), note=note)


def grid(
    title: str,
    entries: Sequence[Entry],
    row_of: Callable[[Entry], tuple[str, ...]],
    header: tuple[str, ...],
) -> ResultTable:
    """Entries as a table: rows as `row_of` says, a column for every condition.

    Below ours are the paper's and the difference, where the paper has some.
    """
    conditions = list(dict.fromkeys(entry.condition for entry in entries))
    places: dict[tuple[str, ...], dict[str, Entry]] = {}
    for entry in entries:
        places.setdefault(row_of(entry), {})[entry.condition] = entry
    body = []
    bold = set()
    last = ""
    for place, by_condition in places.items():
        cells = [by_condition.get(name) for name in conditions]
        best = near_best(by_condition.values())
        for column, name in enumerate(conditions, start=len(place) + 1):
            if name in best:
                bold.add((len(body), column))
        shown = place
        if place[0] == last:
            shown = ("", *place[1:])  # the layout is said once
        last = place[0]
        body.append((*shown, OURS, *(_cell(cell, Entry.ours) for cell in cells)))
        if any(cell is not None and cell.published is not None for cell in cells):
            blank = ("",) * len(place)
            body.append((*blank, PAPER, *(_cell(cell, Entry.papers) for cell in cells)))
            body.append((*blank, DIFFERENCE, *(_cell(cell, Entry.apart) for cell in cells)))
    return ResultTable(title, (*header, "", *conditions), tuple(body), frozenset(bold))


def _cell(entry: Entry | None, text: Callable[[Entry], str]) -> str:
    return "-" if entry is None else text(entry)


def add_grid(
    page: Page,
    name: str,
    title: str,
    entries: Sequence[Entry],
    row_of: Callable[[Entry], tuple[str, ...]],
    header: tuple[str, ...],
) -> None:
    """Add entries as a table, and as a file with every number in a column of its own."""
    page.entries += entries
    page.table(name, grid(title, entries, row_of, header), tables.as_csv(tidy(entries)))
