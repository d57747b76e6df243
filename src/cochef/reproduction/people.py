"""What involves people: their games beside their proxies', and the study."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cochef.agents.names import checksums
from cochef.errors import InputError, missing_extra
from cochef.evaluation import human_likeness, plots
from cochef.evaluation.human_likeness import Likeness, Shares
from cochef.experiments.jobs import Job, JobContext
from cochef.experiments.presets import PRESETS
from cochef.kitchen.constants import SEATS
from cochef.reproduction.declared import ONION_LAYOUTS, Experiment, Goal, Setting, Stored
from cochef.reproduction.page import Page
from cochef.reproduction.stages import LIKENESS, CompareLikeness, write_json
from cochef.reproduction.study_page import AGENTS, PEOPLE, SIMULATED, STUDY, show_study

if TYPE_CHECKING:
    from cochef.web.study import Study

_PAPER_STUDY = "paper"
_QUICKEST = (
    "repeats=2",  # enough games that nobody is left out
    "ticks_per_second=60",
    "game_ticks=80",
    "warmup_ticks=20",
    "warmup_ticks_least=20",
    "tutorial_ticks=20",
)
_DATABASE = "rehearsal.db"


@dataclass(frozen=True)
class SimulateStudy:
    """Rehearse the paper's study: simulated participants take part in it on a real server."""

    participants_per_layout: int
    numbers: tuple[str, ...]
    """Changes to the numbers of the study, which make it shorter."""
    kind: str = "study"
    version: int = 1

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings, and who plays."""
        try:
            from cochef.web import study  # noqa: PLC0415  (an extra)
        except ImportError as error:
            raise InputError(missing_extra(error.name, "study")) from error
        found = study.get(_PAPER_STUDY)
        return {
            "study": found.name,
            AGENTS: agents_of(found),
            "participants_per_layout": self.participants_per_layout,
            "numbers": list(self.numbers),
        }

    @property
    def all_numbers(self) -> tuple[str, ...]:
        """All changes to the numbers of the study."""
        from cochef.web import rehearse  # noqa: PLC0415  (an extra)

        per_layout = f"participants_per_layout={self.participants_per_layout}"
        return (*rehearse.QUICK, *self.numbers, per_layout)

    @property
    def study(self) -> "Study":
        """The study that is rehearsed; an error if it does not allow these numbers."""
        from cochef.web import study  # noqa: PLC0415  (an extra)

        return study.with_numbers(study.get(_PAPER_STUDY), self.all_numbers)

    def run(self, context: JobContext) -> None:
        """Start a server, let everybody take part, and analyse what it stored."""
        from cochef.web import rehearse  # noqa: PLC0415  (an extra)
        from cochef.web.store import StudyStore  # noqa: PLC0415

        numbers = self.all_numbers
        found = self.study
        people = len(found.layouts) * self.participants_per_layout
        path = context.directory / _DATABASE
        for left in context.directory.glob(f"{_DATABASE}*"):
            left.unlink()  # by an attempt that was interrupted
        database = f"sqlite:///{path.resolve()}"
        rehearse.compile_bots(found)
        port = rehearse.free_port()
        with rehearse.server(_PAPER_STUDY, database, port, numbers, capacity=max(64, people)):
            address = f"http://127.0.0.1:{port}"
            transcripts = asyncio.run(rehearse.take_part(address, found, people))
        store = StudyStore.existing(database)
        try:
            problems = rehearse.problems(store, transcripts)
            if problems:
                raise InputError(f"the rehearsal failed: {problems[0]}")
            write_json(context.directory / STUDY, analysed(store, simulated=True))
        finally:
            store.close()


@dataclass(frozen=True)
class ReadStudy:
    """Analyse what a study with people has stored so far."""

    database: str = field(repr=False)
    """Its URL, which may hold a password: no other machine is told, and no message shows it."""
    games: int
    """How many games it holds, so that new ones are a new result."""
    agents: Mapping[str, list[str]] = field(default_factory=dict)
    """Who played under which label in a layout, with the checksums of files."""
    kind: str = "study"
    version: int = 2
    on_driver: bool = True

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings; of the database its name alone."""
        from sqlalchemy import make_url  # noqa: PLC0415  (an extra)

        name = Path(make_url(self.database).database or "").name
        return {"database": name, "games": self.games, AGENTS: dict(self.agents)}

    def run(self, context: JobContext) -> None:
        """Read and analyse."""
        from cochef.web.store import StudyStore  # noqa: PLC0415  (an extra)

        store = StudyStore.existing(self.database)
        try:
            write_json(context.directory / STUDY, analysed(store, simulated=False))
        finally:
            store.close()


def agents_of(study: "Study") -> dict[str, list[str]]:
    """Who plays under which label in a layout, with the checksums of files."""
    return {
        f"{layout}: {label}": [name, *checksums(name)]
        for layout, named in study.layouts.items()
        for label, name in named.items()
    }


def analysed(store: Any, *, simulated: bool) -> dict[str, Any]:  # noqa: ANN401
    """Preferences of participants, and every game that counts."""
    from cochef.web import analysis  # noqa: PLC0415  (an extra)

    agents = list(store.study.agents)
    ranked = analysis.rankings(store)
    games = analysis.kept(analysis.game_columns(store))
    return {
        "simulated": simulated,
        "agents": agents,
        "preferences": [asdict(one) for one in analysis.preferences(agents, ranked)],
        "games": {name: column.tolist() for name, column in games.items()},
    }


def likeness(setting: Setting) -> Iterator[Goal]:
    """How people and both kinds of models of them divide the work."""
    episodes = PRESETS[setting.preset].episodes
    for model in human_likeness.MODELS:
        compare = CompareLikeness(setting.layout, model, episodes, setting.seed)
        yield Goal(model, Job(compare, f"{model}-{setting.layout.name}"))


def study(setting: Setting) -> Iterator[Goal]:
    """The study: of the people in a database if one is given, else of simulated participants."""
    if setting.study is not None:
        from cochef.web.store import StudyStore  # noqa: PLC0415  (an extra)

        store = StudyStore.existing(setting.study)
        games = sum(1 for _ in store.games())
        read = ReadStudy(setting.study, games, agents_of(store.study))
        store.close()
        yield Goal(PEOPLE, Job(read, PEOPLE))
        return
    tiny = PRESETS[setting.preset].scale == "tiny"
    rehearsal = SimulateStudy(1, _QUICKEST) if tiny else SimulateStudy(12, ())
    yield Goal(SIMULATED, Job(rehearsal, "simulated"))


def show_likeness(stored: Stored) -> Page:
    """Figure 8."""
    page = Page()
    page.say(
        "How two players divide the work: each game gives every player's share of the placements "
        "into pots and of the deliveries. Triangles are people, points a model of them with "
        "itself: human-proxy is our clone, human-2019 those of the recipe of 2019."
    )
    found = []
    marked = []
    shown = []
    for layout in stored.among(ONION_LAYOUTS):
        for model in human_likeness.MODELS:
            results = stored.results.select("likeness", model, layout)
            if not results:
                page.say_not_run(f"{model} in {layout}")
            shown += results
            for result in results:
                table = result.json(LIKENESS)
                shares = [_shares(table[who]) for who in ("people", "models")]
                found.append(Likeness(layout, model, *shares))
                marked.append(Likeness(layout, f"{model}{stored.marks([result])}", *shares))
    if found:
        caption = f"People and their models{stored.marks(shown)}"
        page.figure("likeness", plots.human_likeness(found), caption)
        page.table("likeness", human_likeness.table(marked))
        shares = {
            model: np.concatenate([_own_cooking(one.models) for one in found if one.model == model])
            for model in dict.fromkeys(one.model for one in found)
        }
        shares["people"] = np.concatenate([_own_cooking(one.people) for one in found])
        page.finding = "Spread of the share of cooking that the first player did: " + ", ".join(
            f"{who} {own.std():.2f}" for who, own in shares.items()
        )
    return page


def _own_cooking(shares: Shares) -> np.ndarray:
    """The first player's share of the cooking in every game."""
    return shares.cooking[:, 0]


def _shares(table: Mapping[str, Any]) -> Shares:
    cooking = np.array(table["cooking"], float).reshape(-1, SEATS)
    delivery = np.array(table["delivery"], float).reshape(-1, SEATS)
    return Shares(cooking, delivery, int(table["without"]))


HUMAN_LIKENESS = Experiment(
    name="human-likeness",
    title="Players and human models",
    paper=("Figure 8",),
    goals=likeness,
    show=show_likeness,
    layouts=ONION_LAYOUTS,
    populations=False,
)

HUMAN_STUDY = Experiment(
    name="study",
    title="The study with people",
    paper=("Figure 5", "Figure 6", "Table 3", "Table 4", "Figure 9", "Table 24"),
    goals=study,
    show=show_study,
    layouts=(),
    populations=False,
)
