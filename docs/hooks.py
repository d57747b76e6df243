"""Pages of the site that are made when it is built, so that nothing is written twice.

The front page is the README; CONTRIBUTING and CHANGELOG become pages; the reference of the command
line is made of the program's own help; the notebook is shown with its outputs; pages that
`cochef reproduce` wrote join the navigation.
"""

import contextlib
import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tyro
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from cochef.cli import main, numbers

ROOT = Path(__file__).parents[1]
FROM_ROOT = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "index.md": "README.md",
}
COMMANDS = "reference/commands"
NOTEBOOK = "tutorials/first_steps.ipynb"
# A link to a file outside of docs, which the site does not have: its text is shown instead.
_TO_SOURCE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:src|tests|cluster|locks)/[^)]*\)")
# A figure is wide; where the screen is not, it is opened by itself.
_FIGURE = re.compile(r"!\[[^\]]*\]\(([\w-]+\.png)\)")
_LINKED = re.compile(r"\]\(([\w-]+/\w+\.md)\)")
_TITLE = re.compile(r"^ \w.*\n -+ *$", re.MULTILINE)
_ENTRY = re.compile(r"^  (?=\S)", re.MULTILINE)
_SEVERAL = re.compile(r"\[(\S+) \[\S+ \.\.\.\]\]")
_NO_DEFAULT = re.compile(r" \(default: (None|False)?\)")
_NEGATION = re.compile(r", --no-\S+")
_GAP = re.compile(r"\s*\n|\s{2,}")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put pages into the navigation that are made here, or that are there only after a run."""
    nav: list[dict[str, Any]] = config.nav or []
    sections = {title: f"{COMMANDS}/{_file_name(title)}" for title in main.SECTIONS}
    commands = [{title: path} for title, path in sections.items()]
    _section(nav, "Reference")[0] = {"The command line": [{"Manners": "commands.md"}, *commands]}
    _section(nav, "Project").extend(
        [{"Contributing": "contributing.md"}, {"Changelog": "changelog.md"}]
    )
    index = Path(config.docs_dir) / "results" / "index.md"
    if index.exists():
        linked = dict.fromkeys(_LINKED.findall(index.read_text()))  # in the paper's order
        _section(nav, "Results")[:0] = [f"results/{page}" for page in ("index.md", *linked)]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    made = {name: _from_root(ROOT / source) for name, source in FROM_ROOT.items()}
    made["index.md"] = "---\nhide: [navigation, toc]\n---\n\n" + made["index.md"]
    notebook = Path(config.docs_dir) / NOTEBOOK
    made[NOTEBOOK.replace(".ipynb", ".md")] = "\n".join(_notebook_page(notebook))
    for title, names in main.SECTIONS.items():
        made[f"{COMMANDS}/{_file_name(title)}"] = _commands_page(title, names)
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Lead links to files outside of docs to their pages; the site has no source code."""
    to_docs = "../" * page.file.src_uri.count("/")
    for name, source in FROM_ROOT.items():
        markdown = markdown.replace(f"](../{to_docs}{source})", f"]({to_docs}{name})")
    if page.file.src_uri.startswith("results/"):
        markdown = _FIGURE.sub(r"[\g<0>](\1)", markdown)
    return _TO_SOURCE.sub(r"`\1`", markdown)


def _section(nav: list[dict[str, Any]], title: str) -> list[Any]:
    return next(entry[title] for entry in nav if title in entry)


def _file_name(title: str) -> str:
    return title.lower().replace(" ", "_") + ".md"


def _from_root(path: Path) -> str:
    """A file of the repository's root, with links as they are from docs."""
    text = path.read_text()
    text = re.sub(r'(\]\(|src=")docs/', r"\1", text)
    for name, source in FROM_ROOT.items():
        text = text.replace(f"]({source})", f"]({name})")
    return re.sub(r"\[([^\]]+)\]\((?:NOTICES\.md|CITATION\.cff|LICENSE)\)", r"\1", text)


def _notebook_page(path: Path) -> Iterator[str]:
    """A notebook with the outputs that it was stored with."""
    for number, cell in enumerate(json.loads(path.read_text())["cells"]):
        text = "".join(cell["source"])
        yield f"{text}\n" if cell["cell_type"] == "markdown" else f"```python\n{text}\n```\n"
        if number == 0:
            yield f"[Download the notebook]({path.name}).\n"
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                yield f"![output](data:image/png;base64,{''.join(data['image/png']).strip()})\n"
            elif shown := "".join(output.get("text") or data.get("text/plain") or ""):
                yield f"```text\n{shown.rstrip()}\n```\n"


def _commands_page(title: str, names: Sequence[str]) -> str:
    parts = [f"# {title}\n", "Made from the program's own `--help`.\n"]
    for name in names:
        for words, command in _commands(name):
            parts.append(f"## cochef {words}\n")
            parts.extend(_help(words, command))
    return "\n".join(parts)


def _commands(name: str) -> Iterator[tuple[str, type]]:
    """A command, or the subcommands of a group."""
    command = main.COMMANDS[name]
    if not isinstance(command, main.CommandGroup):
        yield name, command
        return
    for subcommand, kind in command.subcommands.items():
        yield f"{name} {subcommand}", kind


def _help(words: str, command: type) -> Iterator[str]:
    """What `--help` says: usage, what the command does, and a list of arguments."""
    usage, _, rest = _help_text(words, command).partition("\n\n")
    yield f"```text\n{usage}\n```\n"
    about, *tables = _TITLE.split(rest)
    yield about
    for table in tables:
        for name, text in _arguments(table):
            yield f"`{name}`\n:   {text}\n"


def _help_text(words: str, command: type) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        tyro.cli(
            command,
            args=["--help"],
            prog=f"cochef {words}",
            config=(tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes),
            registry=numbers.REGISTRY,
        )
    return printed.getvalue()


def _arguments(table: str) -> Iterator[tuple[str, str]]:
    """Names and meanings from a table of the help; a name is indented by two blanks."""
    for entry in _ENTRY.split(table)[1:]:
        name, text = _GAP.split(entry, maxsplit=1)
        if not name.startswith("-h,"):
            yield _plain(name), _NO_DEFAULT.sub("", " ".join(text.split()))


def _plain(name: str) -> str:
    """An argument without what only says that it may be left out or given several times."""
    alone = _NEGATION.sub("", name.replace("{None}|", ""))
    return _SEVERAL.sub(r"\1 ...", alone)
