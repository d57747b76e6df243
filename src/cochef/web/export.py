"""All data of a study as tables, without who the participants are outside.

Each table is written as CSV, Parquet and JSON lines, beside a dictionary of all columns.
"""

import csv
import io
import json
import math
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as arrow
import sqlalchemy as sql
from pyarrow import parquet

from cochef.files import write_whole
from cochef.kitchen.constants import Action
from cochef.web.caveats import caveats, stored_stand_ins
from cochef.web.exclusions import quality, stated
from cochef.web.records import StoredGame
from cochef.web.schema import ANSWERS, COMMENTS, RANKINGS
from cochef.web.store import StudyStore
from cochef.web.study import Study

DataRow = Mapping[str, Any]
DataRows = Sequence[DataRow]

_KINDS = {"number": arrow.int64(), "real": arrow.float64(), "text": arrow.string()}
_RISKY = ("=", "+", "-", "@", "\t", "\r", "\n")  # a spreadsheet takes what begins so for a formula


class DataColumn(NamedTuple):
    """A column of an export: its kind (number, real or text) and what it means."""

    kind: str
    meaning: str


_WHO = DataColumn("number", "the participant, as in participants.participant")
_LETTER = DataColumn("text", "the letter under which the participant knew the agent")

_COLUMNS: dict[str, dict[str, DataColumn]] = {
    "participants": {
        "participant": DataColumn("number", "the participant's number in this data"),
        "layout": DataColumn("text", "the layout of the participant's group"),
        "place": DataColumn(
            "number", "place within the group, from 0; it decides the order of the games"
        ),
        "stage": DataColumn("text", "how far the participant has come"),
        "games": DataColumn("number", "how many of the games that count have been played"),
        "joined": DataColumn("real", "seconds since 1970 (UTC)"),
        "finished": DataColumn("real", "seconds since 1970 (UTC); empty: not yet"),
        "simulated": DataColumn("number", "1: no person, but a bot of a rehearsal"),
    },
    "rankings": {
        "participant": _WHO,
        "agent": DataColumn("text", "label of the agent in the study file"),
        "letter": _LETTER,
        "rank": DataColumn(
            "number", "1: assisted most, by the participant's judgement after the warm-up"
        ),
    },
    "comments": {
        "participant": _WHO,
        "agent": DataColumn("text", "label of the agent in the study file"),
        "letter": _LETTER,
        "question": DataColumn("text", "what was asked about the agent"),
        "comment": DataColumn("text", "what the participant wrote; may be empty"),
    },
    "games": {
        "game": DataColumn("number", "the game's number in this data"),
        "participant": _WHO,
        "phase": DataColumn(
            "text", "tutorial, warm-up or game; only those of the phase game count"
        ),
        "number": DataColumn("number", "which game of its phase, from 0"),
        "agent": DataColumn("text", "label of the agent in the study file; empty in the tutorial"),
        "letter": _LETTER,
        "loaded": DataColumn("text", "the agent that was loaded under this label"),
        "stand_in": DataColumn(
            "number", "1: the label names a method that did not make the loaded agent"
        ),
        "seat": DataColumn("number", "the participant's seat, 0 or 1; the agent has the other"),
        "layout": DataColumn("text", "the layout"),
        "seed": DataColumn("number", "seed of the agent's random numbers"),
        "ticks": DataColumn("number", "how long the game was meant to last"),
        "played": DataColumn("number", "ticks that were played and stored"),
        "ticks_per_second": DataColumn("real", "how fast it was"),
        "agent_acts_once_in": DataColumn(
            "number", "ticks from one action of the agent to the next"
        ),
        "configuration": DataColumn(
            "text",
            "SHA-256 of the configuration (study, layouts, agents' files) it was played under",
        ),
        "began": DataColumn("real", "seconds since 1970 (UTC)"),
        "finished": DataColumn("real", "seconds since 1970 (UTC); empty: it still runs"),
        "ended": DataColumn(
            "text", "complete, stopped (before its last tick), or empty while it runs"
        ),
        "score": DataColumn("real", "the task reward; empty where it was given up without one"),
        "pauses": DataColumn(
            "number", "how often it was paused, waits for the database not counted"
        ),
        "paused_seconds": DataColumn(
            "real", "how long all pauses of known length took, waits for the database included"
        ),
        "unknown_pauses": DataColumn(
            "number", "pauses of unknown length: the server was stopped, or the pause still lasts"
        ),
        "undrawn_ticks": DataColumn("number", "ticks played while the page did not show them"),
        "median_lag": DataColumn("real", "median of ticks.lag where it is known"),
        "idle_share": DataColumn("real", "share of ticks in which the participant did nothing"),
    },
    "interruptions": {
        "game": DataColumn("number", "the game, as in games.game"),
        "tick": DataColumn("number", "ticks that had been played"),
        "reason": DataColumn(
            "text",
            "hidden (another tab or window), stall (the page fell behind), gone (the page was "
            "closed, reloaded or opened elsewhere, or the server was stopped), or store (the "
            "database took long, and all games waited)",
        ),
        "paused": DataColumn("number", "1: the game was paused, 0: it went on"),
        "undrawn": DataColumn("number", "ticks played while the page did not show them"),
        "began": DataColumn("real", "seconds since 1970 (UTC); empty: not known"),
        "seconds": DataColumn("real", "how long it lasted; empty: not known, or it still lasts"),
    },
    "ticks": {
        "game": DataColumn("number", "the game, as in games.game"),
        "tick": DataColumn("number", "from 0"),
        "action_0": DataColumn(
            "text", "what seat 0 did: " + ", ".join(action.name.lower() for action in Action)
        ),
        "action_1": DataColumn("text", "what seat 1 did"),
        "lag": DataColumn(
            "number",
            "milliseconds from the server's tick until the page had drawn it or a later one, as "
            "the page says; -1: not known",
        ),
    },
}


def columns(study: Study) -> dict[str, dict[str, DataColumn]]:
    """Every column of every table: its kind and what it means."""
    asked = {
        f"answer_{question.id}": DataColumn(
            "number" if question.kind == "number" else "text",
            f"{question.text} (empty: declined or not asked yet)",
        )
        for question in study.questions
    }
    return {**_COLUMNS, "participants": {**_COLUMNS["participants"], **asked}}


def tables(store: StudyStore) -> dict[str, DataRows]:
    """All rows of all tables."""
    letters = _letters(store)
    with store.reading() as connection:
        rankings = [dict(row) for row in connection.execute(sql.select(RANKINGS)).mappings()]
        answers: dict[int, dict[str, Any]] = {}
        for row in connection.execute(sql.select(ANSWERS)):
            answer = None if row.answer is None else json.loads(row.answer)
            answers.setdefault(row.participant, {})[f"answer_{row.question}"] = answer
    games = list(store.games())
    stand_ins = {(one.layout, one.label, one.loaded) for one in stored_stand_ins(store)}
    return {
        "participants": list(_participants(store, answers)),
        "rankings": [{**row, "letter": letters[_who_and_agent(row)]} for row in rankings],
        "comments": comments(store),
        "games": [_game(game, letters, stand_ins) for game in games],
        "interruptions": [row for game in games for row in _interruptions(game)],
        "ticks": [row for game in games for row in _ticks(game)],
    }


def _who_and_agent(row: DataRow) -> tuple[int, str]:
    return row["participant"], row["agent"]


def _letters(store: StudyStore) -> dict[tuple[int, str], str]:
    """The letter under which each participant knew each agent."""
    return {
        (one.number, partner.agent): partner.label
        for one in store.participants()
        for partner in one.plan.partners
    }


def _game(
    game: StoredGame,
    letters: Mapping[tuple[int, str], str],
    stand_ins: Collection[tuple[str, str, str]],
) -> DataRow:
    start = game.start
    return {
        **vars(start),
        **vars(game),
        **vars(quality(game)),
        "game": game.number,
        "number": start.number,
        "played": len(game.actions),
        "letter": letters.get((start.participant, start.agent), ""),
        "stand_in": int((start.layout, start.agent, start.loaded) in stand_ins),
        "median_lag": _or_nothing(quality(game).median_lag),
    }


def _or_nothing(number: float) -> float | None:
    """The number; nothing where it is none, which JSON has no word for."""
    return None if math.isnan(number) else number


def _interruptions(game: StoredGame) -> Iterator[DataRow]:
    for one in game.interruptions:
        yield {**vars(one), "game": game.number, "paused": int(one.paused)}


def _ticks(game: StoredGame) -> Iterator[DataRow]:
    for tick, (first, second) in enumerate(game.actions.tolist()):
        yield {
            "game": game.number,
            "tick": tick,
            "action_0": Action(first).name.lower(),
            "action_1": Action(second).name.lower(),
            "lag": game.lags[tick],
        }


def comments(store: StudyStore) -> DataRows:
    """What people wrote about each agent, with the letter that they knew it by."""
    asked = store.study.comment_questions
    letters = _letters(store)
    with store.reading() as connection:
        rows = connection.execute(sql.select(COMMENTS)).mappings().all()
    found = []
    for row in rows:
        letter = letters[_who_and_agent(dict(row))]
        found.append({**row, "question": asked[row["question"]], "letter": letter})
    return found


def _participants(store: StudyStore, answers: Mapping[int, DataRow]) -> Iterator[DataRow]:
    simulated = int(store.is_simulated)
    for one in store.participants():
        yield {
            **vars(one),
            "simulated": simulated,
            "participant": one.number,
            "stage": str(one.progress.stage),
            "games": one.progress.games,
            **answers.get(one.number, {}),
        }


def files(store: StudyStore) -> dict[str, bytes]:
    """Every file of an export, by name."""
    known = columns(store.study)
    found = {}
    for name, rows in tables(store).items():
        kept = [_only(row, known[name]) for row in rows]
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in kept]
        found[f"{name}.csv"] = csv_bytes(tuple(known[name]), kept)
        found[f"{name}.jsonl"] = "".join(lines).encode()
        found[f"{name}.parquet"] = _parquet(known[name], kept)
    described = [
        {"table": table, "column": name, **column._asdict()}
        for table, listed in known.items()
        for name, column in listed.items()
    ]
    found["dictionary.csv"] = csv_bytes(("table", "column", "kind", "meaning"), described)
    configurations = json.dumps(_configurations(store), ensure_ascii=False, indent=1)
    found["configurations.json"] = configurations.encode()
    found["notes.txt"] = "".join(f"{note}\n" for note in _notes(store)).encode()
    return found


def _notes(store: StudyStore) -> Iterator[str]:
    """What a reader of the data must know."""
    yield store.study.title
    yield from caveats(store)
    yield "The study's analysis leaves out, as decided before the first participant:"
    rules = stated(store.study.exclusions)
    yield from rules.values() if rules else ["nothing"]


def _only(row: DataRow, columns: Iterable[str]) -> DataRow:
    return {column: row.get(column) for column in columns}


def _configurations(store: StudyStore) -> dict[str, dict[str, Any]]:
    """All configurations by their hash, without the completion code."""
    return {
        configuration: {**content, "study": {**content["study"], "completion_code": ""}}
        for configuration, content in store.configurations().items()
    }


def write(store: StudyStore, directory: Path) -> list[str]:
    """Write an export into a directory; the names of its files."""
    made = files(store)
    for name, content in made.items():
        write_whole(directory / name, content)
    return list(made)


def archive(store: StudyStore) -> bytes:
    """An export as one zip file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files(store).items():
            file.writestr(name, content)
    return packed.getvalue()


def neutral(cell: object) -> object:
    """The cell, with an apostrophe where a spreadsheet would take it for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_RISKY) else cell


def csv_bytes(header: Sequence[str], rows: DataRows) -> bytes:
    """A table as CSV in which no cell is a formula."""
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow(header)
    for row in rows:
        writer.writerow([neutral(row[column]) for column in header])
    return table.getvalue().encode()


def _parquet(columns: Mapping[str, DataColumn], rows: DataRows) -> bytes:
    fields = [
        arrow.field(name, _KINDS[column.kind], metadata={"meaning": column.meaning})
        for name, column in columns.items()
    ]
    content = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(list(rows), schema=arrow.schema(fields)), content)
    return content.getvalue()
