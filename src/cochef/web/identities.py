"""Who participants are outside: for payment, and for whoever asks to be deleted.

This is the only place that joins identifiers with numbers. Keep what it gives apart from the data.
"""

import os
from pathlib import Path

import sqlalchemy as sql

from cochef.errors import InputError
from cochef.web.export import DataRows, csv_bytes
from cochef.web.schema import IDENTITIES
from cochef.web.store import StudyStore

COLUMNS = (
    "kind",  # link or prolific
    "identifier",
    "participant",  # empty: an invitation that nobody has used
    "stage",
    "completion_code",  # empty until the participant has finished
    "joined",
    "finished",
)


def rows(store: StudyStore) -> DataRows:
    """A row for every link and identifier: whose it is, how far they are, their code."""
    people = {one.number: one for one in store.participants()}
    chosen = sql.select(IDENTITIES).order_by(IDENTITIES.c.participant, IDENTITIES.c.value)
    with store.reading() as connection:
        known = connection.execute(chosen).all()
    found = []
    for identity in known:
        row = dict.fromkeys(COLUMNS)
        row |= {"kind": identity.kind, "identifier": identity.value}
        one = people.get(identity.participant)
        if one is not None:
            row |= {
                "participant": one.number,
                "stage": str(one.progress.stage),
                "completion_code": one.completion_code if one.finished is not None else "",
                "joined": one.joined,
                "finished": one.finished,
            }
        found.append(row)
    return found


def table(store: StudyStore) -> bytes:
    """All rows as CSV."""
    return csv_bytes(COLUMNS, rows(store))


def write(store: StudyStore, path: Path) -> None:
    """Write the table into a new file that only its owner can read."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error}); give a new file") from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(table(store))
