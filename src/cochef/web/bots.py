"""Simulated participants: they go through a study over the same protocol as the page, and play by a script or a clone.

A bot keeps a diary of all that the server told it, so that a rehearsal can compare it with what was stored.
"""

import asyncio
import contextlib
import http.client
import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlsplit

import jax
from jaxtyping import Array, Int
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException
from websockets.typing import Origin

from cochef.agents import scripted, shipped
from cochef.agents.agent import Agent, Carry
from cochef.agents.names import load
from cochef.errors import InputError
from cochef.kitchen.constants import Action
from cochef.kitchen.layout import Layout
from cochef.kitchen.layouts import MAX_HORIZON, is_shipped
from cochef.kitchen.state import State, start
from cochef.kitchen.text import from_json

_FAVOURITES = ("onion_placement_and_delivery", "tomato_placement_and_delivery", "onion_placement")
_SLOW = 60.0  # seconds that a busy machine may take for an answer
_AGAIN = 0.2  # seconds until the server is tried again
_SIMPLE: dict[str, dict[str, Any]] = {  # what a participant does at stages that leave no choice
    "consent": {"type": "deed", "deed": "consent", "agrees": True},
    "instructions": {"type": "deed", "deed": "understood"},
    "tutorial": {"type": "start"},
    "games": {"type": "start"},
}


@dataclass
class Diary:
    """What a bot was told: the end of each game, the ticks known to be stored, and how long it was cut off."""

    name: str
    code: str = ""
    scores: dict[int, float] = field(default_factory=dict)
    stored: dict[int, int] = field(default_factory=dict)
    actions: dict[int, dict[int, list[int]]] = field(default_factory=dict)  # by game and tick, as they were shown
    cut_off: list[tuple[float, float]] = field(default_factory=list)  # from losing the server until things went on


@dataclass(frozen=True)
class Mind:
    """How a bot plays in one kitchen; it thinks in a compiled program."""

    layout: Layout
    agent: str

    def begin(self, seed: int) -> Carry:
        """What it remembers at first."""
        return _agent(self).begin(jax.random.key(seed))

    def act(self, seen: Mapping[str, Any], seat: int, memory: Carry, seed: int) -> tuple[Action, Carry]:
        """What it does in the state that the server showed; agents know themselves as the first chef."""
        own = dict(seen) | {"chefs": seen["chefs"] if seat == 0 else seen["chefs"][::-1]}
        action, memory = _think(self, from_json(self.layout, own), memory, seed)
        return Action(int(action)), memory

    def practise(self) -> None:
        """Have the program ready."""
        _think(self, start(self.layout), self.begin(0), 0)


@partial(jax.jit, static_argnames="mind")
def _think(mind: Mind, state: State, memory: Carry, seed: int | Int[Array, ""]) -> Any:  # noqa: ANN401
    key = jax.random.fold_in(jax.random.key(seed), state.time)
    return _agent(mind).act(state, 0, memory, key)


@cache
def _agent(mind: Mind) -> Agent:
    return load(mind.agent, mind.layout)


@cache
def minds(layout: Layout) -> tuple[Mind, ...]:
    """How bots play in a kitchen: by a clone of people where there is one, and by a script that does its part."""
    lasting = replace(layout, horizon=MAX_HORIZON)
    known = scripted.names_for(layout)
    names = [f"script:{name}" for name in _FAVOURITES if name in known][:1]
    names += [f"human-proxy:{name}" for name in shipped.layouts_of("human-proxy") if is_shipped(layout, name)]
    return tuple(Mind(lasting, name) for name in names or ["random"])


class Bot:
    """One simulated participant."""

    def __init__(self, address: str, name: str, kitchens: Sequence[Layout], *, thinks_once_in: int = 2) -> None:
        """Takes part at this address under this identifier; presses a key once in some ticks."""
        self.diary = Diary(name)
        self._address = address.rstrip("/")
        self._kitchens = {layout.name: layout for layout in kitchens}
        self._thinks_once_in = thinks_once_in
        self._random = random.Random(name)
        self._tutored = False
        self._pleasure: dict[int, list[float]] = {}  # scores of free games by partner
        self._partner: int | None = None
        self._playing: _Playing | None = None
        self._lost: float | None = None  # when the server was lost

    @property
    def is_cut_off(self) -> bool:
        """Whether the server was lost and things have not gone on yet."""
        return self._lost is not None

    async def take_part(self, patience: float = 60.0) -> Diary:
        """Go through the whole study, coming back whenever the server is lost for no longer than the patience."""
        while not self.diary.code:
            with contextlib.suppress(OSError, http.client.HTTPException, WebSocketException):
                await self._visit()
            if not self.diary.code:
                self._lost = self._lost or time.monotonic()
                if time.monotonic() - self._lost > patience:
                    raise InputError(f"{self.diary.name}: no word from {self._address} for {patience:g} seconds")
                await asyncio.sleep(_AGAIN)
        return self.diary

    async def _visit(self) -> None:
        """Open the page and take part until all is done or the server is lost."""
        cookie = await asyncio.to_thread(_enter, self._address, self.diary.name)
        place, headers = f"{self._address.replace('http', 'ws', 1)}/ws", {"Cookie": cookie}
        options = {"additional_headers": headers, "proxy": None, "open_timeout": _SLOW, "ping_timeout": _SLOW}
        async with connect(place, origin=Origin(self._address), **options) as socket:
            await socket.send(json.dumps({"type": "hello", "take_over": True}))
            inbox: asyncio.Queue[str | bytes | None] = asyncio.Queue()
            reader = asyncio.create_task(_collect(socket, inbox))
            try:
                while not self.diary.code and (text := await inbox.get()) is not None:
                    await self._hear(socket, json.loads(text), hurried=not inbox.empty())
            finally:
                reader.cancel()

    async def _hear(self, socket: ClientConnection, message: Mapping[str, Any], *, hurried: bool) -> None:
        """Answer a message; in a hurry, as others wait already, without thinking."""
        goes_on = message["type"] == "tick" or (message["type"] == "stage" and not message.get("waiting"))
        if self._lost is not None and goes_on:
            self.diary.cut_off.append((self._lost, time.monotonic()))
            self._lost = None
        match message["type"]:
            case "stage" if not message.get("waiting"):
                answer = self._answer(message)
            case "game":
                answer = self._sit_down(message)
            case "tick":
                for word in self._play(message, hurried):
                    await socket.send(json.dumps(word))
                return
            case "stored" if self._playing is not None:
                self.diary.stored[self._playing.game] = message["tick"]
                return
            case "over":
                self._stand_up(message)
                return
            case "error":
                raise InputError(f"{self.diary.name}: the server said: {message['message']}")
            case _:
                return
        if answer is not None:
            await socket.send(json.dumps(answer))

    def _answer(self, stage: Mapping[str, Any]) -> dict[str, Any] | None:
        """What a participant does next at a stage."""
        match stage["stage"]:
            case "questions":
                return _deed("answers", values={one["id"]: self._reply(one) for one in stage["questions"]})
            case "tutorial" if self._tutored:
                return _deed("tutorial-done")
            case "warm-up":
                wanted = [n for n, tried in enumerate(stage["tried"]) if tried < max(stage["least"], 1)]
                self._partner = self._random.choice(wanted) if wanted else None
                return {"type": "start", "partner": self._partner} if wanted else _deed("warm-up-done")
            case "ranking":
                return self._judge(len(stage["partners"]), stage["comment_questions"])
            case "thanks":
                self.diary.code = stage["code"]
        return _SIMPLE.get(stage["stage"])

    def _reply(self, question: Mapping[str, Any]) -> str | int | None:
        """Something that the question allows; one in five is declined."""
        if self._random.random() < 0.2:
            return None
        if question["kind"] == "choice":
            return self._random.choice(question["options"])
        if question["kind"] == "number":
            return self._random.randint(question["least"], min(question["most"], question["least"] + 50))
        return f"{self.diary.name} replies"

    def _judge(self, partners: int, questions: Sequence[str]) -> dict[str, Any]:
        """Whoever brought more in the free games comes first; equals in random order."""
        pleasure = [sum(self._pleasure.get(partner, [])) + self._random.random() for partner in range(partners)]
        ranking = sorted(range(partners), key=lambda partner: -pleasure[partner])
        comments = [[f"We made {pleasure[partner]:.0f}." for _ in questions] for partner in range(partners)]
        return _deed("judged", ranking=ranking, comments=comments)

    def _sit_down(self, game: Mapping[str, Any]) -> dict[str, Any]:
        """Get ready for a game, which may go on after a break: then nothing known to be stored may be missing."""
        number, tick = game["game"], game["t"]
        if tick < self.diary.stored.get(number, 0):
            stored = self.diary.stored[number]
            raise InputError(f"{self.diary.name}: {stored} ticks of game {number} were stored, it goes on with {tick}")
        seen = self.diary.actions.get(number, {})
        self.diary.actions[number] = {time: joint for time, joint in seen.items() if time < tick}
        mind = self._random.choice(minds(self._kitchens[game["kitchen"]["name"]]))
        seed = self._random.getrandbits(31)
        self._playing = _Playing(game["game"], game["seat"], game["phase"], mind, seed, mind.begin(seed))
        return {"type": "ready", "seconds": 0}

    def _play(self, tick: Mapping[str, Any], hurried: bool) -> list[dict[str, Any]]:
        """Tell that the tick was seen, and press a key now and then."""
        words: list[dict[str, Any]] = [{"type": "seen", "t": tick["t"]}]
        if self._playing is None:
            return words
        now = self._playing
        self.diary.actions[now.game][tick["t"] - 1] = tick["actions"]
        if tick["t"] % self._thinks_once_in == 0 and not hurried:
            action, now.memory = now.mind.act(tick["state"], now.seat, now.memory, now.seed)
            if action is not Action.STAY:
                words += [{"type": way, "action": int(action)} for way in ("down", "up")]
        return words

    def _stand_up(self, over: Mapping[str, Any]) -> None:
        self.diary.scores[over["game"]] = over["score"]
        self.diary.stored[over["game"]] = over["t"]
        if self._playing is not None and self._playing.phase == "tutorial":
            self._tutored = True
        if self._partner is not None:
            self._pleasure.setdefault(self._partner, []).append(over["score"])
        self._partner = self._playing = None


@dataclass
class _Playing:
    """The game that a bot is in."""

    game: int
    seat: int
    phase: str
    mind: Mind
    seed: int
    memory: Carry


async def _collect(socket: ClientConnection, inbox: asyncio.Queue[str | bytes | None]) -> None:
    """Put all messages into the inbox as they come, so that a bot who thinks keeps nobody waiting; None is the end."""
    with contextlib.suppress(WebSocketException):
        async for text in socket:
            inbox.put_nowait(text)
    inbox.put_nowait(None)


def _deed(deed: str, **content: Any) -> dict[str, Any]:  # noqa: ANN401  (whatever the deed takes)
    return {"type": "deed", "deed": deed, **content}


def _enter(address: str, name: str) -> str:
    """Ask for the study's page by an identifier; the cookie by which the participant is known from then on."""
    parts = urlsplit(address)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.netloc, timeout=_SLOW)
    try:
        connection.request("GET", f"/?PROLIFIC_PID={name}")
        answer = connection.getresponse()
        cookie = SimpleCookie(answer.headers.get("set-cookie", ""))
        if not cookie:
            raise InputError(f"{name}: {address} answered {answer.status} and let nobody in; is the study full?")
        return "; ".join(f"{key}={morsel.value}" for key, morsel in cookie.items())
    finally:
        connection.close()
