"""A study is one TOML file: who plays with whom, where, how often, what people read and are asked.

`studies/paper.toml`, the study of the paper, shows every key. Agents have two names: a label, by
which the analysis knows them on every layout, and what is loaded there (see `cochef partners`).
Participants never see either.
"""

import dataclasses
import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from cochef.agents import names
from cochef.errors import InputError, shown
from cochef.files import read_limited
from cochef.kitchen import layouts
from cochef.kitchen.constants import SEATS
from cochef.validation import one_of, truth
from cochef.web import layout_names, stand_ins
from cochef.web.study_numbers import Exclusions, Numbers, checked_table, limited_table

MAX_FILE_BYTES = 256 * 1024
MAX_TEXT = 20_000
MAX_AGENTS = 8
MAX_QUESTIONS = 20
KINDS = ("choice", "number", "text")

_SIMPLE = (
    "name",
    "title",
    "contact",
    "tutorial_layout",
    "completion_code",
    "prolific_id_form",
)
# Scores of games are compared only where these are the same.
_NUMBERS_OF_GAMES = ("repeats", "game_ticks", "ticks_per_second", "agent_acts_once_in")
_TABLES = ("agents", "comment_questions", "numbers", "exclusions", "texts", "questions", "layouts")
_KEYS = (*_SIMPLE, "stand_in", *_TABLES)


@dataclass(frozen=True)
class Texts:
    """What people read; an empty line begins a new paragraph."""

    consent: str
    instructions: str
    tutorial: str
    warmup: str
    ranking: str
    games: str
    thanks: str
    declined: str
    full: str


@dataclass(frozen=True)
class Question:
    """A question, which may be declined."""

    id: str
    text: str
    kind: str  # choice, number or text
    options: tuple[str, ...] = ()  # of a choice
    least: int = 0  # of a whole number
    most: int = 0


@dataclass(frozen=True)
class Study:
    """A checked study."""

    name: str
    title: str
    agents: tuple[str, ...]  # labels
    layouts: Mapping[str, Mapping[str, str]]  # layout -> label -> the name that is loaded
    texts: Texts
    numbers: Numbers = field(default_factory=Numbers)
    questions: tuple[Question, ...] = ()
    comment_questions: tuple[str, ...] = ()
    tutorial_layout: str = "cramped_room"
    completion_code: str = ""  # empty: everybody gets a code of their own
    contact: str = ""
    prolific_id_form: str = "[0-9A-Za-z]{1,64}"  # a regular expression
    stand_in: bool = False  # whether labels may name methods that did not make the agents
    exclusions: Exclusions = field(default_factory=Exclusions)

    def __post_init__(self) -> None:
        """Refuse rules that would leave everybody out."""
        least = self.exclusions.games_least
        if least is not None and least > self.games_each:
            raise InputError(
                f"exclusions.games_least is {least}; everybody plays {self.games_each} games"
            )

    @property
    def games_each(self) -> int:
        """How many games count for each participant."""
        return len(self.agents) * SEATS * self.numbers.repeats

    @cached_property
    def configuration(self) -> dict[str, Any]:
        """Everything that a game depends on: the study, its layouts, checksums of agent files."""
        played = (*self.layouts, self.tutorial_layout)
        return {
            "study": dataclasses.asdict(self),
            "layouts": {name: layouts.to_toml(layouts.get(name)) for name in played},
            "agent_files": self.agent_files,
            "stand_ins": [vars(one) for one in stand_ins.find(self.layouts)],
        }

    @cached_property
    def agent_files(self) -> dict[str, list[str]]:
        """Checksums of the files that an agent's name loads, by name."""
        loaded = sorted({name for agents in self.layouts.values() for name in agents.values()})
        sums = {name: names.checksums(name) for name in loaded}
        return {name: found for name, found in sums.items() if found}

    @cached_property
    def configuration_text(self) -> str:
        """The configuration as JSON; the same for the same study."""
        return json.dumps(self.configuration, sort_keys=True, ensure_ascii=False)

    @cached_property
    def configuration_hash(self) -> str:
        """The checksum by which stored games name their configuration."""
        return hashlib.sha256(self.configuration_text.encode()).hexdigest()

    @cached_property
    def design_hash(self) -> str:
        """A checksum of what must not change once somebody has joined.

        That is agents, layouts, number, length and pace of games, questions, and what the analysis
        leaves out. Agents are what their files hold, questions what can be answered; the words of a
        question may change.
        """
        unworded = [dataclasses.replace(question, text="") for question in self.questions]
        design = {
            "name": self.name,
            "agents": self.agents,
            "loaded": {layout: dict(agents) for layout, agents in self.layouts.items()},
            "agent_files": self.agent_files,
            "layouts": {name: layouts.get(name).fingerprint for name in self.layouts},
            **{name: getattr(self.numbers, name) for name in _NUMBERS_OF_GAMES},
            "questions": [dataclasses.asdict(question) for question in unworded],
            "comment_questions": self.comment_questions,
            "exclusions": dataclasses.asdict(self.exclusions),
        }
        return hashlib.sha256(json.dumps(design, sort_keys=True).encode()).hexdigest()


def read(path: Path) -> Study:
    """The study in a file, checked; agents are not loaded yet."""
    content = read_limited(path, MAX_FILE_BYTES, "a study file")
    try:
        return parse(content.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: byte {error.start} is not UTF-8 text; save the file as UTF-8"
        ) from error


def shipped(name: str = "paper") -> Study:
    """A study that ships with the package."""
    files = [path.name for path in _studies().iterdir()]
    found = sorted(file.removesuffix(".toml") for file in files if file.endswith(".toml"))
    if name not in found:
        raise InputError(
            f"no study {name!r} ships; there are: {', '.join(found)}, "
            "or give the path of a .toml file"
        )
    return parse(template(name), name)


def get(name: str) -> Study:
    """The study in the file at this path, or the shipped one of this name."""
    return read(Path(name)) if name.endswith(".toml") else shipped(name)


def parse(text: str, place: str) -> Study:
    """The study in a text, checked; errors begin with `place`."""
    try:
        return _checked(tomllib.loads(text))
    except InputError as error:
        raise InputError(f"{place}: {error}") from None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise InputError(f"{place}: not a TOML file: {error}") from error


def with_numbers(study: Study, changes: Sequence[str]) -> Study:
    """The study with some numbers changed, each by a text such as game_ticks=40."""
    table = dataclasses.asdict(study.numbers)
    for change in changes:
        key, _, value = change.partition("=")
        try:
            table[key] = int(value) if value.lstrip("-").isdecimal() else float(value)
        except ValueError:
            raise InputError(
                f"{shown(change)} changes nothing; give NAME=NUMBER, such as game_ticks=40"
            ) from None
    return dataclasses.replace(study, numbers=_numbers(table))


def from_configuration(configuration: Mapping[str, Any]) -> Study:
    """The study in a stored configuration."""
    stored = configuration["study"]
    restored = {
        "texts": Texts(**stored["texts"]),
        "numbers": Numbers(**stored["numbers"]),
        "exclusions": Exclusions(**stored["exclusions"]),
        "questions": tuple(
            Question(**{**question, "options": tuple(question["options"])})
            for question in stored["questions"]
        ),
        "agents": tuple(stored["agents"]),
        "comment_questions": tuple(stored["comment_questions"]),
    }
    return Study(**{**stored, **restored})


def own_code_of(study: Study) -> list[str]:
    """The own agents of a study, MODULE:FACTORY; whoever wrote its file lets their code be run."""
    loaded = [agent for agents in study.layouts.values() for agent in agents.values()]
    return [agent for agent in loaded if names.runs_code(agent)]


def check_agents(study: Study) -> int:
    """Load every agent on its layout; how many there are.

    Refuses one that cannot be loaded, and one under the name of a method that did not make it,
    unless the study says that it has stand-ins.
    """
    for name, agents in study.layouts.items():
        for label, agent in agents.items():
            try:
                names.load(agent, layouts.get(name), own_code=True)
            except InputError as error:
                raise InputError(f"agent {label!r} in {name}: {error}") from None
    found = stand_ins.find(study.layouts)
    if found and not study.stand_in:
        raise InputError(
            f"{found[0].described}; give an agent of that method, another label, or, for a trial, "
            "stand_in = true"
        )
    return sum(len(agents) for agents in study.layouts.values())


def check_contact(study: Study) -> None:
    """Refuse a study that does not say whom participants can ask."""
    if not study.contact:
        raise InputError(
            "contact is empty; say who answers participants' questions and deletes their data, "
            'such as contact = "Ada Lovelace, ada@example.org"'
        )


def template(name: str = "paper") -> str:
    """The text of a study that ships, to begin a study of one's own with."""
    return (_studies() / f"{name}.toml").read_text("utf-8")


def _studies() -> Any:  # noqa: ANN401  (importlib's Traversable)
    return resources.files("cochef.web") / "studies"


def _checked(content: Mapping[str, Any]) -> Study:
    table = checked_table(content, _KEYS, "the study")
    labels = _lines(table.get("agents"), "agents", 2, MAX_AGENTS, longest=40)
    if len(set(labels)) < len(labels):
        raise InputError(f"agents is {shown(list(labels))}; every label once")
    simple = {key: _line(table[key], key) for key in _SIMPLE if key in table}
    _check_form(simple.get("prolific_id_form", Study.prolific_id_form))
    missing = {"name", "title"} - simple.keys()
    if missing:
        raise InputError(f"no {min(missing)}; a study has a name and a title")
    found = _layouts(table.get("layouts"), labels)
    layout_names.distinct([*found, simple.get("tutorial_layout", Study.tutorial_layout)])
    return Study(
        agents=labels,
        layouts=found,
        texts=_texts(table.get("texts", {})),
        numbers=_numbers(table.get("numbers", {})),
        exclusions=Exclusions(**limited_table(table.get("exclusions", {}), Exclusions)),
        stand_in=truth(table.get("stand_in", False), "stand_in"),
        questions=_questions(table.get("questions", [])),
        comment_questions=_lines(
            table.get("comment_questions", []), "comment_questions", 0, MAX_QUESTIONS
        ),
        **simple,
    )


def _check_form(form: str) -> None:
    try:
        re.compile(form)
    except re.error as error:
        raise InputError(
            f"prolific_id_form is {shown(form)} ({error}); it takes a regular expression"
        ) from None


def _line(text: object, name: str, longest: int = 500) -> str:
    if not isinstance(text, str) or len(text) > longest or not text.isprintable():
        raise InputError(
            f"{name} is {shown(text)}; it takes one line of text of at most {longest} characters"
        )
    return text.strip()


def _lines(texts: object, name: str, least: int, most: int, longest: int = 500) -> tuple[str, ...]:
    if not isinstance(texts, list) or not least <= len(texts) <= most:
        raise InputError(f"{name} is {shown(texts)}; it takes a list of {least} to {most} texts")
    lines = tuple(_line(text, f"one of {name}", longest) for text in texts)
    if not all(lines):
        raise InputError(f"one of {name} is empty; give it some text")
    return lines


def _layouts(value: object, labels: tuple[str, ...]) -> dict[str, dict[str, str]]:
    if not isinstance(value, Mapping) or not value:
        raise InputError(
            'no layouts; add [layouts.counter_circuit] and a line LABEL = "NAME" for each agent'
        )
    found = {}
    for layout, loaded in value.items():
        agents = checked_table(loaded, labels, f"layouts.{layout}")
        missing = [label for label in labels if label not in agents]
        if missing:
            raise InputError(
                f"layouts.{layout} has no agent {missing[0]!r}; "
                f"it takes one for each of {', '.join(labels)}"
            )
        found[layout] = {
            label: _line(agents[label], f"layouts.{layout}.{label}") for label in labels
        }
    return found


def _texts(value: object) -> Texts:
    allowed = [text.name for text in dataclasses.fields(Texts)]
    texts = checked_table(value, allowed, "texts")
    for key in allowed:
        text = texts.get(key)
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT:
            raise InputError(
                f"texts.{key} is {shown(text)}; it takes a text of at most {MAX_TEXT} characters"
            )
    return Texts(**{key: texts[key].strip() for key in allowed})


def _numbers(value: object) -> Numbers:
    found = Numbers(**limited_table(value, Numbers))
    if found.warmup_ticks_least > found.warmup_ticks:
        raise InputError(
            f"numbers.warmup_ticks_least is {found.warmup_ticks_least}; "
            f"a free game has only {found.warmup_ticks} ticks (warmup_ticks)"
        )
    return found


def _questions(tables: object) -> tuple[Question, ...]:
    if not isinstance(tables, list) or len(tables) > MAX_QUESTIONS:
        raise InputError(
            f"questions is {shown(tables)}; it takes up to {MAX_QUESTIONS} tables [[questions]]"
        )
    found = tuple(_question(table) for table in tables)
    if len({question.id for question in found}) < len(found):
        raise InputError("two questions have the same id; every id once")
    return found


def _question(value: object) -> Question:
    allowed = [part.name for part in dataclasses.fields(Question)]
    table = checked_table(value, allowed, "a question")
    ident = _line(table.get("id"), "a question's id", 40)
    if not ident.isidentifier():
        raise InputError(f"a question's id is {ident!r}; it takes letters, digits and _")
    text = _line(table.get("text"), f"the text of question {ident!r}")
    match one_of(table.get("kind"), f"the kind of question {ident!r}", KINDS):
        case "choice":
            options = _lines(table.get("options"), f"options of question {ident!r}", 2, 30)
            return Question(ident, text, "choice", options)
        case "number":
            least = table.get("least", 0)
            most = table.get("most", 1_000_000)
            if type(least) is not int or type(most) is not int or least > most:
                raise InputError(
                    f"question {ident!r} takes from {shown(least)} to {shown(most)}; "
                    "give whole numbers in order"
                )
            return Question(ident, text, "number", least=least, most=most)
        case kind:
            return Question(ident, text, kind)
