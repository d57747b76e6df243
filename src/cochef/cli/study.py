"""`cochef study`: run a study with people, try it before, and look at what it found."""

import asyncio
import ipaddress
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console

from cochef import interrupts
from cochef.cli.output import JsonOption, print_json, print_line, print_rows
from cochef.cli.play import MAX_CAPACITY
from cochef.errors import InputError, missing_extra
from cochef.files import claim_directory
from cochef.runtime import compute_in_calling_thread
from cochef.validation import whole_number

if TYPE_CHECKING:
    from cochef.web.store import StudyStore
    from cochef.web.study import Study

PASSWORD = "COCHEF_PASSWORD"
DATABASE = "sqlite:///study.db"

MAX_INVITATIONS = 10_000

StudyName = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(help="A study file (.toml), or the name of one that ships: paper."),
]
StudyDatabase = Annotated[str, tyro.conf.arg(help="The study's database.")]


def _installed() -> None:
    """Complain where the extra with the web parts is missing."""
    try:
        import fastapi  # noqa: F401
        import pyarrow  # noqa: F401
        import sqlalchemy  # noqa: F401
        import statsmodels  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as error:
        raise InputError(missing_extra(error.name, "study")) from error


def _show_stand_ins(study: "Study") -> None:
    """Say which agents stand in for those of a method."""
    from cochef.web import stand_ins

    for one in stand_ins.find(study.layouts):
        print_line(f"stand-in: {one.described}")


@dataclass
class NewStudy:
    """Write the study of the paper into a new file, to be changed into your own."""

    file: Annotated[Path, tyro.conf.Positional]
    """The file to write, such as mine.toml."""

    def run(self) -> int:
        """Write, unless the file is there."""
        _installed()
        from cochef.web import study

        try:
            with self.file.open("x", encoding="utf-8") as file:
                file.write(study.template())
        except OSError as error:
            raise InputError(f"{self.file} cannot be written ({error}); give another") from error
        print_line(f"{self.file}: fill in who is to be contacted, then try `cochef study check`")
        return 0


@dataclass
class CheckStudy:
    """Check a study file: its numbers, texts and layouts, and that every agent can be loaded."""

    study: StudyName
    json: JsonOption = False

    def run(self) -> int:
        """Check, and say what the study comes to."""
        _installed()
        from cochef.web import stand_ins, study

        found = study.get(self.study)
        study.check_contact(found)
        agents = study.check_agents(found)
        numbers = found.numbers
        rows = []
        for layout, loaded in found.layouts.items():
            rows.append({"layout": layout, **loaded})
        if self.json:
            standing_in = [asdict(one) for one in stand_ins.find(found.layouts)]
            print_json({"layouts": rows, "stand_ins": standing_in})
            return 0
        print_rows(rows, found.title, whole=("layout",))
        participants = len(found.layouts) * numbers.participants_per_layout
        seconds = found.games_each * numbers.game_ticks / numbers.ticks_per_second
        print_line(
            f"{participants} participants, {found.games_each} games each "
            f"({seconds / 60:.0f} minutes of playing); {agents} agents load; "
            f"configuration {found.configuration_hash[:12]}"
        )
        _show_stand_ins(found)
        return 0


@dataclass
class ServeStudy:
    """Run a study: serve its pages until Ctrl-C. A study that was stopped can be continued."""

    study: StudyName
    database: str = DATABASE
    """Where everything is stored: sqlite:///FILE or
    postgresql+psycopg://USER:PASSWORD@HOST/NAME."""
    host: str = "127.0.0.1"
    """The address to listen at; behind a proxy that speaks HTTPS, leave it as it is."""
    port: int = 8000
    """The port to listen at."""
    capacity: int = 64
    """How many people may play at the same time; more are asked to come back later."""
    open_door: bool = False
    """Let anybody in who opens the page without a link."""
    prolific: bool = False
    """Let anybody in who comes from Prolific, with a PROLIFIC_PID that is not known yet."""
    trusted_proxy: tuple[str, ...] = ()
    """Addresses of proxies in front, such as 127.0.0.1: what they say of clients is believed."""
    simulated: bool = False
    """Mark all data as those of simulated participants, as a rehearsal does."""
    set: tuple[str, ...] = ()
    """Change numbers of the study for a trial, such as game_ticks=40."""

    def run(self) -> int:
        """Serve. The experimenter's page is there when the environment has COCHEF_PASSWORD."""
        _installed()
        from cochef.web import server, study
        from cochef.web.store import StudyStore

        whole_number(self.capacity, "capacity", 1, MAX_CAPACITY)
        for proxy in self.trusted_proxy:
            _check_address(proxy)
        found = study.with_numbers(study.get(self.study), self.set)
        if not self.simulated:
            study.check_contact(found)
        study.check_agents(found)
        server.check_port(self.host, self.port)
        password = os.environ.get(PASSWORD) or None
        if password:
            admin = "/admin has the experimenter's page"
        else:
            admin = f"set {PASSWORD} for the experimenter's page"
        print_line(f"{found.title}: http://{self.host}:{self.port}/ ({admin})")
        _show_stand_ins(found)
        compute_in_calling_thread()
        with closing(StudyStore.open(self.database, found, simulated=self.simulated)) as store:
            server.serve_study(
                store,
                host=self.host,
                port=self.port,
                password=password,
                capacity=self.capacity,
                open_door=self.open_door,
                prolific=self.prolific,
                proxies=self.trusted_proxy,
            )
        print_line("stopped; everything is stored, and the same command goes on with the study")
        return interrupts.EXIT_CODE


def _check_address(text: str) -> None:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        raise InputError(
            f"trusted proxy {text!r}; it takes an address such as 127.0.0.1 or ::1"
        ) from None


@dataclass
class InviteParticipants:
    """Make random links, each for one participant.

    A database that holds a study already keeps it as it is; an empty one gets this study.
    """

    study: StudyName
    number: int = 1
    """How many."""
    address: str = "http://127.0.0.1:8000"
    """Where participants reach the server."""
    database: StudyDatabase = DATABASE

    def run(self) -> int:
        """Print a link a line."""
        _installed()
        from cochef.web import study
        from cochef.web.store import StudyStore, holds_study

        whole_number(self.number, "number", 1, MAX_INVITATIONS)
        found = study.get(self.study)
        if holds_study(self.database):
            store = StudyStore.existing(self.database)
        else:
            store = StudyStore.open(self.database, found)
        for link in store.invite(self.number):
            print(f"{self.address.rstrip('/')}/join/{link}")
        store.close()
        return 0


@dataclass
class RehearseStudy:
    """Let simulated participants take part in a study, quickly, and check all that was stored.

    Exit code 0: all is as it should be. 1: something is not, and is listed.
    """

    study: StudyName
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
        from cochef.web.store import StudyStore, holds_study

        numbers = self.set if self.real_time else (*rehearse.QUICK, *self.set)
        found = study.with_numbers(study.get(self.study), numbers)
        wanted = len(found.layouts) * found.numbers.participants_per_layout
        number = wanted if self.participants is None else self.participants
        whole_number(number, "participants", 1, wanted)
        if holds_study(self.database):
            raise InputError(
                f"{self.database} holds a study already; give an empty database for a rehearsal"
            )
        console = Console(highlight=False, soft_wrap=True)
        with console.status("getting ready"):
            rehearse.compile_bots(found)
        port = rehearse.free_port()
        with (
            rehearse.server(self.study, self.database, port, numbers, capacity=max(64, number)),
            console.status(f"{number} simulated participants take part"),
        ):
            transcripts = asyncio.run(rehearse.take_part(f"http://127.0.0.1:{port}", found, number))
        store = StudyStore.existing(self.database)
        with console.status("comparing"):
            problems = rehearse.problems(store, transcripts)
        scores = [score for transcript in transcripts for score in transcript.scores.values()]
        ticks = sum(
            len(shown) for transcript in transcripts for shown in transcript.actions.values()
        )
        store.close()
        for problem in problems:
            print_line(problem)
        mean = sum(scores) / len(scores)
        verdict = "balanced, complete, and every game replays to its score"
        if problems:
            verdict = f"{len(problems)} problems"
        print_line(
            f"{number} participants, {len(scores)} games, mean score {mean:.1f}, "
            f"{ticks} ticks: {verdict}"
        )
        return 1 if problems else 0


@dataclass
class AnalyseStudy:
    """Report what a study found: preferences, scores, behaviour and comments.

    The report comes as HTML, Markdown, CSV and figures.
    """

    database: StudyDatabase = DATABASE
    out: Path = Path("out/study")
    """Directory for the report."""

    def run(self) -> int:
        """Analyse and write."""
        _installed()
        from cochef.web import report

        with Console(stderr=True).status("replaying and analysing"):
            files = _write_files(report.write, self.database, self.out)
        print_line(f"{files} files; read {self.out / 'report.html'}")
        return 0


@dataclass
class ExportStudy:
    """Write all data of a study as CSV, Parquet and JSON lines, with a dictionary.

    Nothing in it tells who people are.
    """

    database: StudyDatabase = DATABASE
    out: Path = Path("out/study-data")
    """Directory for the files."""

    def run(self) -> int:
        """Export."""
        _installed()
        from cochef.web import export

        files = _write_files(export.write, self.database, self.out)
        print_line(f"{files} files in {self.out}")
        return 0


def _write_files(
    write: "Callable[[StudyStore, Path], Sequence[str]]", database: str, out: Path
) -> int:
    """Write files about a study, print what to beware of, and count the files."""
    from cochef.web.caveats import caveats
    from cochef.web.store import StudyStore

    claim_directory(out)
    store = StudyStore.existing(database)
    names = write(store, out)
    for caveat in caveats(store):
        print_line(caveat)
    store.close()
    return len(names)


@dataclass
class BackUpStudy:
    """Copy a study's database, which may be in use, to one file that only you can read.

    The copy is an SQLite database of the same study: serve, analyse and export read it.
    """

    database: StudyDatabase = DATABASE
    out: Path = Path("study-backup.db")
    """The new file."""

    def run(self) -> int:
        """Copy and check."""
        _installed()
        from cochef.web.store import StudyStore

        store = StudyStore.existing(self.database)
        store.back_up(self.out)
        store.close()
        copy = StudyStore.existing(f"sqlite:///{self.out}")
        people = len(copy.participants())
        games = sum(1 for _ in copy.games())
        copy.close()
        print_line(f"{people} participants and {games} games are in {self.out}")
        return 0


@dataclass
class ListIdentities:
    """Write who participants are outside, with their numbers and completion codes, as CSV.

    For payment, and to find whose data to delete. Keep the file apart from the data.
    """

    database: StudyDatabase = DATABASE
    out: Path = Path("identities.csv")
    """A new file; only its owner can read it."""

    def run(self) -> int:
        """Write."""
        _installed()
        from cochef.web import identities
        from cochef.web.store import StudyStore

        with closing(StudyStore.existing(self.database)) as store:
            identities.write(store, self.out)
        print_line(f"{self.out}: links and identifiers, whose they are, and completion codes")
        return 0


@dataclass
class PlanParticipants:
    """How many participants a study needs: its power, by simulation from a rehearsal's games.

    Supposes that one agent is better than all others, and counts how often the report finds it
    better than another one (p below 0.05 by Holm's method). Draws people of whom the study's own
    exclusion rules leave out no game; rankings are drawn from a model, not from the rehearsal.
    """

    database: StudyDatabase = "sqlite:///rehearsal.db"
    people: tuple[int, ...] = (4, 8, 12, 16, 24, 32)
    """Numbers of participants on each layout to try."""
    difference: float = 10.0
    """How much higher the agent scores, in percent of the mean score."""
    above: float = 0.65
    """The probability that a person ranks the agent above another one."""
    simulations: int = 500
    """Simulated studies for each number of participants."""
    seed: int = 0
    """Seed of the simulations."""
    json: JsonOption = False

    def run(self) -> int:
        """Simulate, and print a table."""
        _installed()
        from cochef.web import analysis, power
        from cochef.web.store import StudyStore

        suppositions = power.Suppositions(
            self.difference / 100, self.above, self.simulations, self.seed
        )
        with closing(StudyStore.existing(self.database)) as store:
            games = analysis.kept(analysis.game_columns(store))
            agents = store.study.agents
        found = power.study_power(agents, games, self.people, suppositions)
        rows = []
        for row in found:
            shares = {
                "power, scores": row.scores,
                "power, rankings": row.rankings,
                "false alarms, scores": row.false_scores,
                "false alarms, rankings": row.false_rankings,
            }
            rows.append({"people a layout": row.people, **shares})
        formats = dict.fromkeys(list(rows[0])[1:], ".0%") if rows else {}
        print_rows(rows, as_json=self.json, formats=formats)
        return 0


@dataclass
class WithdrawParticipant:
    """Delete everything that is stored about a participant."""

    participant: Annotated[int, tyro.conf.Positional]
    """The participant's number, as on the experimenter's page and in exports."""
    database: StudyDatabase = DATABASE

    def run(self) -> int:
        """Delete."""
        _installed()
        from cochef.web.store import StudyStore

        store = StudyStore.existing(self.database)
        store.withdraw(self.participant)
        store.close()
        print_line(f"nothing of participant {self.participant} is stored any more")
        return 0
