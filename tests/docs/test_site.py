"""The site builds without a warning, stands alone, and leaves out nothing of the program."""

import re
from html.parser import HTMLParser
from pathlib import Path

import cochef
from cochef.cli.main import COMMANDS, CommandGroup

ROOT = Path(__file__).parents[2]


class _Loaded(HTMLParser):
    """Everything that a browser loads when it opens a page."""

    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "link" and given.get("rel") in ("canonical", "next", "prev"):
            return
        if tag in ("script", "img", "iframe", "source", "video"):
            self.addresses.append(given.get("src") or "")
        if tag == "link":
            self.addresses.append(given.get("href") or "")


def test_pages_load_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        loaded = _Loaded()
        loaded.feed(page.read_text())
        foreign = [one for one in loaded.addresses if re.match(r"(https?:)?//", one)]
        assert not foreign, page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", sheet.read_text()), sheet


def test_every_command_has_its_place_in_the_reference(site):
    text = "".join(page.read_text() for page in (site / "reference" / "commands").glob("*.html"))
    for name, command in COMMANDS.items():
        subcommands = command.subcommands if isinstance(command, CommandGroup) else [""]
        for subcommand in subcommands:
            identifier = "-".join(["cochef", name, subcommand]).strip("-")
            assert f'id="{identifier}"' in text


def test_every_public_name_is_in_the_reference(site):
    text = (site / "reference" / "python.html").read_text()
    for name in set(cochef.__all__) - {"__version__"}:
        assert re.search(rf'id="cochef\.([\w.]*\.)?{name}"', text), name


def test_nobody_is_told_to_install_cochef_from_a_package_index():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    from_index = re.compile(r"""pip install ['"]?cochef""")
    assert not [page for page in pages if from_index.search(page.read_text())]


def test_pages_that_the_program_names_exist():
    for path in (ROOT / "src").rglob("*.py"):
        for named in re.findall(r"\bdocs/[\w/.-]*\.md", path.read_text()):
            if not named.startswith("docs/results/"):  # written by `cochef reproduce`
                assert (ROOT / named).exists(), f"{path} names {named}"
