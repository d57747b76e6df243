"""All data of a study as tables, without anything that tells who the participants are outside.

Each table is written as CSV, Parquet and JSON lines, beside a dictionary of all columns.
"""

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as arrow
import sqlalchemy as sql
from pyarrow import parquet

from cochef.files import write_whole
from cochef.kitchen.constants import Action
from cochef.web.schema import ANSWERS, COMMENTS, RANKINGS
from cochef.web.store import Store
from cochef.web.study import Study

Row = Mapping[str, Any]
Rows = Sequence[Row]

_KINDS = {"number": arrow.int64(), "real": arrow.float64(), "text": arrow.string()}
_RISKY = ("=", "+", "-", "@", "\t", "\r", "\n")  # a spreadsheet takes what begins so for a formula
_WHO = ("number", "the participant, as in participants.participant")

_COLUMNS: dict[str, dict[str, tuple[str, str]]] = {
    "participants": {
        "participant": ("number", "the participant's number in this data"),
        "layout": ("text", "the kitchen of the participant's group"),
        "place": ("number", "place within the group, from 0; it decides the order of the games"),
        "stage": ("text", "how far the participant has come"),
        "games": ("number", "how many of the games that count have been played"),
        "joined": ("real", "seconds since 1970 (UTC)"),
        "finished": ("real", "seconds since 1970 (UTC); empty: not yet"),
    },
    "rankings": {
        "participant": _WHO,
        "agent": ("text", "label of the agent in the study file"),
        "rank": ("number", "1: assisted most, by the participant's judgement after the warm-up"),
    },
    "comments": {
        "participant": _WHO,
        "agent": ("text", "label of the agent in the study file"),
        "question": ("text", "what was asked about the agent"),
        "comment": ("text", "what the participant wrote; may be empty"),
    },
    "games": {
        "game": ("number", "the game's number in this data"),
        "participant": _WHO,
        "phase": ("text", "tutorial, warm-up or game; only those of the phase game count"),
        "number": ("number", "which game of its phase, from 0"),
        "agent": ("text", "label of the agent in the study file; empty in the tutorial"),
        "loaded": ("text", "the agent that was loaded under this label"),
        "seat": ("number", "the participant's seat, 0 or 1; the agent has the other"),
        "layout": ("text", "the kitchen"),
        "seed": ("number", "where the agent's random numbers come from"),
        "ticks": ("number", "how long the game was meant to last"),
        "played": ("number", "ticks that were played and stored"),
        "ticks_per_second": ("real", "how fast it was"),
        "agent_acts_once_in": ("number", "ticks from one action of the agent to the next"),
        "configuration": ("text", "SHA-256 of the configuration (study, kitchens, agents' files) it was played under"),
        "began": ("real", "seconds since 1970 (UTC)"),
        "finished": ("real", "seconds since 1970 (UTC); empty: it still runs"),
        "ended": ("text", "complete, stopped (before its last tick), or empty while it runs"),
        "score": ("real", "the task reward; empty where it was given up without one"),
    },
    "ticks": {
        "game": ("number", "the game, as in games.game"),
        "tick": ("number", "from 0"),
        "action_0": ("text", "what seat 0 did: " + ", ".join(action.name.lower() for action in Action)),
        "action_1": ("text", "what seat 1 did"),
        "lag": ("number", "milliseconds between the server's tick and its drawing, as the page says; -1: not known"),
    },
}


def columns(study: Study) -> dict[str, dict[str, tuple[str, str]]]:
    """Every column of every table: its kind and what it means."""
    asked = {
        f"answer_{question.id}": (
            "number" if question.kind == "number" else "text",
            f"{question.text} (empty: declined or not asked yet)",
        )
        for question in study.questions
    }
    return {**_COLUMNS, "participants": {**_COLUMNS["participants"], **asked}}


def tables(store: Store) -> dict[str, Rows]:
    """All rows of all tables."""
    with store.reading() as connection:
        rankings = [dict(row) for row in connection.execute(sql.select(RANKINGS)).mappings()]
        answers: dict[int, dict[str, Any]] = {}
        for row in connection.execute(sql.select(ANSWERS)):
            answer = None if row.answer is None else json.loads(row.answer)
            answers.setdefault(row.participant, {})[f"answer_{row.question}"] = answer
    games = list(store.games())
    return {
        "participants": list(_participants(store, answers)),
        "rankings": rankings,
        "comments": comments(store),
        "games": [
            {
                **vars(game.start),
                **vars(game),
                "game": game.number,
                "number": game.start.number,
                "played": len(game.actions),
            }
            for game in games
        ],
        "ticks": [
            {
                "game": game.number,
                "tick": tick,
                "action_0": Action(one).name.lower(),
                "action_1": Action(two).name.lower(),
                "lag": game.lags[tick],
            }
            for game in games
            for tick, (one, two) in enumerate(game.actions.tolist())
        ],
    }


def comments(store: Store) -> Rows:
    """What people wrote about each agent."""
    asked = store.study.comment_questions
    with store.reading() as connection:
        rows = connection.execute(sql.select(COMMENTS)).mappings().all()
    return [{**row, "question": asked[row["question"]]} for row in rows]


def _participants(store: Store, answers: Mapping[int, Row]) -> Iterator[Row]:
    for one in store.participants():
        where = {"participant": one.number, "stage": str(one.progress.stage), "games": one.progress.games}
        yield {**vars(one), **where, **answers.get(one.number, {})}


def files(store: Store) -> dict[str, bytes]:
    """Every file of an export, by name."""
    known, found = columns(store.study), {}
    for name, rows in tables(store).items():
        kept = [{column: row.get(column) for column in known[name]} for row in rows]
        found[f"{name}.csv"] = csv_bytes(tuple(known[name]), kept)
        found[f"{name}.jsonl"] = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept).encode()
        found[f"{name}.parquet"] = _parquet(known[name], kept)
    described = [
        {"table": table, "column": column, "kind": kind, "meaning": meaning}
        for table, listed in known.items()
        for column, (kind, meaning) in listed.items()
    ]
    found["dictionary.csv"] = csv_bytes(("table", "column", "kind", "meaning"), described)
    found["configurations.json"] = json.dumps(_configurations(store), ensure_ascii=False, indent=1).encode()
    return found


def _configurations(store: Store) -> dict[str, dict[str, Any]]:
    """All configurations by their hash, without the code that says that somebody has taken part."""
    return {
        configuration: {**content, "study": {**content["study"], "completion_code": ""}}
        for configuration, content in store.configurations().items()
    }


def write(store: Store, directory: Path) -> list[str]:
    """Write an export into a directory; the names of its files."""
    made = files(store)
    for name, content in made.items():
        write_whole(directory / name, content)
    return list(made)


def archive(store: Store) -> bytes:
    """An export as one zip file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files(store).items():
            file.writestr(name, content)
    return packed.getvalue()


def neutral(cell: object) -> object:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_RISKY) else cell


def csv_bytes(header: Sequence[str], rows: Rows) -> bytes:
    """A table as CSV in which no cell is a formula."""
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow(header)
    writer.writerows([neutral(row[column]) for column in header] for row in rows)
    return table.getvalue().encode()


def _parquet(kinds: Mapping[str, tuple[str, str]], rows: Rows) -> bytes:
    fields = [arrow.field(name, _KINDS[kind], metadata={"meaning": text}) for name, (kind, text) in kinds.items()]
    content = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(list(rows), schema=arrow.schema(fields)), content)
    return content.getvalue()
