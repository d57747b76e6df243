"""Nonsense in bulk over the websocket, at every stage of a study: nobody else notices."""

import asyncio
import json
import random
import time
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from weakref import WeakKeyDictionary

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from cochef.errors import InputError
from cochef.web import replays, tickets
from cochef.web.connection import Connection
from cochef.web.progress import StudyStage
from cochef.web.records import GameEnd, ParticipantIdentity, Phase
from tests.web.fuzzing import AGENTS, STUDY, served_study
from tests.web.nonsense import frame
from tests.web.serving import PATIENCE, get
from tests.web.small_study import events_before_the_games
from tests.web.talking import cookie_of, talking, to_the_tutorial

TALKERS = 4
PROPER = 0.2  # of a talker's frames are what a page would send, so that they come somewhere
FRAMES_EACH = 100  # over one connection
MOST = 5  # times as many frames as wanted, until it is clear that some place is never reached
FIRST_EVENTS = (0, 3, 4, 9, 10)  # how many events talkers have behind them: they begin anywhere
PLACES = {
    *("consent", "questions", "instructions", "tutorial", "warm-up", "ranking", "games"),
    *("a game of tutorial", "a game of warm-up", "a game of game"),
}
QUESTIONS = [question.id for question in STUDY.questions]
IN_A_FILE = pytest.mark.parametrize("url", ["sqlite"], indirect=True)


class Reached:
    """Counts frames of talkers that came to their place in the study, by that place."""

    def __init__(self):
        self._places = WeakKeyDictionary()
        self.witness = None  # a participant whose frames do not count
        self.messages = Counter()  # that could be read, by place
        self.refused = Counter()  # that could not

    def note(self, page, message):
        """What a page is told says where its person stands."""
        if message["type"] == "stage" and message["participant"] != self.witness:
            self._places[page] = message["stage"]
        elif message["type"] == "game" and page in self._places:
            self._places[page] = f"a game of {message['phase']}"

    def count(self, page, message):
        if page in self._places:
            kind = self.refused if isinstance(message, InputError) else self.messages
            kind[self._places[page]] += 1

    @property
    def frames(self):
        return self.messages.total() + self.refused.total()

    def missing(self, least):
        """Places where too few frames came."""
        return {place for place in PLACES if min(self.messages[place], self.refused[place]) < least}


@pytest.fixture
def reached(monkeypatch):
    counts = Reached()
    send, messages = Connection.send, Connection.messages

    def noted_send(page, message):
        counts.note(page, message)
        send(page, message)

    async def counted_messages(page):
        async for message in messages(page):
            counts.count(page, message)
            yield message

    monkeypatch.setattr(Connection, "send", noted_send)
    monkeypatch.setattr(Connection, "messages", counted_messages)
    return counts


@pytest.fixture
def served(url):
    with served_study(url) as found:
        yield found


class Talker:
    """Sends nonsense, and now and then what takes them further in the study."""

    def __init__(self, url, store, seed):
        self.url = url
        self.store = store
        self.chance = random.Random(seed)
        self.names = (f"talker-{seed}-{number}" for number in range(10**6))
        self.stage = {}
        self.playing = False
        self.told = asyncio.Event()
        self.heard = deque(maxlen=10)

    async def babble(self, is_enough):
        """Send frames until there were enough, as one participant after the other."""
        while not is_enough():
            cookie = await asyncio.to_thread(self._newcomer)
            for _ in range(2):  # connections
                await self._visit(cookie, is_enough)

    def _newcomer(self):
        now = time.time()
        participant = self.store.join(ParticipantIdentity("prolific", next(self.names)), now)
        for event in events_before_the_games(STUDY)[: self.chance.choice(FIRST_EVENTS)]:
            self.store.act(participant.number, event, now)
        return tickets.ticket(self.store.secret, participant.number)

    async def _visit(self, cookie, is_enough):
        address = self.url.replace("http", "ws") + "/ws"
        headers = {"Cookie": f"cochef={cookie}"}
        async with connect(
            address, origin=self.url, additional_headers=headers, ping_interval=None
        ) as socket:
            listening = asyncio.create_task(self._listen(socket))
            with suppress(ConnectionClosed):
                for number in range(FRAMES_EACH):
                    asks = number % 10 == 0
                    if asks and (is_enough() or not await self._know_more(socket, listening)):
                        break
                    proper = self.chance.random() < PROPER
                    said = json.dumps(self._proper()) if proper else frame(self.chance)
                    await socket.send(said)
            await socket.close()
            await listening

    async def _know_more(self, socket, listening):
        """Ask where one stands; False where the study is over, or the server has had enough."""
        self.told.clear()
        await socket.send('{"type":"hello","take_over":true}')
        try:
            await asyncio.wait_for(self.told.wait(), PATIENCE)
        except TimeoutError:
            raise AssertionError(f"no answer; {self.stage}, heard {self.heard}") from None
        if listening.done():
            return False
        return self.stage["stage"] not in ("thanks", "declined")

    async def _listen(self, socket):
        """Hear everything until the connection closes; no message tells what it should not."""
        try:
            async for text in socket:
                self._hear(text)
        except ConnectionClosed:
            pass
        finally:
            self.told.set()

    def _hear(self, text):
        self.heard.append(text)
        assert "Traceback" not in text
        assert not [name for name in AGENTS.values() if name in text]
        message = json.loads(text)
        if message["type"] == "stage":
            self.stage = message
            self.playing = message.get("waiting", False)
            self.told.set()
        elif message["type"] == "game":
            self.playing = True
        elif message["type"] == "elsewhere":
            # What the connection before sent last came later, so that has the answer.
            self.told.set()

    def _proper(self):
        """What takes a participant further from where they stand."""
        if self.playing:
            return {"type": "ready", "seconds": 0}
        submitted = {
            "consent": {"event": "consent", "agrees": True},
            "questions": {"event": "answers", "values": dict.fromkeys(QUESTIONS)},
            "instructions": {"event": "understood"},
            "ranking": {
                "event": "judged",
                "ranking": self.chance.sample(range(4), 4),
                "comments": [["", ""]] * 4,
            },
        }
        stage = self.stage["stage"]
        if stage == "warm-up":
            if min(self.stage["tried"]) >= self.stage["least"]:
                return {"type": "submit", "event": "warm-up-done"}
            return {"type": "start", "partner": self.chance.randrange(4)}
        return {"type": "submit", **submitted[stage]} if stage in submitted else {"type": "start"}


def played_by_talkers(store, witness):
    """How many games of each phase talkers have played to their end."""
    games = [game for game in store.games() if game.start.participant != witness]
    return Counter(game.start.phase for game in games if game.ended is GameEnd.COMPLETE)


def babble_beside_a_witness(served, reached, frames, least):
    """While others send nonsense, somebody plays a game to its end, and it is stored as it was.

    The others go on until they sent enough frames, at every stage and in every kind of game, and
    have played such games to their end.
    """
    url, store, _ = served

    def lacking():
        """What is still missing."""
        played = played_by_talkers(store, reached.witness)
        phases = {phase for phase in (Phase.WARMUP, Phase.GAME) if played[phase] < least}
        return reached.missing(least) | phases

    def is_enough():
        return reached.frames >= frames and (reached.frames >= MOST * frames or not lacking())

    async def everybody():
        talkers = [Talker(url, store, seed) for seed in range(TALKERS)]
        await asyncio.gather(*(one.babble(is_enough) for one in talkers))

    cookie = cookie_of(url)
    reached.witness = tickets.number_on(store.secret, cookie)
    with ThreadPoolExecutor(1) as pool, talking(url, cookie) as talker:
        to_the_tutorial(talker)
        crowd = None
        played = 0
        while played < 2 or not crowd.done():
            if played == 1:
                crowd = pool.submit(asyncio.run, everybody())
            talker.say("start")
            game = talker.hear("game")
            talker.say("ready", seconds=0)
            over = talker.play()
            talker.hear("stage")
            stored = store.game(game["game"])
            assert stored.ended is GameEnd.COMPLETE and stored.score == over["score"]
            assert len(stored.actions) == STUDY.numbers.tutorial_ticks
            played += 1
        crowd.result()
    assert store.participant(reached.witness).progress.stage is StudyStage.TUTORIAL
    assert get(f"{url}/health").json() == {"status": "well"}
    print(f"\nread: {dict(reached.messages)}\nrefused: {dict(reached.refused)}")
    print(f"games played to their end: {played_by_talkers(store, reached.witness)}")
    assert reached.frames >= frames and lacking() == set()
    assert replays.mismatches(store, list(store.games())) == []


@IN_A_FILE
def test_nonsense_over_the_websocket_harms_nobody(served, reached):
    babble_beside_a_witness(served, reached, 4_000, least=1)


@pytest.mark.long
def test_much_nonsense_over_the_websocket_harms_nobody(served, reached):
    babble_beside_a_witness(served, reached, 100_000, least=100)
