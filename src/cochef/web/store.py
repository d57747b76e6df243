"""The study on disk: SQLite by default, PostgreSQL by URL.

Every method that changes something is one transaction and durable when it returns. Methods block;
they may be called from any thread. Only one process plays games; others may read, withdraw and
invite.
"""

import json
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.exc import IntegrityError

from cochef.errors import InputError
from cochef.web import databases, places, schema
from cochef.web.progress import (
    Answers,
    Consent,
    Judged,
    StudyEvent,
    StudyStage,
    advance,
    beginning,
)
from cochef.web.records import (
    NO_LAYOUT,
    NO_PLACE,
    GameEnd,
    GameStart,
    Interruption,
    Participant,
    ParticipantIdentity,
    Phase,
    Steps,
    StoredGame,
)
from cochef.web.rows import (
    StoredRow,
    answer_rows,
    comment_rows,
    game_of,
    participant_of,
    progress_columns,
    ranking_rows,
    steps_row,
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

_SIMULATED = "simulated"  # the key in `meta`


class UnknownLinkError(InputError):
    """A link that nobody was given."""


class NoParticipantError(InputError):
    """A participant who has withdrawn, or never consented and was forgotten."""


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

    def served_alone(self) -> AbstractContextManager[databases.IsAlone]:
        """Refuse a second server on this database while the first one runs.

        Gives a function that asks whether the first one is still alone.
        """
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
        places.forget_unconsented(connection, self.study, now)
        seed = secrets.randbits(31)
        # Whether there is one; it is not kept for them.
        places.free_place(connection, self.study, seed, now)
        row = {
            "layout": NO_LAYOUT,
            "place": NO_PLACE,
            "seed": seed,
            **progress_columns(beginning(self.study)),
            "completion_code": self.study.completion_code or secrets.token_hex(4).upper(),
            "joined": now,
            "seen": now,
            "advanced": now,
        }
        added = PARTICIPANTS.insert().values(row).returning(PARTICIPANTS.c.number)
        return connection.scalars(added).one()

    def participant(self, number: int) -> Participant:
        """One participant."""
        with self.reading() as connection:
            return self._participant(connection, number)

    def participants(self) -> list[Participant]:
        """All participants, in the order in which they joined."""
        chosen = sql.select(PARTICIPANTS).order_by(PARTICIPANTS.c.number)
        with self.reading() as connection:
            rows = connection.execute(chosen).mappings().all()
        return [participant_of(self.study, row) for row in rows]

    def _participant(self, connection: sql.Connection, number: int) -> Participant:
        chosen = sql.select(PARTICIPANTS).where(PARTICIPANTS.c.number == number)
        row = connection.execute(chosen).mappings().first()
        if row is None:
            raise NoParticipantError(f"there is no participant {number}; they may have withdrawn")
        return participant_of(self.study, row)

    def note_seen(self, number: int, now: float) -> None:
        """Note that a participant is here, and has a place while they get further."""
        own = PARTICIPANTS.c.number == number
        with self._writing() as connection:
            participant = self._participant(connection, number)
            row = places.keep_place(connection, self.study, participant, now)
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
        row = {**progress_columns(after), "seen": now, "finished": finished}
        if (after.stage, after.games) != (before.progress.stage, before.progress.games):
            row["advanced"] = now
        if event == Consent(True):
            row |= places.free_place(connection, self.study, before.seed, now)
        else:
            row |= places.keep_place(connection, self.study, before, now)
        connection.execute(PARTICIPANTS.update().where(PARTICIPANTS.c.number == number).values(row))
        match event:
            case Answers(values) if values:
                connection.execute(ANSWERS.insert(), answer_rows(before, event))
            case Judged():
                connection.execute(RANKINGS.insert(), ranking_rows(before, event))
                if self.study.comment_questions:
                    connection.execute(COMMENTS.insert(), comment_rows(before, event))
            case _:
                pass
        return self._participant(connection, number)

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
        rows = [steps_row(steps) for steps in batch if steps.actions]
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
            yield game_of(row, steps.get(number, []), interruptions.get(number, []))

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


def _store_interruption(connection: sql.Connection, game: int, one: Interruption) -> None:
    values = {"game": game, **asdict(one)}
    row = values.pop("row")
    if row is None:
        connection.execute(INTERRUPTIONS.insert().values(values))
    else:
        connection.execute(
            INTERRUPTIONS.update().where(INTERRUPTIONS.c.number == row).values(values)
        )


def _by_game(
    connection: sql.Connection,
    table: sql.Table,
    where: sql.ColumnElement[bool],
    order: sql.Column[int],
) -> dict[int, list[StoredRow]]:
    """The rows of a table that belong to the chosen games, in order, by the games' numbers."""
    found: dict[int, list[StoredRow]] = {}
    chosen = sql.select(table).join(GAMES).where(where).order_by(order)
    for row in connection.execute(chosen).mappings():
        found.setdefault(row["game"], []).append(row)
    return found
