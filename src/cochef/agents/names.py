"""Agents by name: the one loader that every command uses.

random, stay                           the simplest
script:onion_placement                 a scripted person
human-proxy:LAYOUT, human-clone:LAYOUT a clone of people, from the test or the train half of the games
hsp:LAYOUT, fcp:LAYOUT                 an agent that a method made, as far as it ships
path/to/agent.safetensors              a trained agent; the ending may be left out

NAME@noise=0.1,idle=3                  does anything at random one time in ten; stays 3 steps before each action
0.3*NAME+0.7*NAME                      one of several, drawn for each episode
"""

import math
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


def load(name: str, layout: Layout, *, greedy: bool = False) -> Agent:
    """The agent of this name, ready for this kitchen; a greedy one takes its likeliest action instead of sampling."""
    name = name.strip()
    if _file(name) or not {"+", "*"} & set(name):
        return _modified(name, layout, greedy)
    weighted = [_weighted(part, layout, greedy) for part in name.split("+")]
    total = sum(weight for weight, _ in weighted)
    return Mixture(tuple(agent for _, agent in weighted), tuple(weight / total for weight, _ in weighted))


def _weighted(part: str, layout: Layout, greedy: bool) -> tuple[float, Agent]:
    weight, star, name = part.partition("*")
    if not star:
        raise InputError(f"{shown(part)} has no weight; a mixture is 0.3*NAME+0.7*NAME")
    return _number(weight, "a weight", 1e-6, 1e6), _modified(name.strip(), layout, greedy)


def _modified(name: str, layout: Layout, greedy: bool) -> Agent:
    base, at, changes = name.rpartition("@")
    if not at or _file(name):
        return _plain(name, layout, greedy)
    agent = _plain(base, layout, greedy)
    for change in changes.split(","):
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
        except OSError:  # a name longer than the system allows
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
