"""The study on disk: SQLite by default, PostgreSQL by URL.

Every method that changes something is one transaction and durable when it returns. Methods block;
they may be called from any thread. Only one process plays games; others may read, withdraw and
invite.
"""

import itertools
import json
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sql
from sqlalchemy.exc import IntegrityError

from cochef.errors import InputError
from cochef.kitchen.constants import SEATS, Action
from cochef.web import assignment, databases, schema
from cochef.web.progress import (
    Answers,
    Consent,
    Judged,
    ParticipantProgress,
    StudyEvent,
    StudyStage,
    advance,
    beginning,
)
from cochef.web.records import (
    NO_LAYOUT,
    NO_PLACE,
    UNKNOWN,
    GameEnd,
    GameStart,
    Interruption,
    InterruptionReason,
    Participant,
    ParticipantIdentity,
    Phase,
    Steps,
    StoredGame,
)
from cochef.web.schema import (
    ANSWERS,
    COMMENTS,
    CONFIGURATIONS,
    GAMES,
    IDENTITIES,
    INTERRUPTIONS,
    META,
    PARTICIPANTS,
    RANKINGS,
    STEPS,
)
from cochef.web.study import Study, from_configuration

_MINUTE = 60.0
_HOUR = 3600.0
_EARLY = (StudyStage.QUESTIONS, StudyStage.INSTRUCTIONS, StudyStage.TUTORIAL)
_LATE = (StudyStage.WARMUP, StudyStage.RANKING, StudyStage.GAMES)
_SIMULATED = "simulated"  # the key in `meta`
_PARTICIPANT_COLUMNS = (
    "number",
    "layout",
    "place",
    "seed",
    "completion_code",
    "joined",
    "seen",
    "finished",
)
_START_COLUMNS = (
    "participant",
    "agent",
    "loaded",
    "seat",
    "layout",
    "seed",
    "ticks",
    "ticks_per_second",
    "agent_acts_once_in",
)


class StudyFullError(InputError):
    """No place is left."""


class PlaceGivenError(StudyFullError):
    """Somebody stayed away for so long that their place was given to somebody else."""


class UnknownLinkError(InputError):
    """A link that nobody was given."""


def holds_study(url: str) -> bool:
    """Whether a database holds a study."""
    engine = schema.connect(url)
    try:
        with engine.begin() as connection:
            return bool(
                connection.scalar(sql.select(sql.exists().where(META.c.key == "configuration")))
            )
    finally:
        engine.dispose()


class StudyStore:
    """A study's database."""

    def __init__(self, engine: sql.Engine, study: Study) -> None:
        """Use `StudyStore.open` or `StudyStore.existing`."""
        self.study = study
        self._engine = engine
        self._lock = threading.RLock()
        self._next: dict[int, int] = {}  # the tick that comes next in each running game

    @classmethod
    def open(cls, url: str, study: Study, *, simulated: bool = False) -> "StudyStore":
        """The database of a study, created where there is none.

        Refuses another design than the one that participants have joined, people beside simulated
        participants, and a database that a server is running on.
        """
        store = cls(schema.connect(url), study)
        try:
            with store.served_alone():  # what is stored now is what the server goes by
                store._adopt(simulated)
        except InputError:
            store.close()
            raise
        return store

    def _adopt(self, simulated: bool) -> None:
        """Store the study, unless somebody has joined another design or is of another kind."""
        study = self.study
        with self._writing() as connection:
            design = connection.scalar(sql.select(META.c.value).where(META.c.key == "design"))
            joined = connection.scalar(sql.select(sql.func.count()).select_from(PARTICIPANTS))
            if joined and design != study.design_hash:
                raise InputError(
                    f"{joined} participants have joined another design of the study in this "
                    "database; keep its name, agents, layouts, questions, and number, length and "
                    "pace of games, or give another database"
                )
            there = _are_simulated(connection)
            if joined and there != simulated:
                kinds = ("simulated", "people") if there else ("people", "simulated")
                raise InputError(
                    f"{joined} participants in this database are {kinds[0]}; "
                    f"give another database for participants who are {kinds[1]}"
                )
            rows = [
                {"key": "design", "value": study.design_hash},
                {"key": "configuration", "value": study.configuration_hash},
                {"key": _SIMULATED, "value": json.dumps(simulated)},
            ]
            keys = [row["key"] for row in rows]
            connection.execute(META.delete().where(META.c.key.in_(keys)))
            connection.execute(META.insert(), rows)
            same = CONFIGURATIONS.c.hash == study.configuration_hash
            if not connection.scalar(sql.select(sql.exists().where(same))):
                row = {"hash": study.configuration_hash, "text": study.configuration_text}
                connection.execute(CONFIGURATIONS.insert().values(row))

    @classmethod
    def existing(cls, url: str) -> "StudyStore":
        """The database of a study that has been run, with the study as it was last run."""
        engine = schema.connect(url)
        current = sql.select(META.c.value).where(META.c.key == "configuration").scalar_subquery()
        chosen = sql.select(CONFIGURATIONS.c.text).where(CONFIGURATIONS.c.hash == current)
        with engine.begin() as connection:
            text = connection.scalar(chosen)
        if text is None:
            engine.dispose()
            raise InputError(
                f"database {engine.url!r} holds no study; "
                "give the one that `cochef study serve` used"
            )
        return cls(engine, from_configuration(json.loads(text)))

    @property
    def is_simulated(self) -> bool:
        """Whether the participants are simulated, those of a rehearsal."""
        with self.reading() as connection:
            return _are_simulated(connection)

    @property
    def url(self) -> sql.URL:
        """Where the database is."""
        return self._engine.url

    def served_alone(self) -> AbstractContextManager[None]:
        """Refuse a second server on this database while the first one runs."""
        return databases.served_alone(self._engine)

    def back_up(self, path: Path) -> None:
        """Write one moment of the database, which may be in use, to a new SQLite file."""
        databases.back_up(self._engine, path)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @cached_property
    def secret(self) -> bytes:
        """A random key that belongs to this database and so outlives a restart."""
        with self._writing() as connection:
            known = connection.scalar(sql.select(META.c.value).where(META.c.key == "secret"))
            if known is None:
                known = secrets.token_hex(32)
                connection.execute(META.insert().values(key="secret", value=known))
        return bytes.fromhex(known)

    @contextmanager
    def reading(self) -> Iterator[sql.Connection]:
        """A connection that sees one moment of the database."""
        with self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sql.Connection]:
        with self._lock, self._engine.execution_options(writes=True).begin() as connection:
            yield connection

    def configurations(self) -> dict[str, dict[str, Any]]:
        """All configurations under which games were played, by their hash."""
        with self.reading() as connection:
            rows = connection.execute(sql.select(CONFIGURATIONS)).all()
        return {row.hash: json.loads(row.text) for row in rows}

    def invite(self, number: int) -> list[str]:
        """New random links, each for one participant."""
        links = [secrets.token_urlsafe(16) for _ in range(number)]
        with self._writing() as connection:
            connection.execute(
                IDENTITIES.insert(), [{"kind": "link", "value": link} for link in links]
            )
        return links

    def join(
        self, identity: ParticipantIdentity, now: float, *, create: bool = True
    ) -> Participant:
        """The participant of this identity; a new one has no place before they consent.

        Without `create` only those are let in who were invited or have been here.
        """
        same = (IDENTITIES.c.kind == identity.kind) & (IDENTITIES.c.value == identity.value)
        with self._writing() as connection:
            known = connection.execute(sql.select(IDENTITIES.c.participant).where(same)).first()
            if known and known.participant is not None:
                return self._participant(connection, known.participant)
            if not known and not create:
                raise UnknownLinkError(
                    "this link is not one that was given to anybody; "
                    "please check that it is complete"
                )
            number = self._add_participant(connection, now)
            if known:
                connection.execute(IDENTITIES.update().where(same).values(participant=number))
            else:
                row = {"kind": identity.kind, "value": identity.value, "participant": number}
                connection.execute(IDENTITIES.insert().values(row))
            return self._participant(connection, number)

    def _add_participant(self, connection: sql.Connection, now: float) -> int:
        self._forget_unconsented(connection, now)
        seed = secrets.randbits(31)
        self._free_place(connection, seed, now)  # whether there is one; it is not kept for them
        row = {
            "layout": NO_LAYOUT,
            "place": NO_PLACE,
            "seed": seed,
            **_progress_columns(beginning(self.study)),
            "completion_code": self.study.completion_code or secrets.token_hex(4).upper(),
            "joined": now,
            "seen": now,
        }
        added = PARTICIPANTS.insert().values(row).returning(PARTICIPANTS.c.number)
        return connection.scalars(added).one()

    def _forget_unconsented(self, connection: sql.Connection, now: float) -> None:
        """Delete who came, did not consent and has not been here since; links can be used again."""
        long_ago = now - self.study.numbers.hours_until_abandoned * _HOUR
        stale = (PARTICIPANTS.c.stage == StudyStage.CONSENT) & (PARTICIPANTS.c.seen < long_ago)
        numbers = sql.select(PARTICIPANTS.c.number).where(stale)
        theirs = IDENTITIES.c.participant.in_(numbers)
        connection.execute(
            IDENTITIES.update().where(theirs, IDENTITIES.c.kind == "link").values(participant=None)
        )
        connection.execute(IDENTITIES.delete().where(theirs))
        connection.execute(PARTICIPANTS.delete().where(stale))

    def _free_place(self, connection: sql.Connection, seed: int, now: float) -> dict[str, Any]:
        """The columns of a free place."""
        chosen = sql.select(PARTICIPANTS.c.layout, PARTICIPANTS.c.place)
        taken: dict[str, set[int]] = {}
        for layout, place in connection.execute(chosen.where(self._holds_place(now))):
            taken.setdefault(layout, set()).add(place)
        free = assignment.free_place(self.study, taken, seed)
        if free is None:
            raise StudyFullError("all places of this study are taken")
        return {"layout": free[0], "place": free[1]}

    def _holds_place(self, now: float) -> sql.ColumnElement[bool]:
        """Who has finished, or consented and may still finish."""
        numbers = self.study.numbers
        stage = PARTICIPANTS.c.stage
        seen = PARTICIPANTS.c.seen
        return (
            (stage == StudyStage.THANKS)
            | stage.in_(_EARLY) & (seen >= now - numbers.minutes_until_released * _MINUTE)
            | stage.in_(_LATE) & (seen >= now - numbers.hours_until_abandoned * _HOUR)
        )

    def _keep_place(
        self, connection: sql.Connection, participant: Participant, now: float
    ) -> dict[str, Any]:
        """Columns by which somebody has their place again, or another one.

        Whoever stayed away for long loses their place as soon as somebody else has it; who has not
        met the partners yet gets another.
        """
        own = PARTICIPANTS.c.number == participant.number
        same = (PARTICIPANTS.c.layout == participant.layout) & (
            PARTICIPANTS.c.place == participant.place
        )
        others = sql.exists().where(same, ~own, self._holds_place(now))
        held = sql.exists().where(own, self._holds_place(now))
        stage = participant.progress.stage
        if stage not in (*_EARLY, *_LATE) or connection.scalar(sql.select(held | ~others)):
            return {}
        if stage in _EARLY:
            return self._free_place(connection, participant.seed, now)
        raise PlaceGivenError(
            "you have been away for so long that your place was given to somebody else"
        )

    def participant(self, number: int) -> Participant:
        """One participant."""
        with self.reading() as connection:
            return self._participant(connection, number)

    def participants(self) -> list[Participant]:
        """All participants, in the order in which they joined."""
        chosen = sql.select(PARTICIPANTS).order_by(PARTICIPANTS.c.number)
        with self.reading() as connection:
            rows = connection.execute(chosen).mappings().all()
        return [self._from_row(row) for row in rows]

    def _participant(self, connection: sql.Connection, number: int) -> Participant:
        chosen = sql.select(PARTICIPANTS).where(PARTICIPANTS.c.number == number)
        row = connection.execute(chosen).mappings().first()
        if row is None:
            raise InputError(f"there is no participant {number}; they may have withdrawn")
        return self._from_row(row)

    def _from_row(self, row: Mapping[Any, Any]) -> Participant:
        plan = assignment.plan(self.study, row["layout"], row["place"], row["seed"])
        progress = ParticipantProgress(
            stage=StudyStage(row["stage"]),
            tried=tuple(json.loads(row["tried"])),
            games=row["games"],
        )
        return Participant(
            plan=plan, progress=progress, **{name: row[name] for name in _PARTICIPANT_COLUMNS}
        )

    def note_seen(self, number: int, now: float) -> None:
        """Note that a participant is here, and still has their place."""
        own = PARTICIPANTS.c.number == number
        with self._writing() as connection:
            row = self._keep_place(connection, self._participant(connection, number), now)
            connection.execute(PARTICIPANTS.update().where(own).values(**row, seen=now))

    def act(self, number: int, event: StudyEvent, now: float) -> Participant:
        """Store an event that is allowed where a participant stands; the participant afterwards."""
        with self._writing() as connection:
            return self._act(connection, number, event, now)

    def _act(
        self, connection: sql.Connection, number: int, event: StudyEvent, now: float
    ) -> Participant:
        before = self._participant(connection, number)
        after = advance(self.study, before.progress, event)
        finished = now if after.stage is StudyStage.THANKS else None
        row = {**_progress_columns(after), "seen": now, "finished": finished}
        if event == Consent(True):
            row |= self._free_place(connection, before.seed, now)
        else:
            row |= self._keep_place(connection, before, now)
        connection.execute(PARTICIPANTS.update().where(PARTICIPANTS.c.number == number).values(row))
        match event:
            case Answers(values) if values:
                rows = [
                    {"participant": number, "question": key, "answer": _json(value)}
                    for key, value in values.items()
                ]
                connection.execute(ANSWERS.insert(), rows)
            case Judged():
                self._store_judgement(connection, before, event)
        return self._participant(connection, number)

    def _store_judgement(
        self, connection: sql.Connection, participant: Participant, event: Judged
    ) -> None:
        agents = [partner.agent for partner in participant.plan.partners]
        who = {"participant": participant.number}
        ranks = [
            {**who, "agent": agents[partner], "rank": rank}
            for rank, partner in enumerate(event.ranking, 1)
        ]
        connection.execute(RANKINGS.insert(), ranks)
        comments = [
            {**who, "agent": agent, "question": question, "comment": text}
            for agent, texts in zip(agents, event.comments, strict=True)
            for question, text in enumerate(texts)
        ]
        if comments:
            connection.execute(COMMENTS.insert(), comments)

    def begin_game(self, start: GameStart, now: float) -> int:
        """Store the beginning of a game; its number.

        A game that the participant has left open counts as stopped.
        """
        values = asdict(start)
        values["nth"] = values.pop("number")  # a row's own number is that of the game
        values["configuration"] = self.study.configuration_hash
        values["began"] = now
        running = (GAMES.c.participant == start.participant) & GAMES.c.ended.is_(None)
        with self._writing() as connection:
            for (number,) in connection.execute(sql.select(GAMES.c.number).where(running)).all():
                self._end(connection, number, GameEnd.STOPPED, None, now)
            game = connection.scalars(GAMES.insert().values(values).returning(GAMES.c.number)).one()
            self._next[game] = 0
        return game

    def append(self, batch: Sequence[Steps]) -> tuple[int, ...]:
        """Store the next steps of some games: all of them or, after an error, none.

        Games that are not running, as their participant has withdrawn, are left out and returned.
        """
        with self._lock:
            for steps in batch:
                expected = self._next.get(steps.game, steps.first)
                if steps.first != expected:
                    raise InputError(
                        f"game {steps.game} goes on with tick {steps.first}; "
                        f"the next one is {expected}"
                    )
            refused = tuple(steps.game for steps in batch if steps.game not in self._next)
            wanted = [steps for steps in batch if steps.game in self._next]
            try:
                self._insert(wanted)
            except IntegrityError:  # a participant has withdrawn through another process
                gone = {steps.game for steps in wanted if not self._is_running(steps.game)}
                refused += tuple(gone)
                wanted = [steps for steps in wanted if steps.game not in gone]
                self._insert(wanted)
            for steps in wanted:
                self._next[steps.game] = steps.end
            return refused

    def _insert(self, batch: Sequence[Steps]) -> None:
        rows = [_steps_row(steps) for steps in batch if steps.actions]
        interrupted = [(steps.game, one) for steps in batch for one in steps.interruptions]
        if rows or interrupted:
            with self._writing() as connection:
                if rows:
                    connection.execute(STEPS.insert(), rows)
                for game, one in interrupted:
                    _store_interruption(connection, game, one)

    def _is_running(self, game: int) -> bool:
        running = (GAMES.c.number == game) & GAMES.c.ended.is_(None)
        with self.reading() as connection:
            return bool(connection.scalar(sql.select(sql.exists().where(running))))

    def finish_game(
        self,
        game: int,
        score: float,
        now: float,
        ended: GameEnd = GameEnd.COMPLETE,
        event: StudyEvent | None = None,
    ) -> None:
        """Store the end of a game, together with the progress that it means."""
        with self._writing() as connection:
            participant = self._end(connection, game, ended, score, now)
            if event is not None:
                self._act(connection, participant, event, now)

    def _end(
        self,
        connection: sql.Connection,
        game: int,
        ended: GameEnd,
        score: float | None,
        now: float,
    ) -> int:
        """Store the end of a game; its participant."""
        running = (GAMES.c.number == game) & GAMES.c.ended.is_(None)
        participant = connection.scalar(sql.select(GAMES.c.participant).where(running))
        if participant is None:
            raise InputError(
                f"game {game} is not running; it has ended or its participant has withdrawn"
            )
        values = {"ended": ended, "score": score, "finished": now}
        connection.execute(GAMES.update().where(running).values(values))
        self._next.pop(game, None)
        return participant

    def unfinished_game(self, participant: int) -> StoredGame | None:
        """The game that a participant has left open; steps may be appended to it again."""
        found = list(self.games((GAMES.c.participant == participant) & GAMES.c.ended.is_(None)))
        if not found:
            return None
        with self._lock:
            self._next[found[-1].number] = len(found[-1].actions)
        return found[-1]

    def games_begun(self, participant: int, phase: Phase) -> int:
        """How many games of a phase a participant has begun."""
        own = (GAMES.c.participant == participant) & (GAMES.c.phase == phase)
        with self.reading() as connection:
            return connection.scalar(sql.select(sql.func.count()).where(own)) or 0

    def game(self, number: int) -> StoredGame:
        """One game."""
        found = list(self.games(GAMES.c.number == number))
        if not found:
            raise InputError(f"there is no game {number}")
        return found[0]

    def games(self, chosen: sql.ColumnElement[bool] | None = None) -> Iterator[StoredGame]:
        """The chosen games, or all, in the order in which they began."""
        where = sql.true() if chosen is None else chosen
        several = sql.select(GAMES).where(where).order_by(GAMES.c.number)
        with self.reading() as connection:
            rows = connection.execute(several).mappings().all()
            steps = _by_game(connection, STEPS, where, STEPS.c.first)
            interruptions = _by_game(connection, INTERRUPTIONS, where, INTERRUPTIONS.c.number)
        for row in rows:
            number = row["number"]
            yield _stored_game(row, steps.get(number, []), interruptions.get(number, []))

    def withdraw(self, number: int) -> None:
        """Delete everything about a participant."""
        own = sql.select(GAMES.c.number).where(GAMES.c.participant == number)
        with self._writing() as connection:
            self._participant(connection, number)
            for (game,) in connection.execute(own).all():
                self._next.pop(game, None)
            for table in schema.OF_GAME:
                connection.execute(table.delete().where(table.c.game.in_(own)))
            for table in schema.OF_PARTICIPANT:
                column = table.c.number if table is PARTICIPANTS else table.c.participant
                connection.execute(table.delete().where(column == number))
        if self._engine.dialect.name == "sqlite":
            self._empty_log()

    def _empty_log(self) -> None:
        """Empty SQLite's write-ahead log, so that nothing deleted is left in it."""
        with self._lock, closing(self._engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _are_simulated(connection: sql.Connection) -> bool:
    known = connection.scalar(sql.select(META.c.value).where(META.c.key == _SIMULATED))
    return known is not None and json.loads(known)


def _progress_columns(progress: ParticipantProgress) -> dict[str, Any]:
    return {"stage": progress.stage, "tried": json.dumps(progress.tried), "games": progress.games}


def _store_interruption(connection: sql.Connection, game: int, one: Interruption) -> None:
    values = {"game": game, **asdict(one)}
    row = values.pop("row")
    if row is None:
        connection.execute(INTERRUPTIONS.insert().values(values))
    else:
        connection.execute(
            INTERRUPTIONS.update().where(INTERRUPTIONS.c.number == row).values(values)
        )


def _steps_row(steps: Steps) -> dict[str, Any]:
    return {
        "game": steps.game,
        "first": steps.first,
        "actions": bytes(len(Action) * first + second for first, second in steps.actions),
        "lags": json.dumps(steps.lags),
    }


def _json(value: str | int | None) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _lags(ticks: int, reported: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """The lag of every tick, from the [tick, milliseconds] that the page reported."""
    lags = [UNKNOWN] * ticks
    for tick, lag in reported:
        if tick < ticks:
            lags[tick] = lag
    return tuple(lags)


def _by_game(
    connection: sql.Connection,
    table: sql.Table,
    where: sql.ColumnElement[bool],
    order: sql.Column[int],
) -> dict[int, list[Mapping[Any, Any]]]:
    """The rows of a table that belong to the chosen games, in order, by the games' numbers."""
    found: dict[int, list[Mapping[Any, Any]]] = {}
    chosen = sql.select(table).join(GAMES).where(where).order_by(order)
    for row in connection.execute(chosen).mappings():
        found.setdefault(row["game"], []).append(row)
    return found


def _interruption(row: Mapping[Any, Any]) -> Interruption:
    return Interruption(
        tick=row["tick"],
        reason=InterruptionReason(row["reason"]),
        paused=row["paused"],
        undrawn=row["undrawn"],
        began=row["began"],
        seconds=row["seconds"],
        row=row["number"],
        is_over=row["is_over"],
    )


def _stored_game(
    row: Mapping[Any, Any],
    steps: Sequence[Mapping[Any, Any]],
    interruptions: Sequence[Mapping[Any, Any]],
) -> StoredGame:
    taken = np.frombuffer(b"".join(part["actions"] for part in steps), np.uint8).astype(np.int32)
    reported = itertools.chain.from_iterable(json.loads(part["lags"]) for part in steps)
    start = GameStart(
        phase=Phase(row["phase"]), number=row["nth"], **{name: row[name] for name in _START_COLUMNS}
    )
    return StoredGame(
        number=row["number"],
        start=start,
        configuration=row["configuration"],
        actions=np.stack(np.divmod(taken, len(Action)), axis=1).reshape(-1, SEATS),
        lags=_lags(len(taken), reported),
        interruptions=tuple(_interruption(one) for one in interruptions),
        began=row["began"],
        finished=row["finished"],
        ended=GameEnd(row["ended"]) if row["ended"] else None,
        score=row["score"],
    )
