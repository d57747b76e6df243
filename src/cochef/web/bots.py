"""Simulated participants, who go through a study over the same protocol as the page.

A bot plays by a script or a clone of people. It keeps a transcript of what the server told it, so
that a rehearsal can compare it with what was stored.
"""

import asyncio
import contextlib
import hashlib
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

_SCRIPTS = ("onion_placement_and_delivery", "tomato_placement_and_delivery", "onion_placement")
_SLOW = 60.0  # seconds that a busy machine may take for an answer
_AGAIN = 0.2  # seconds until the server is tried again
_SIMPLE: dict[str, dict[str, Any]] = {  # what a participant does at stages that leave no choice
    "consent": {"type": "submit", "event": "consent", "agrees": True},
    "instructions": {"type": "submit", "event": "understood"},
    "tutorial": {"type": "start"},
    "games": {"type": "start"},
}


_READY: dict[str, Any] = {"type": "ready", "seconds": 0}


@dataclass
class Transcript:
    """What a bot was told."""

    name: str
    code: str = ""  # of completion
    scores: dict[int, float] = field(default_factory=dict)  # by game
    stored: dict[int, int] = field(default_factory=dict)  # ticks known to be stored, by game
    # Joint actions as they were shown, by game and tick.
    actions: dict[int, dict[int, list[int]]] = field(default_factory=dict)
    # When the server was lost, and when things went on.
    cut_off: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class BotPolicy:
    """The agent by which a bot plays on a layout, as a compiled program."""

    layout: Layout
    agent: str

    def begin(self, seed: int) -> Carry:
        """The agent's carry before its first action."""
        return _agent(self).begin(jax.random.key(seed))

    def act(
        self, shown: Mapping[str, Any], seat: int, carry: Carry, seed: int
    ) -> tuple[Action, Carry]:
        """The action in a state that the server showed, and the next carry."""
        # One program does for both seats: the agent's chef always comes first.
        chefs = shown["chefs"] if seat == 0 else shown["chefs"][::-1]
        state = from_json(self.layout, {**shown, "chefs": chefs})
        action, carry = _act(self, state, carry, seed)
        return Action(int(action)), carry

    def compile(self) -> None:
        """Compile the program."""
        _act(self, start(self.layout), self.begin(0), 0)


@partial(jax.jit, static_argnames="policy")
def _act(
    policy: BotPolicy, state: State, carry: Carry, seed: int | Int[Array, ""]
) -> tuple[Int[Array, ""], Carry]:
    key = jax.random.fold_in(jax.random.key(seed), state.time)
    return _agent(policy).act(state, 0, carry, key)


@cache
def _agent(policy: BotPolicy) -> Agent:
    return load(policy.agent, policy.layout)


@cache
def bot_policies(layout: Layout) -> tuple[BotPolicy, ...]:
    """The policies of bots on a layout: a script, and a clone of people where there is one."""
    lasting = replace(layout, horizon=MAX_HORIZON)  # games may be longer than episodes
    known = scripted.names_for(layout)
    names = [f"script:{name}" for name in _SCRIPTS if name in known][:1]
    names += [
        f"human-proxy:{name}"
        for name in shipped.layouts_of("human-proxy")
        if is_shipped(layout, name)
    ]
    return tuple(BotPolicy(lasting, name) for name in names or ["random"])


class Bot:
    """One simulated participant."""

    def __init__(
        self, address: str, name: str, layouts: Sequence[Layout], *, acts_once_in: int = 2
    ) -> None:
        """Take part at this address under this identifier; press a key once in some ticks."""
        self.transcript = Transcript(name)
        self._address = address.rstrip("/")
        self._layouts = {layout.name: layout for layout in layouts}
        self._acts_once_in = acts_once_in
        self._random = random.Random(name)
        self._warmup_scores: dict[int, list[float]] = {}  # by partner
        self._partner: int | None = None
        self._playing: _Playing | None = None
        self._lost: float | None = None  # when the server was lost

    @property
    def is_cut_off(self) -> bool:
        """Whether the server was lost and things have not gone on yet."""
        return self._lost is not None

    async def take_part(self, patience: float = 60.0) -> Transcript:
        """Go through the whole study; come back if the server is lost for a short time."""
        while not self.transcript.code:
            with contextlib.suppress(OSError, http.client.HTTPException, WebSocketException):
                await self._visit()
            if not self.transcript.code:
                self._lost = self._lost or time.monotonic()
                if time.monotonic() - self._lost > patience:
                    raise InputError(
                        f"{self.transcript.name}: no word from {self._address} "
                        f"for {patience:g} seconds"
                    )
                await asyncio.sleep(_AGAIN)
        return self.transcript

    async def _visit(self) -> None:
        """Open the page and take part until all is done or the server is lost."""
        cookie = await asyncio.to_thread(_enter, self._address, self.transcript.name)
        address = f"{self._address.replace('http', 'ws', 1)}/ws"
        options = {
            "additional_headers": {"Cookie": cookie},
            "proxy": None,
            "open_timeout": _SLOW,
            "ping_timeout": _SLOW,
        }
        async with connect(address, origin=Origin(self._address), **options) as socket:
            await socket.send(json.dumps({"type": "hello", "take_over": True}))
            inbox: asyncio.Queue[str | bytes | None] = asyncio.Queue()
            reader = asyncio.create_task(_collect(socket, inbox))
            try:
                while not self.transcript.code and (text := await inbox.get()) is not None:
                    await self._handle(socket, json.loads(text), hurried=not inbox.empty())
            finally:
                reader.cancel()

    async def _handle(
        self, socket: ClientConnection, message: Mapping[str, Any], *, hurried: bool
    ) -> None:
        """Answer a message; in a hurry, as others wait already, without choosing an action."""
        kind = message["type"]
        goes_on = kind == "tick" or (kind == "stage" and not message.get("waiting"))
        if self._lost is not None and goes_on:
            self.transcript.cut_off.append((self._lost, time.monotonic()))
            self._lost = None
        answers: list[dict[str, Any]] = []
        match kind:
            case "stage" if not message.get("waiting"):
                answers = self._next_step(message)
            case "game":
                answers = [self._begin_game(message)]
            case "tick":
                answers = self._play(message, hurried)
            case "paused" if message["stands"]:  # the bot was too slow, as a page can be
                answers = [_READY]
            case "stored" if self._playing is not None:
                self.transcript.stored[self._playing.game] = message["tick"]
            case "over":
                self._end_game(message)
            case "error":
                raise InputError(f"{self.transcript.name}: the server said: {message['message']}")
        for answer in answers:
            await socket.send(json.dumps(answer))

    def _next_step(self, stage: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What a participant does next at a stage."""
        match stage["stage"]:
            case "questions":
                values = {one["id"]: self._reply(one) for one in stage["questions"]}
                return [_submission("answers", values=values)]
            case "warm-up":
                least = max(stage["least"], 1)
                untried = [n for n, tried in enumerate(stage["tried"]) if tried < least]
                self._partner = self._random.choice(untried) if untried else None
                if self._partner is None:
                    return [_submission("warm-up-done")]
                return [{"type": "start", "partner": self._partner}]
            case "ranking":
                return [self._judge(len(stage["partners"]), stage["comment_questions"])]
            case "thanks":
                self.transcript.code = stage["code"]
                return []
            case simple:
                return [_SIMPLE[simple]]

    def _reply(self, question: Mapping[str, Any]) -> str | int | None:
        """Something that the question allows; one in five is declined."""
        if self._random.random() < 0.2:
            return None
        if question["kind"] == "choice":
            return self._random.choice(question["options"])
        if question["kind"] == "number":
            return self._random.randint(
                question["least"], min(question["most"], question["least"] + 50)
            )
        return f"{self.transcript.name} replies"

    def _judge(self, partners: int, questions: Sequence[str]) -> dict[str, Any]:
        """Rank the partners by what was scored with them in free games; equals at random."""
        scores = [
            sum(self._warmup_scores.get(partner, [])) + self._random.random()
            for partner in range(partners)
        ]
        ranking = sorted(range(partners), key=lambda partner: -scores[partner])
        comments = [[f"We made {score:.0f}."] * len(questions) for score in scores]
        return _submission("judged", ranking=ranking, comments=comments)

    def _begin_game(self, game: Mapping[str, Any]) -> dict[str, Any]:
        """Get ready for a game; one that goes on must have every tick that was stored."""
        number = game["game"]
        tick = game["t"]
        stored = self.transcript.stored.get(number, 0)
        if tick < stored:
            raise InputError(
                f"{self.transcript.name}: {stored} ticks of game {number} were stored, "
                f"it goes on with {tick}"
            )
        # Ticks that were shown but not stored are played anew.
        shown = self.transcript.actions.get(number, {})
        self.transcript.actions[number] = {at: joint for at, joint in shown.items() if at < tick}
        policies = bot_policies(self._layouts[game["kitchen"]["name"]])
        # The first is a script that can be relied on to serve the tutorial's soup.
        alone = game["phase"] == "tutorial"
        policy = policies[0] if alone else self._random.choice(policies)
        seed = self._random.getrandbits(31)
        self._playing = _Playing(
            game=number,
            seat=game["seat"],
            is_alone=alone,
            policy=policy,
            seed=seed,
            carry=policy.begin(seed),
        )
        return _READY

    def _play(self, tick: Mapping[str, Any], hurried: bool) -> list[dict[str, Any]]:
        """Report the tick as drawn, and press a key now and then; as a page, only of the newest."""
        now = self._playing
        if now is not None:
            self.transcript.actions[now.game][tick["t"] - 1] = tick["actions"]
        if hurried:
            return []
        answers: list[dict[str, Any]] = [{"type": "seen", "t": tick["t"]}]
        # The tutorial takes as long as its soup, so a bot uses every chance there.
        if now is not None and (now.is_alone or tick["t"] % self._acts_once_in == 0):
            action, now.carry = now.policy.act(tick["state"], now.seat, now.carry, now.seed)
            if action is not Action.STAY:
                answers += [{"type": way, "action": int(action)} for way in ("down", "up")]
        return answers

    def _end_game(self, over: Mapping[str, Any]) -> None:
        self.transcript.scores[over["game"]] = over["score"]
        self.transcript.stored[over["game"]] = over["t"]
        if self._partner is not None:
            self._warmup_scores.setdefault(self._partner, []).append(over["score"])
        self._partner = None
        self._playing = None


@dataclass
class _Playing:
    """The game that a bot is in."""

    game: int
    seat: int
    is_alone: bool  # in the tutorial
    policy: BotPolicy
    seed: int
    carry: Carry


async def _collect(socket: ClientConnection, inbox: asyncio.Queue[str | bytes | None]) -> None:
    """Put messages into the inbox as they come, so that a slow bot holds up nobody; then None."""
    with contextlib.suppress(WebSocketException):
        async for text in socket:
            inbox.put_nowait(text)
    inbox.put_nowait(None)


def _submission(event: str, **content: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"type": "submit", "event": event, **content}


def identifier(name: str) -> str:
    """A bot's identifier, which looks like one of Prolific."""
    return hashlib.sha256(name.encode()).hexdigest()[:24]


def _enter(address: str, name: str) -> str:
    """Ask for the study's page by an identifier; the participant's cookie."""
    parts = urlsplit(address)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.netloc, timeout=_SLOW)
    try:
        connection.request("GET", f"/?PROLIFIC_PID={identifier(name)}")
        answer = connection.getresponse()
        cookie = SimpleCookie(answer.headers.get("set-cookie", ""))
        if not cookie:
            raise InputError(
                f"{name}: {address} answered {answer.status} and let nobody in; is the study full?"
            )
        return "; ".join(f"{key}={morsel.value}" for key, morsel in cookie.items())
    finally:
        connection.close()
