"""The `cochef` command."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union

import tyro

from cochef.cli.bench import BenchKitchen, BenchPartners, BenchTraining
from cochef.cli.clone import CloneHumans
from cochef.cli.doctor import Doctor
from cochef.cli.evaluate import Evaluate, ShowTables
from cochef.cli.human import ConvertGames, ListGames
from cochef.cli.human_likeness import CompareHumanLikeness
from cochef.cli.layouts import CheckLayouts, ListLayouts
from cochef.cli.output import print_error
from cochef.cli.partners import ListPartners
from cochef.cli.play import Play
from cochef.cli.pools import ListPools, MergePools, ShowPool, TrainWithPool
from cochef.cli.preferences import ShowPreferences
from cochef.cli.replay import ReplayEpisodes
from cochef.cli.run import RunMethods, Status
from cochef.cli.ship import Ship
from cochef.cli.study import (
    AnalyseStudy,
    CheckStudy,
    ExportStudy,
    InviteParticipants,
    RehearseStudy,
    ServeStudy,
    WithdrawParticipant,
)
from cochef.cli.train import Train
from cochef.cli.watch import Watch
from cochef.errors import InputError
from cochef.runtime import keep_compiled_programs


@dataclass(frozen=True)
class CommandGroup:
    """A command that only has subcommands; the default one runs where none is given."""

    description: str
    subcommands: Mapping[str, type]
    default: str | None = None


COMMANDS: Mapping[str, type | CommandGroup] = {
    "layouts": CommandGroup(
        "List, draw and check layouts.",
        {"list": ListLayouts, "check": CheckLayouts},
        default="list",
    ),
    "watch": Watch,
    "replay": ReplayEpisodes,
    "partners": ListPartners,
    "evaluate": Evaluate,
    "table": ShowTables,
    "human": CommandGroup(
        "The games that people played together: list those that ship, or convert them anew.",
        {"list": ListGames, "convert": ConvertGames},
        default="list",
    ),
    "human-likeness": CompareHumanLikeness,
    "run": RunMethods,
    "status": Status,
    "pool": CommandGroup(
        "Look at pools of policies, merge them, and train with them.",
        {"show": ShowPool, "list": ListPools, "merge": MergePools, "train": TrainWithPool},
    ),
    "ship": Ship,
    "train": Train,
    "clone": CloneHumans,
    "preferences": ShowPreferences,
    "play": Play,
    "study": CommandGroup(
        "A study with people in the browser: check its file, rehearse it, run it, analyse it.",
        {
            "check": CheckStudy,
            "serve": ServeStudy,
            "invite": InviteParticipants,
            "rehearse": RehearseStudy,
            "analyse": AnalyseStudy,
            "export": ExportStudy,
            "withdraw": WithdrawParticipant,
        },
    ),
    "bench": CommandGroup(
        "Measure how fast things are.",
        {"kitchen": BenchKitchen, "partners": BenchPartners, "training": BenchTraining},
    ),
    "doctor": Doctor,
}


def main() -> None:
    """Read the command line, run the command, and exit with its code.

    0 means done, 1 that the command found a difference or a problem, 2 that the input is bad.
    """
    keep_compiled_programs()
    try:
        command = tyro.cli(
            _one_of(COMMANDS),
            prog="cochef",
            description="Train and evaluate kitchen agents that cooperate with people "
            "nobody trained them for.",
            config=(tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes),
        )
    except BrokenPipeError:  # whoever was reading the help, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    try:
        sys.exit(command.run())
    except InputError as error:
        print_error(error, stderr=True)
        sys.exit(2)


def _one_of(commands: Mapping[str, type | CommandGroup]) -> Any:  # noqa: ANN401
    """The type of any of these commands, as tyro reads it."""
    members = tuple(_subcommand(name, command) for name, command in commands.items())
    return Union[members]  # noqa: UP007


def _subcommand(name: str, command: type | CommandGroup) -> Any:  # noqa: ANN401
    if not isinstance(command, CommandGroup):
        return Annotated[command, tyro.conf.subcommand(name)]
    settings: dict[str, Any] = {"description": command.description}
    if command.default is not None:
        settings["default"] = command.subcommands[command.default]()
    return Annotated[_one_of(command.subcommands), tyro.conf.subcommand(name, **settings)]
