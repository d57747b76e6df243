"""Agents by name: the one loader that every command uses.

random, stay                           the simplest
script:onion_placement                 a scripted person
human-proxy:LAYOUT, human-clone:LAYOUT a clone of people, from the test or the train half of the games
hsp:LAYOUT, fcp:LAYOUT                 an agent that a method made, as far as it ships
path/to/agent.safetensors              a trained agent; the ending may be left out

NAME@noise=0.1,idle=3                  does anything at random one time in ten; stays 3 steps before each action
0.3*NAME+0.7*NAME                      one of several, drawn for each episode
"""

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path

from cochef.agents import actor_critic, cloned, scripted, shipped, storage
from cochef.agents.agent import Agent, Random, Stay
from cochef.agents.modified import Mixture, Noisy, Slow
from cochef.errors import InputError, shown
from cochef.kitchen.layout import Layout

SIMPLE: dict[str, type[Agent]] = {"random": Random, "stay": Stay}
MAX_IDLE = 100

KINDS = {cloned.KIND: cloned.build, actor_critic.KIND: actor_critic.build}
_SCRIPT = "script:"
_HELP = "known: random, stay, script:NAME, KIND:LAYOUT (see `cochef partners`), or the path of an agent file"


@dataclass(frozen=True)
class _Part:
    """A name taken apart: how much it weighs in a mixture, whom it names, and how that one is changed."""

    weight: str | None
    name: str
    changes: str | None


def load(name: str, layout: Layout, *, greedy: bool = False) -> Agent:
    """The agent of this name, ready for this kitchen; a greedy one takes its likeliest action instead of sampling."""
    parts = _parts(name)
    agents = tuple(_modified(part, layout, greedy) for part in parts)
    if parts[0].weight is None:
        return agents[0]
    weights = [_number(part.weight or "", "a weight", 1e-6, 1e6) for part in parts]
    return Mixture(agents, tuple(weight / sum(weights) for weight in weights))


def files(name: str) -> list[Path]:
    """The files that are loaded for a name, as far as they are there; none for scripts and the simplest."""
    found = []
    for part in _parts(name):
        kind, _, layout = part.name.partition(":")
        path = shipped.path(kind, layout) if layout in _shipped(kind) else _file(part.name)
        found += [] if path is None else [path]
    return found


def checksums(name: str) -> list[str]:
    """What tells these files from others."""
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in files(name)]


def _parts(name: str) -> list[_Part]:
    name = name.strip()
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
    return _Part(weight, base, changes) if at and not _file(name) else _Part(weight, name, None)


def _modified(part: _Part, layout: Layout, greedy: bool) -> Agent:
    agent = _plain(part.name, layout, greedy)
    for change in () if part.changes is None else part.changes.split(","):
        key, _, value = change.partition("=")
        if key == "noise":
            agent = Noisy(agent, _number(value, "noise", 0.0, 1.0))
        elif key == "idle":
            idle = _number(value, "idle", 0.0, float(MAX_IDLE))
            if idle != int(idle):
                raise InputError(f"idle is {shown(value)}; it takes a whole number of steps")
            agent = Slow(agent, int(idle))
        else:
            raise InputError(f"unknown change {shown(change)} of an agent; allowed: noise=0..1, idle=0..{MAX_IDLE}")
    return agent


def _shipped(kind: str) -> tuple[str, ...]:
    return shipped.layouts_of(kind) if kind in shipped.KINDS else ()


def _plain(name: str, layout: Layout, greedy: bool) -> Agent:
    if name in SIMPLE:
        return SIMPLE[name]()
    if name.startswith(_SCRIPT):
        return scripted.script(name.removeprefix(_SCRIPT), layout)
    kind, _, where = name.partition(":")
    if kind in shipped.KINDS:
        return _from_file(shipped.find(kind, where), layout, greedy)
    path = _file(name) or (Path(name) if name.endswith(storage.SUFFIX) else None)
    if path:
        return _from_file(path, layout, greedy)
    raise InputError(f"unknown agent {shown(name)}; {_HELP}")


def _file(name: str) -> Path | None:
    """The file of this name, with or without its ending, if there is one."""
    for path in (Path(name), Path(name + storage.SUFFIX)):
        try:
            if path.is_file():
                return path
        except (OSError, ValueError):  # a name that no system allows
            continue
    return None


def _from_file(path: Path, layout: Layout, greedy: bool) -> Agent:
    card, tensors = storage.read(path)
    if card.kind not in KINDS:
        raise InputError(f"{path}: unknown kind of agent {shown(card.kind)}; known: {', '.join(KINDS)}")
    storage.check_kitchen(card, layout, path)
    return KINDS[card.kind](card, tensors, layout, path, greedy=greedy)


def _number(text: str, what: str, least: float, most: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        raise InputError(f"{what} is {shown(text)}; it takes a number from {least:g} to {most:g}")
    return number
