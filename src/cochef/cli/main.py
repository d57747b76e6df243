"""The `cochef` command."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Union

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cochef import interrupts
from cochef.cli import numbers
from cochef.cli.bench import BenchEnvironments, BenchKitchen, BenchPartners, BenchTraining
from cochef.cli.clone import CloneHumans
from cochef.cli.cluster import PlanCluster
from cochef.cli.coverage import ShowCoverage
from cochef.cli.doctor import Doctor
from cochef.cli.evaluate import Evaluate, ShowTables
from cochef.cli.exploitability import ShowExploitability
from cochef.cli.human import ConvertGames, ListGames
from cochef.cli.human_likeness import CompareHumanLikeness
from cochef.cli.layouts import CheckLayouts, ImportLayout, ListLayouts
from cochef.cli.output import log, print_error, print_line
from cochef.cli.partners import ListPartners
from cochef.cli.play import Play
from cochef.cli.pools import ListPools, MakePool, ShowPool, TrainWithPool
from cochef.cli.preferences import ShowPreferences
from cochef.cli.presets import ComparePresets
from cochef.cli.replay import ReplayEpisodes
from cochef.cli.reproduce import Reproduce
from cochef.cli.run import RunMethods, Status
from cochef.cli.ship import Ship
from cochef.cli.study import (
    AnalyseStudy,
    BackUpStudy,
    CheckStudy,
    ExportStudy,
    InviteParticipants,
    ListIdentities,
    NewStudy,
    PlanParticipants,
    RehearseStudy,
    ServeStudy,
    WithdrawParticipant,
)
from cochef.cli.train import Train
from cochef.cli.watch import Watch
from cochef.errors import InputError
from cochef.runtime import keep_compiled_programs
from cochef.validation import known

DESCRIPTION = (
    "Train and evaluate kitchen agents that cooperate with people nobody trained them for."
)


@dataclass(frozen=True)
class CommandGroup:
    """A command that only has subcommands; the default one runs where none is given."""

    description: str
    subcommands: Mapping[str, type]
    default: str | None = None


COMMANDS: Mapping[str, type | CommandGroup] = {
    "layouts": CommandGroup(
        "List, draw, check and import layouts.",
        {"list": ListLayouts, "check": CheckLayouts, "import": ImportLayout},
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
    "reproduce": Reproduce,
    "status": Status,
    "cluster-plan": PlanCluster,
    "pool": CommandGroup(
        "Look at pools of policies, make them, and train with them.",
        {
            "show": ShowPool,
            "list": ListPools,
            "make": MakePool,
            "train": TrainWithPool,
            "coverage": ShowCoverage,
        },
    ),
    "presets": ComparePresets,
    "ship": Ship,
    "train": Train,
    "clone": CloneHumans,
    "preferences": ShowPreferences,
    "exploitability": ShowExploitability,
    "play": Play,
    "study": CommandGroup(
        "A study with people in the browser: check its file, rehearse it, run it, analyse it.",
        {
            "new": NewStudy,
            "check": CheckStudy,
            "serve": ServeStudy,
            "invite": InviteParticipants,
            "rehearse": RehearseStudy,
            "analyse": AnalyseStudy,
            "export": ExportStudy,
            "backup": BackUpStudy,
            "power": PlanParticipants,
            "identities": ListIdentities,
            "withdraw": WithdrawParticipant,
        },
    ),
    "bench": CommandGroup(
        "Measure how fast things are.",
        {
            "kitchen": BenchKitchen,
            "environments": BenchEnvironments,
            "partners": BenchPartners,
            "training": BenchTraining,
        },
    ),
    "doctor": Doctor,
}


OPTIONS = ("-h", "--help", "--version", "--tyro-print-completion", "--tyro-write-completion")


SECTIONS: Mapping[str, Sequence[str]] = {
    "Play and watch": ("play", "watch", "replay", "layouts", "partners"),
    "Train": ("run", "status", "train", "pool", "clone", "presets", "cluster-plan"),
    "Measure": (
        *("evaluate", "table", "reproduce", "preferences", "exploitability"),
        *("human-likeness", "bench"),
    ),
    "Studies with people": ("study", "human"),
    "Maintenance": ("doctor", "ship"),
}


def main() -> None:
    """Read the command line, run the command, and exit with its code.

    0 means done, 1 that the command found a difference or a problem, 2 that the input is bad, 130
    that Ctrl-C ended it.
    """
    keep_compiled_programs()
    words = sys.argv[1:]
    try:
        if words[:1] in ([], ["-h"], ["--help"]):
            print_help()
            sys.exit(0 if words else 2)
        if words[0] == "--version":
            print(version())
            sys.exit(0)
        command = tyro.cli(
            _one_of(COMMANDS),
            args=completed(words),
            prog="cochef",
            description=DESCRIPTION,
            config=(tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes),
            registry=numbers.REGISTRY,
        )
        sys.exit(command.run())
    except InputError as error:
        print_error(error, stderr=True)
        sys.exit(2)
    except KeyboardInterrupt:  # out of a training, which has saved
        log(interrupts.sentence())
        sys.exit(interrupts.EXIT_CODE)
    except BrokenPipeError:  # whoever was reading, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def version() -> str:
    """The version, and the commit where it is known."""
    from cochef import __version__, provenance

    commit = provenance.commit()
    return f"cochef {__version__}" + (f" ({commit})" if commit else "")


def print_help() -> None:
    """Print all commands by what they are for, each with its first sentence."""
    print_line("usage: cochef COMMAND [OPTIONS]\n")
    print_line(f"{DESCRIPTION}\n")
    listed = {name for names in SECTIONS.values() for name in names}
    others = tuple(name for name in COMMANDS if name not in listed)
    console = Console(highlight=False)
    for section, names in {**SECTIONS, "More": others}.items():
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column()
        shown_names = [name for name in names if name in COMMANDS]
        for name in shown_names:
            table.add_row(f"  {name}", Text(_summary(COMMANDS[name])))
        if shown_names:
            console.print(f"[bold]{section}[/]")
            console.print(table)
            console.print()
    print_line("`cochef COMMAND --help` explains a command; `cochef --version` says which this is.")
    print_line("Completion of words by the shell: docs/commands.md.")


def _summary(command: type | CommandGroup) -> str:
    """The first sentence about a command, and the subcommands of a group."""
    if isinstance(command, CommandGroup):
        return f"{command.description} ({', '.join(command.subcommands)})"
    return (command.__doc__ or "").partition("\n")[0]


def completed(words: Sequence[str]) -> list[str]:
    """The words with a group's default subcommand where none is given.

    A command, subcommand or option before them that does not exist is an error.
    """
    first, *rest = words
    if first.startswith("-"):
        known(first, "option before a command", OPTIONS)
        return [*words]
    command = COMMANDS[known(first, "command", COMMANDS)]
    if not isinstance(command, CommandGroup):
        return [*words]
    if rest and not rest[0].startswith("-"):
        known(rest[0], f"{first} command", command.subcommands)
    elif command.default is not None and rest[:1] not in (["-h"], ["--help"]):
        return [first, command.default, *rest]
    return [*words]


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
