"""Agents by name: the one loader that every command uses.

random, stay                           the simplest agents
script:onion_placement                 a scripted person
human-proxy:LAYOUT, human-clone:LAYOUT a clone of people, by the test or train half of the games
human-2019:LAYOUT                      clones made as in 2019: one of five, drawn for each episode
human-2019:LAYOUT#3                    one of them: that of training seed 3
METHOD:LAYOUT                          an agent that a method trained, for layouts where one ships
path/to/agent.safetensors              a trained agent; the suffix may be left out
MODULE:FACTORY, FILE.py:FACTORY        an own agent, by code that is run to make it

NAME@noise=0.1,idle=3                  a random action with probability 0.1; 3 steps idle per action
0.3*NAME+0.7*NAME                      a mixture: one of several, drawn for each episode
"""

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path

from cochef.agents import actor_critic, cloned, hosting, own, scripted, shipped, storage
from cochef.agents.agent import Agent, Random, Stay
from cochef.agents.modified import MAX_IDLE, Mixture, Noisy, Slow
from cochef.errors import InputError, did_you_mean, shown
from cochef.kitchen.layout import Layout

SIMPLE: dict[str, type[Agent]] = {"random": Random, "stay": Stay}
KINDS = {
    cloned.KIND: cloned.build,
    cloned.KIND_2019: cloned.build_2019,
    actor_critic.KIND: actor_critic.build,
}

_SCRIPT = "script:"
_KNOWN = "known: random, stay, script:NAME, KIND:LAYOUT (see `cochef partners`)"
_HELP = f"{_KNOWN}, the path of an agent file, or MODULE:FACTORY for an own agent"
_HELP_WITHOUT_CODE = f"{_KNOWN}, or the path of an agent file"


@dataclass(frozen=True)
class _Part:
    """One agent of a name: its weight in a mixture, its own name, and its modifications.

    The number is that of a training seed, for files that hold several.
    """

    weight: str | None
    name: str
    number: str | None
    changes: str | None


def load(name: str, layout: Layout, *, greedy: bool = False, own_code: bool = False) -> Agent:
    """Load the agent of this name for a layout; a greedy one takes its likeliest action.

    With `own_code`, MODULE:FACTORY is imported and called. That runs code, so it is only for names
    that a person has just given, on the command line or in Python or in a study's file; names that
    come over the network or out of stored results are loaded without.
    """
    parts = _parts(name)
    agents = tuple(_modified(part, layout, greedy, own_code) for part in parts)
    if parts[0].weight is None:
        return agents[0]
    weights = [_parse_number(part.weight or "", "a weight", 1e-6, 1e6) for part in parts]
    return Mixture(agents, tuple(weight / sum(weights) for weight in weights))


def files(name: str) -> list[Path]:
    """The existing files that are loaded for a name; none for scripts and the simplest agents.

    For an own agent that has been loaded it is the file of its code.
    """
    found = []
    for part in _parts(name):
        kind, _, layout = part.name.partition(":")
        path = shipped.path(kind, layout) if _ships(kind, layout) else _file(part.name)
        path = path or own.code_file(part.name)
        if path is not None:
            found.append(path)
    return found


def file_of(name: str) -> Path | None:
    """The one agent file that a name loads unchanged; None for any other name."""
    (part, *others) = _parts(name)
    found = [] if runs_code(name) else files(name)
    if others or part.weight is not None or part.changes is not None or not found:
        return None
    return found[0]


def file_to_train(name: str) -> Path:
    """The agent file of a name that is to be trained further; one that is not there is refused."""
    kind, colon, layout = name.partition(":")
    if colon and kind in shipped.kinds() and not _file(name):
        return shipped.find(kind, layout)
    return file_of(name) or Path(f"{name}{storage.SUFFIX}")  # reading it says what is wrong


def card_of(name: str) -> storage.Card | None:
    """The card of the one agent file that a name loads unchanged; None for any other name."""
    file = file_of(name)
    return None if file is None else storage.read(file)[0]


def runs_code(name: str) -> bool:
    """Whether loading a name would run code: whether it holds MODULE:FACTORY."""
    return any(_is_code(part.name) for part in _parts(name))


def checksums(name: str) -> list[str]:
    """Checksums of the files that are loaded for a name."""
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in files(name)]


def _parts(name: str) -> list[_Part]:
    name = name.strip()
    # An existing path is an agent, whatever signs of the grammar it holds.
    if _file(name) or not {"+", "*"} & set(name):
        return [_part(None, name)]
    found = []
    for part in name.split("+"):
        weight, star, own = part.partition("*")
        if not star:
            raise InputError(f"{shown(part)} has no weight; a mixture is 0.3*NAME+0.7*NAME")
        found.append(_part(weight, own.strip()))
    return found


def _part(weight: str | None, name: str) -> _Part:
    base, at, changes = name.rpartition("@")
    if not at or _file(name):
        base, changes = name, None
    kind, hash_sign, number = base.rpartition("#")
    if not hash_sign or _file(base):
        kind, number = base, None
    return _Part(weight, kind, number, changes)


def _modified(part: _Part, layout: Layout, greedy: bool, own_code: bool) -> Agent:
    agent = _unmodified(part.name, layout, greedy, own_code)
    if part.number is not None:
        agent = _of_seed(agent, part.name, part.number)
    changes = [] if part.changes is None else part.changes.split(",")
    for change in changes:
        key, _, value = change.partition("=")
        if key == "noise":
            agent = Noisy(agent, _parse_number(value, "noise", 0.0, 1.0))
        elif key == "idle":
            idle = _parse_number(value, "idle", 0.0, float(MAX_IDLE))
            if idle != int(idle):
                raise InputError(f"idle is {shown(value)}; it takes a whole number of steps")
            if hosting.is_hosted(agent):
                raise InputError(f"idle of {part.name}; let an own agent wait by itself")
            agent = Slow(agent, int(idle))
        else:
            allowed = f"noise=0..1, idle=0..{MAX_IDLE}"
            raise InputError(f"unknown change {shown(change)} of an agent; allowed: {allowed}")
    return agent


def _of_seed(agent: Agent, name: str, number: str) -> Agent:
    """The agent of one training seed, of a file that holds several."""
    if not isinstance(agent, Mixture):
        raise InputError(f"{shown(name)} is one agent; it takes no #{number}")
    known = [str(seed) for seed in range(len(agent.agents))]
    if number not in known:
        raise InputError(f"{shown(name)} has no #{number}; there are: {', '.join(known)}")
    return agent.agents[int(number)]


def _ships(kind: str, layout: str) -> bool:
    return kind in shipped.kinds() and layout in shipped.layouts_of(kind)


def _unmodified(name: str, layout: Layout, greedy: bool, own_code: bool) -> Agent:
    if name in SIMPLE:
        return SIMPLE[name]()
    if name.startswith(_SCRIPT):
        return scripted.script(name.removeprefix(_SCRIPT), layout)
    kind, _, trained_for = name.partition(":")
    if kind in shipped.kinds():
        return _from_file(shipped.find(kind, trained_for), layout, greedy)
    path = _file(name)
    if path is None and name.endswith(storage.SUFFIX):
        path = Path(name)  # does not exist: reading it says so
    if path is not None:
        return _from_file(path, layout, greedy)
    if _is_code(name):
        return _from_code(name, layout, greedy, own_code)
    known = _HELP if own_code else _HELP_WITHOUT_CODE
    raise InputError(f"unknown agent {shown(name)}; {did_you_mean(name, _known())}{known}")


def _from_code(name: str, layout: Layout, greedy: bool, own_code: bool) -> Agent:
    hint = did_you_mean(name, _known())
    if not own_code:
        raise InputError(
            f"{shown(name)} names code, which is not run from here; {hint}{_HELP_WITHOUT_CODE}"
        )
    try:
        return own.load_code(name, layout, greedy=greedy)
    except hosting.AgentError as error:
        if hint and isinstance(error.__cause__, ModuleNotFoundError):  # a slip in a known name
            raise InputError(f"unknown agent {shown(name)}; {hint}{_HELP}") from None
        raise


def _known() -> list[str]:
    """The names of all agents that ship."""
    scripts = [f"{_SCRIPT}{name}" for name in scripted.SCRIPTS]
    shipped_names = []
    for kind in shipped.kinds():
        shipped_names += [f"{kind}:{layout}" for layout in shipped.layouts_of(kind)]
    return [*SIMPLE, *scripts, *shipped_names]


def _is_code(name: str) -> bool:
    kind, _, _ = name.partition(":")
    known = kind in (_SCRIPT.removesuffix(":"), *shipped.kinds())
    return not known and _file(name) is None and own.names_code(name)


def _file(name: str) -> Path | None:
    """The existing file of this name, with or without its suffix."""
    for path in (Path(name), Path(name + storage.SUFFIX)):
        try:
            if path.is_file():
                return path
        except (OSError, ValueError):  # a name that no file system allows
            continue
    return None


def _from_file(path: Path, layout: Layout, greedy: bool) -> Agent:
    card, tensors = storage.read(path)
    if card.kind not in KINDS:
        known = ", ".join(KINDS)
        raise InputError(f"{path}: unknown kind of agent {shown(card.kind)}; known: {known}")
    storage.check_layout(card, layout, path)
    return KINDS[card.kind](card, tensors, layout, path, greedy=greedy)


def _parse_number(text: str, name: str, least: float, most: float) -> float:
    """A number of a name; errors show the text as it was written."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        raise InputError(f"{name} is {shown(text)}; it takes a number from {least:g} to {most:g}")
    return number
