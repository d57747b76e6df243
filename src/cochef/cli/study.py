"""`cochef study`: run a study with people, try it before, and look at what it found."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Column, Table

from cochef.errors import InputError
from cochef.files import claim_directory

PASSWORD = "COCHEF_PASSWORD"
DATABASE = "sqlite:///study.db"

StudyName = Annotated[str, tyro.conf.Positional]


def _installed() -> None:
    """Complain where the extra with the web parts is missing."""
    try:
        import fastapi  # noqa: F401
        import pyarrow  # noqa: F401
        import sqlalchemy  # noqa: F401
        import statsmodels  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as error:
        raise InputError(f"{error.name} is not installed; run: pip install 'cochef[study]'") from error


@dataclass
class Check:
    """Check a study file: its numbers, texts and kitchens, and that every agent can be loaded."""

    study: StudyName
    """A study file (.toml), or the name of one that ships: paper."""

    def run(self) -> int:
        """Check, and say what the study comes to."""
        _installed()
        from cochef.web import study

        found = study.get(self.study)
        agents, numbers = study.check_agents(found), found.numbers
        columns = (Column(name, overflow="fold") for name in ("kitchen", *found.agents))
        table = Table(*columns, title=found.title)
        for layout, loaded in found.layouts.items():
            table.add_row(layout, *loaded.values())
        console = Console(highlight=False, soft_wrap=True)
        console.print(table)
        seconds = found.games_each * numbers.game_ticks / numbers.ticks_per_second
        console.print(
            f"{len(found.layouts) * numbers.participants_per_layout} participants, {found.games_each} games each "
            f"({seconds / 60:.0f} minutes of playing); {agents} agents load; configuration "
            f"{found.configuration_hash[:12]}"
        )
        return 0


@dataclass
class Serve:
    """Run a study: serve its pages until Ctrl-C. A second start goes on where it was."""

    study: StudyName
    """A study file (.toml), or the name of one that ships: paper."""
    database: str = DATABASE
    """Where everything is stored: sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME."""
    host: str = "127.0.0.1"
    """The address to listen at; behind a proxy that speaks HTTPS, leave it as it is."""
    port: int = 8000
    """The port to listen at."""
    capacity: int = 64
    """How many people may play at the same time; more are asked to come back later."""
    open_door: bool = False
    """Let anybody in who opens the page without a link."""
    prolific: bool = False
    """Let anybody in who comes from Prolific, that is, with a PROLIFIC_PID that is not known yet."""
    set: tuple[str, ...] = ()
    """Change numbers of the study for a trial, such as game_ticks=40."""

    def run(self) -> int:
        """Serve. The experimenter's page is there when the environment has COCHEF_PASSWORD."""
        _installed()
        from cochef.web import server, study

        if not 1 <= self.capacity <= 1000:
            raise InputError(f"capacity {self.capacity}; allowed: 1 to 1000")
        found = study.with_numbers(study.get(self.study), self.set)
        study.check_agents(found)
        server.check_port(self.host, self.port)
        password = os.environ.get(PASSWORD) or None
        about = "/admin has the experimenter's page" if password else f"set {PASSWORD} for the experimenter's page"
        Console(highlight=False, soft_wrap=True).print(f"{found.title}: http://{self.host}:{self.port}/ ({about})")
        server.serve_study(
            found,
            self.database,
            host=self.host,
            port=self.port,
            password=password,
            capacity=self.capacity,
            open_door=self.open_door,
            prolific=self.prolific,
        )
        return 0


@dataclass
class Invite:
    """Make random links, each for one participant. A database that holds a study already keeps it as it is."""

    study: StudyName
    """A study file (.toml), or the name of one that ships: paper; for a database that holds none yet."""
    number: int = 1
    """How many."""
    address: str = "http://127.0.0.1:8000"
    """Where participants reach the server."""
    database: str = DATABASE
    """The study's database."""

    def run(self) -> int:
        """Print a link a line."""
        _installed()
        from cochef.web import study
        from cochef.web.store import Store, holds_study

        if not 1 <= self.number <= 10_000:
            raise InputError(f"number {self.number}; allowed: 1 to 10000")
        found = study.get(self.study)
        store = Store.existing(self.database) if holds_study(self.database) else Store.open(self.database, found)
        for link in store.invite(self.number):
            print(f"{self.address.rstrip('/')}/join/{link}")
        store.close()
        return 0


@dataclass
class Rehearse:
    """Let simulated participants take part in a study, quickly, and check all that was stored.

    Exit code 0: all is as it should be. 1: something is not, and is listed.
    """

    study: StudyName
    """A study file (.toml), or the name of one that ships: paper."""
    participants: int | None = None
    """How many; as many as the study wants if not given."""
    database: str = "sqlite:///rehearsal.db"
    """An empty database for the rehearsal; not that of the study."""
    real_time: bool = False
    """Play as long and as slowly as people would."""
    set: tuple[str, ...] = ()
    """Change numbers of the study, such as game_ticks=40."""

    def run(self) -> int:
        """Serve, take part, compare."""
        _installed()
        from cochef.web import rehearse, study
        from cochef.web.store import Store, holds_study

        numbers = (*(() if self.real_time else rehearse.QUICK), *self.set)
        found = study.with_numbers(study.get(self.study), numbers)
        wanted = len(found.layouts) * found.numbers.participants_per_layout
        number = wanted if self.participants is None else self.participants
        if not 1 <= number <= wanted:
            raise InputError(f"participants is {number}; this study takes 1 to {wanted}")
        if holds_study(self.database):
            raise InputError(f"{self.database} holds a study already; give an empty database for a rehearsal")
        console = Console(highlight=False, soft_wrap=True)
        with console.status("getting ready"):
            rehearse.practise(found)
        port = rehearse.free_port()
        with (
            rehearse.server(self.study, self.database, port, numbers, capacity=max(64, number)),
            console.status(f"{number} simulated participants take part"),
        ):
            diaries = asyncio.run(rehearse.take_part(f"http://127.0.0.1:{port}", found, number))
        store = Store.existing(self.database)
        with console.status("comparing"):
            problems = rehearse.problems(store, diaries)
        scores = [score for diary in diaries for score in diary.scores.values()]
        ticks = sum(len(shown) for diary in diaries for shown in diary.actions.values())
        store.close()
        for problem in problems:
            console.print(problem, markup=False)
        console.print(
            f"{number} participants, {len(scores)} games, mean score {sum(scores) / len(scores):.1f}, {ticks} ticks: "
            + (f"{len(problems)} problems" if problems else "balanced, complete, and every game replays to its score")
        )
        return 1 if problems else 0


@dataclass
class Analyse:
    """Report what a study found: preferences, scores, behaviour and comments, as HTML, Markdown, CSV and figures."""

    database: str = DATABASE
    """The study's database."""
    out: Path = Path("out/study")
    """Directory for the report."""

    def run(self) -> int:
        """Analyse and write."""
        _installed()
        from cochef.web import report
        from cochef.web.store import Store

        claim_directory(self.out)
        store = Store.existing(self.database)
        with Console(stderr=True).status("replaying and analysing"):
            names = report.write(store, self.out)
        store.close()
        Console(highlight=False, soft_wrap=True).print(
            f"{len(names)} files; read {self.out / 'report.html'}", markup=False
        )
        return 0


@dataclass
class Export:
    """Write all data of a study as CSV, Parquet and JSON lines, with a dictionary; nothing tells who people are."""

    database: str = DATABASE
    """The study's database."""
    out: Path = Path("out/study-data")
    """Directory for the files."""

    def run(self) -> int:
        """Export."""
        _installed()
        from cochef.web import export
        from cochef.web.store import Store

        claim_directory(self.out)
        store = Store.existing(self.database)
        names = export.write(store, self.out)
        store.close()
        Console(highlight=False, soft_wrap=True).print(f"{len(names)} files in {self.out}", markup=False)
        return 0


@dataclass
class Withdraw:
    """Delete everything that is stored about a participant."""

    participant: Annotated[int, tyro.conf.Positional]
    """The participant's number, as on the experimenter's page and in exports."""
    database: str = DATABASE
    """The study's database."""

    def run(self) -> int:
        """Delete."""
        _installed()
        from cochef.web.store import Store

        store = Store.existing(self.database)
        store.withdraw(self.participant)
        store.close()
        Console(highlight=False).print(f"nothing of participant {self.participant} is stored any more")
        return 0


@dataclass
class StudyCommand:
    """A study with people in the browser: check its file, rehearse it, run it, analyse it."""

    action: (
        Annotated[Check, tyro.conf.subcommand("check")]
        | Annotated[Serve, tyro.conf.subcommand("serve")]
        | Annotated[Invite, tyro.conf.subcommand("invite")]
        | Annotated[Rehearse, tyro.conf.subcommand("rehearse")]
        | Annotated[Analyse, tyro.conf.subcommand("analyse")]
        | Annotated[Export, tyro.conf.subcommand("export")]
        | Annotated[Withdraw, tyro.conf.subcommand("withdraw")]
    )

    def run(self) -> int:
        """Do what was asked."""
        return self.action.run()
