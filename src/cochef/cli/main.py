"""The `cochef` command."""

import sys
from typing import Annotated

import tyro
from rich.console import Console

from cochef.cli.layouts import Layouts
from cochef.errors import InputError

Command = Annotated[Layouts, tyro.conf.subcommand("layouts")]


def main() -> None:
    """Read the command line, run the command, and exit with its code: 0 done, 1 a difference found, 2 bad input."""
    command = tyro.cli(
        Command,
        prog="cochef",
        description="Kitchen agents that cooperate with people nobody trained them for.",
    )
    try:
        sys.exit(command.run())
    except InputError as error:
        Console(stderr=True).print(f"[bold red]error:[/] {error}", highlight=False, soft_wrap=True)
        sys.exit(2)
