"""The page about the architecture names every module, and its walks go through code that exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "cochef"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
TREE = PAGE.partition("```\nsrc/cochef/\n")[2].partition("```")[0]
# A package begins a line of the tree, which its modules follow; modules outside of packages do too.
SECTIONS = re.findall(r"^  (?! )(\w+)(/?)((?:.*\n)(?:   .*\n)*)", TREE, re.MULTILINE)
PACKAGES = {name: text for name, slash, text in SECTIONS if slash}
WALKS = re.findall(r"^\| `([\w/]+\.\w+): ([\w.]+)`", PAGE, re.MULTILINE)


def modules(package):
    return {path.name for path in (PACKAGE / package).rglob("*.py")} - {"__init__.py"}


def named(text):
    return set(re.findall(r"\w+\.py\b", text)) - {"__init__.py"}


def test_every_package_is_in_the_tree():
    found = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert PACKAGES.keys() == found


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_stands_with_its_package_and_nothing_else_does(package):
    assert named(PACKAGES[package]) == modules(package)


def test_every_module_outside_of_packages_is_in_the_tree():
    outside = TREE
    for text in PACKAGES.values():
        outside = outside.replace(text, "\n")
    assert named(outside) == {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"}


@pytest.mark.parametrize(("file", "name"), WALKS)
def test_the_walks_go_through_functions_that_exist(file, name):
    if file.endswith(".js"):
        source = (PACKAGE / "web" / file).read_text("utf-8")
        assert re.search(rf"function {name}\b", source)
        return
    body = ast.parse((PACKAGE / file).read_text("utf-8")).body
    for part in name.split("."):
        body = next(node.body for node in body if getattr(node, "name", None) == part)


METHODS = (ROOT / "docs" / "methods.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("module", "name"), sorted(set(re.findall(r"`(\w+)\.((?!py`)\w+)`", METHODS)))
)
def test_the_page_about_methods_names_code_that_exists(module, name):
    if module[0].islower():
        files = list(PACKAGE.rglob(f"{module}.py"))
        assert any(re.search(rf"\b{name}\b", file.read_text("utf-8")) for file in files)
    else:
        sources = [file.read_text("utf-8") for file in PACKAGE.rglob("*.py")]
        owners = [source for source in sources if re.search(rf"^class {module}\b", source, re.M)]
        assert any(re.search(rf"\b{name}\b", source) for source in owners)
