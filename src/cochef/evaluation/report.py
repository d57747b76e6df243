"""Reports of text, tables and pictures, as a web page and as Markdown."""

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from mimetypes import guess_type
from pathlib import Path
from urllib.parse import quote

from cochef.evaluation.tables import ResultTable
from cochef.files import write_whole

HTML = "report.html"
MARKDOWN = "report.md"

_NUMBER = "+-0123456789"  # first characters of cells with numbers
_MARKUP = re.compile(
    r"(?=[\\`*_\[\]<>#&~$@])"
    r"|(?=://\S*\.)|(?<=www)(?=\.)"  # addresses, which some readers of Markdown make links
    r"|^(\d*)(?=[-+.)][\s-])"  # lists and rules
)
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; }
p { max-width: 60rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
table { display: block; overflow-x: auto; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .25rem .5rem; border-bottom: 1px solid #8886; text-align: left; }
td { vertical-align: top; }
th { vertical-align: bottom; }
.number { text-align: right; }
img { max-width: 100%; height: auto; }
figure { display: inline-block; width: min(100%, 29rem); vertical-align: top; }
figure { margin: 1rem .5rem 1rem 0; }
.embedded { width: auto; }
.wide { width: 100%; }
figcaption, .note { opacity: .8; }
.note { margin-top: -.6rem; font-size: .9rem; }
.lead { font-size: 1.15rem; }
figure label { cursor: zoom-in; }
figure input { position: absolute; opacity: 0; }
figure input:focus-visible + img { outline: 3px solid #0072b2; }
figure input:checked + img { position: fixed; inset: 0; z-index: 1; box-sizing: border-box; }
figure input:checked + img { width: 100%; height: 100%; object-fit: contain; padding: 1rem; }
figure input:checked + img { background: Canvas; max-width: none; cursor: zoom-out; }
code { background: #8882; padding: .1rem .3rem; border-radius: .2rem; }
"""


@dataclass(frozen=True)
class Heading:
    """A heading of a section."""

    text: str

    def markdown(self) -> str:
        """The block as Markdown."""
        return f"## {_escaped(self.text)}\n"

    def html(self) -> str:
        """The block as HTML."""
        return f"<h2>{escape(self.text)}</h2>"


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of text."""

    text: str

    def markdown(self) -> str:
        """The block as Markdown."""
        return f"{_escaped(self.text)}\n"

    def html(self) -> str:
        """The block as HTML."""
        return f"<p>{escape(self.text)}</p>"


@dataclass(frozen=True)
class Lead:
    """The sentence that a report opens with: what came out."""

    text: str

    def markdown(self) -> str:
        """The block as Markdown."""
        return f"{_escaped(self.text)}\n"

    def html(self) -> str:
        """The block as HTML."""
        return f'<p class="lead">{escape(self.text)}</p>'


@dataclass(frozen=True)
class ShellCommand:
    """A command to type in a terminal."""

    text: str

    def markdown(self) -> str:
        """The block as Markdown."""
        return f"    {self.text}\n"

    def html(self) -> str:
        """The block as HTML."""
        return f"<p><code>{escape(self.text)}</code></p>"


@dataclass(frozen=True)
class Picture:
    """A picture in the report's directory, or in the page itself if its content is given.

    In the page, a click or the space bar enlarges it, without a script.
    """

    file: str
    caption: str
    content: bytes = b""
    wide: bool = False
    """Whether it takes the whole width of the page, as one of several panels does."""

    def markdown(self) -> str:
        """The block as Markdown."""
        caption = _escaped(self.caption)
        return f"![{caption}]({quote(self.file)})\n\n{caption}\n"

    def html(self) -> str:
        """The block as HTML."""
        source = quote(self.file)
        kind = ' class="wide"' if self.wide else ""
        if self.content:
            source = f"data:{guess_type(self.file)[0]};base64,{b64encode(self.content).decode()}"
            kind = ' class="embedded"'
        caption = escape(self.caption)
        switch = f'<input type="checkbox" aria-label="Enlarge: {caption}">'
        image = f'<label>{switch}<img src="{source}" alt="{caption}"></label>'
        return f"<figure{kind}>{image}<figcaption>{caption}</figcaption></figure>"


Block = Heading | Lead | Paragraph | ShellCommand | Picture | ResultTable


@dataclass(frozen=True)
class Report:
    """A title and the blocks below it."""

    title: str
    blocks: Sequence[Block]

    def write(self, directory: Path) -> None:
        """Write the page and the Markdown document."""
        write_whole(directory / MARKDOWN, self._markdown().encode())
        write_whole(directory / HTML, self._html().encode())

    def _markdown(self) -> str:
        parts = [f"# {_escaped(self.title)}\n"]
        for block in self.blocks:
            shown = _escaped_table(block) if isinstance(block, ResultTable) else block
            parts.append(shown.markdown())
        return "\n".join(parts)

    def _html(self) -> str:
        body = "\n".join(
            _html_table(block) if isinstance(block, ResultTable) else block.html()
            for block in self.blocks
        )
        title = escape(self.title)
        return (
            f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f"<title>{title}</title>\n"
            f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style>\n'
            f"</head>\n<body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
        )


def _escaped(text: str) -> str:
    """Text on one line that Markdown shows as it is; tables escape bars, which matter there."""
    return _MARKUP.sub(r"\1\\", " ".join(text.split()))


def _escaped_table(table: ResultTable) -> ResultTable:
    """The table with cells that Markdown shows as they are; what is bold stays bold."""
    header, *rows = (tuple(map(_escaped, row)) for row in (table.header, *table.rows))
    title = _escaped(table.title)
    note = _escaped(table.note)
    return replace(table, title=title, header=header, rows=tuple(rows), note=note)


def _html_table(table: ResultTable) -> str:
    """The table as HTML, with columns of numbers aligned to the right."""
    kinds = []
    for column in range(len(table.header)):
        is_number = all(row[column][:1] in _NUMBER for row in table.rows)
        kinds.append(' class="number"' if is_number else "")
    head = [
        f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, table.header, strict=True)
    ]
    rows = []
    for number, row in enumerate(table.rows):
        cells = []
        for column, cell in enumerate(row):
            text = escape(cell).replace(" ± ", "&nbsp;±&nbsp;")
            if (number, column) in table.bold:
                text = f"<b>{text}</b>"
            cells.append(f"<td{kinds[column]}>{text}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    body = "\n".join(rows)
    note = f'\n<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f"<table><caption>{escape(table.title)}</caption>\n"
        f"<thead><tr>{''.join(head)}</tr></thead>\n<tbody>{body}</tbody></table>{note}"
    )
