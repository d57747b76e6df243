"""Reports: text, tables and pictures in order, as a page for a browser and as Markdown."""

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from mimetypes import guess_type
from pathlib import Path
from urllib.parse import quote

from cochef.evaluation.tables import Table
from cochef.files import write_whole

HTML, MARKDOWN = "report.html", "report.md"

_NUMBER = "+-0123456789"  # how cells of numbers begin
_MARKUP = re.compile(
    r"(?=[\\`*_\[\]<>#&~$@])"
    r"|(?=://\S*\.)|(?<=www)(?=\.)"  # addresses, which some readers of Markdown make links
    r"|^(\d*)(?=[-+.)][\s-])"  # lists and rules
)
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
table { display: block; overflow-x: auto; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #8886; text-align: left; vertical-align: top; }
th { vertical-align: bottom; }
.number { text-align: right; }
img { max-width: 100%; height: auto; }
figure { display: inline-block; width: min(100%, 29rem); vertical-align: top; margin: 1rem .5rem 1rem 0; }
.embedded { width: auto; }
figcaption { opacity: .8; }
code { background: #8882; padding: .1rem .3rem; border-radius: .2rem; }
"""


@dataclass(frozen=True)
class Heading:
    """The title of what follows."""

    text: str

    def markdown(self) -> str:
        """For a document."""
        return f"## {_escaped(self.text)}\n"

    def html(self) -> str:
        """For a browser."""
        return f"<h2>{escape(self.text)}</h2>"


@dataclass(frozen=True)
class Paragraph:
    """Some sentences."""

    text: str

    def markdown(self) -> str:
        """For a document."""
        return f"{_escaped(self.text)}\n"

    def html(self) -> str:
        """For a browser."""
        return f"<p>{escape(self.text)}</p>"


@dataclass(frozen=True)
class Command:
    """Something to type in a terminal."""

    text: str

    def markdown(self) -> str:
        """For a document."""
        return f"    {self.text}\n"

    def html(self) -> str:
        """For a browser."""
        return f"<p><code>{escape(self.text)}</code></p>"


@dataclass(frozen=True)
class Picture:
    """A picture in the report's directory; given its content, the page holds it and needs no file."""

    file: str
    caption: str
    content: bytes = b""

    def markdown(self) -> str:
        """For a document."""
        words = _escaped(self.caption)
        return f"![{words}]({quote(self.file)})\n\n{words}\n"

    def html(self) -> str:
        """For a browser."""
        source, words, kind = quote(self.file), escape(self.caption), ""
        if self.content:
            source = f"data:{guess_type(self.file)[0]};base64,{b64encode(self.content).decode()}"
            kind = ' class="embedded"'
        return f'<figure{kind}><img src="{source}" alt="{words}"><figcaption>{words}</figcaption></figure>'


Block = Heading | Paragraph | Command | Picture | Table


@dataclass(frozen=True)
class Report:
    """A title and what follows."""

    title: str
    blocks: Sequence[Block]

    def write(self, directory: Path) -> None:
        """Write the page and the document."""
        parts = [(_inert(block) if isinstance(block, Table) else block).markdown() for block in self.blocks]
        write_whole(directory / MARKDOWN, "\n".join([f"# {_escaped(self.title)}\n", *parts]).encode())
        body = "\n".join(_table(block) if isinstance(block, Table) else block.html() for block in self.blocks)
        title = escape(self.title)
        page = (
            f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
            f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style>\n</head>\n'
            f"<body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
        )
        write_whole(directory / HTML, page.encode())


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line; bars matter only in tables, which escape them."""
    return _MARKUP.sub(r"\1\\", " ".join(text.split()))


def _inert(table: Table) -> Table:
    """The table with cells that Markdown shows as they are; what is bold stays bold."""
    header, *rows = (tuple(map(_escaped, row)) for row in (table.header, *table.rows))
    return replace(table, title=_escaped(table.title), header=header, rows=tuple(rows))


def _table(table: Table) -> str:
    """The table for a browser, with numbers on the right of their columns."""
    numbers = (all(row[c][:1] in _NUMBER for row in table.rows) for c in range(len(table.header)))
    kinds = [' class="number"' if number else "" for number in numbers]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, table.header, strict=True))
    rows = []
    for r, row in enumerate(table.rows):
        cells = (f"<b>{escape(cell)}</b>" if (r, c) in table.bold else escape(cell) for c, cell in enumerate(row))
        body = "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, cells, strict=True))
        rows.append(f"<tr>{body}</tr>")
    title, body = escape(table.title), "\n".join(rows)
    return f"<table><caption>{title}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
