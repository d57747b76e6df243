"""How commands print plain lines and errors, and write JSON files."""

import json
from pathlib import Path

from rich.console import Console

from cochef.errors import InputError
from cochef.files import write_whole


def print_line(text: str) -> None:
    """Print a line as it is: brackets are not markup, and long paths are not wrapped."""
    Console(highlight=False, soft_wrap=True).print(text, markup=False)


def print_error(error: InputError, *, stderr: bool = False) -> None:
    """Print what was wrong with the input."""
    console = Console(stderr=stderr, highlight=False, soft_wrap=True)
    console.print("[bold red]error:[/]", end=" ")
    console.print(str(error), markup=False)


def write_json(path: Path, content: object) -> None:
    """Write a file of indented JSON."""
    write_whole(path, (json.dumps(content, indent=1) + "\n").encode())
