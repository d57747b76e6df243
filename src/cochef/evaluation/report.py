"""Reports: text, tables and pictures in order, as a page for a browser and as Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from cochef.evaluation.tables import Table
from cochef.files import write_whole

HTML, MARKDOWN = "report.html", "report.md"

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
table { display: block; overflow-x: auto; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #8886; text-align: right; }
th:first-child, td:first-child { text-align: left; }
img { max-width: 100%; height: auto; }
figure { display: inline-block; width: min(100%, 29rem); vertical-align: top; margin: 1rem .5rem 1rem 0; }
figcaption { opacity: .8; }
code { background: #8882; padding: .1rem .3rem; border-radius: .2rem; }
"""


@dataclass(frozen=True)
class Heading:
    """The title of what follows."""

    text: str

    def markdown(self) -> str:
        """For a document."""
        return f"## {self.text}\n"

    def html(self) -> str:
        """For a browser."""
        return f"<h2>{escape(self.text)}</h2>"


@dataclass(frozen=True)
class Paragraph:
    """Some sentences."""

    text: str

    def markdown(self) -> str:
        """For a document."""
        return f"{self.text}\n"

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
    """A picture in the report's directory."""

    file: str
    caption: str

    def markdown(self) -> str:
        """For a document."""
        return f"![{self.caption}]({self.file})\n\n{self.caption}\n"

    def html(self) -> str:
        """For a browser."""
        source, words = escape(self.file), escape(self.caption)
        return f'<figure><img src="{source}" alt="{words}"><figcaption>{words}</figcaption></figure>'


Block = Heading | Paragraph | Command | Picture | Table


@dataclass(frozen=True)
class Report:
    """A title and what follows."""

    title: str
    blocks: Sequence[Block]

    def write(self, directory: Path) -> None:
        """Write the page and the document."""
        parts = [block.markdown() for block in self.blocks]
        write_whole(directory / MARKDOWN, "\n".join([f"# {self.title}\n", *parts]).encode())
        body = "\n".join(_table(block) if isinstance(block, Table) else block.html() for block in self.blocks)
        title = escape(self.title)
        page = (
            f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
            f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style>\n</head>\n'
            f"<body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
        )
        write_whole(directory / HTML, page.encode())


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    rows = []
    for r, row in enumerate(table.rows):
        cells = (f"<b>{escape(cell)}</b>" if (r, c) in table.bold else escape(cell) for c, cell in enumerate(row))
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    title, body = escape(table.title), "\n".join(rows)
    return f"<table><caption>{title}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
