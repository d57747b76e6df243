"""The `cochef` command."""

import os
import sys
from typing import Annotated

import tyro
from rich.console import Console

from cochef.cli.bench import Bench
from cochef.cli.clone import Clone
from cochef.cli.doctor import Doctor
from cochef.cli.evaluate import Evaluate, ShowTable
from cochef.cli.human import Human
from cochef.cli.human_likeness import HumanLikeness
from cochef.cli.layouts import Layouts
from cochef.cli.partners import Partners
from cochef.cli.play import Play
from cochef.cli.pools import Pools
from cochef.cli.preferences import Preferences
from cochef.cli.replay import Replay
from cochef.cli.run import Run, Status
from cochef.cli.ship import Ship
from cochef.cli.study import StudyCommand
from cochef.cli.train import Train
from cochef.cli.watch import Watch
from cochef.errors import InputError
from cochef.runtime import keep_compiled_programs

Command = (
    Annotated[Layouts, tyro.conf.subcommand("layouts")]
    | Annotated[Watch, tyro.conf.subcommand("watch")]
    | Annotated[Replay, tyro.conf.subcommand("replay")]
    | Annotated[Partners, tyro.conf.subcommand("partners")]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | Annotated[ShowTable, tyro.conf.subcommand("table")]
    | Annotated[Human, tyro.conf.subcommand("human")]
    | Annotated[HumanLikeness, tyro.conf.subcommand("human-likeness")]
    | Annotated[Run, tyro.conf.subcommand("run")]
    | Annotated[Status, tyro.conf.subcommand("status")]
    | Annotated[Pools, tyro.conf.subcommand("pool")]
    | Annotated[Ship, tyro.conf.subcommand("ship")]
    | Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Clone, tyro.conf.subcommand("clone")]
    | Annotated[Preferences, tyro.conf.subcommand("preferences")]
    | Annotated[Play, tyro.conf.subcommand("play")]
    | Annotated[StudyCommand, tyro.conf.subcommand("study")]
    | Annotated[Bench, tyro.conf.subcommand("bench")]
    | Annotated[Doctor, tyro.conf.subcommand("doctor")]
)


def main() -> None:
    """Read the command line, run the command, and exit with its code: 0 done, 1 a difference found, 2 bad input."""
    keep_compiled_programs()
    try:
        command = tyro.cli(
            Command,  # pyright: ignore[reportArgumentType]
            prog="cochef",
            description="Train and measure kitchen agents that cooperate with people nobody trained them for.",
            config=(tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes),
        )
    except BrokenPipeError:  # whoever was reading the help, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    try:
        sys.exit(command.run())
    except InputError as error:
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        console.print("[bold red]error:[/]", end=" ")
        console.print(str(error), markup=False)
        sys.exit(2)
