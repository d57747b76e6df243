"""What a reader must know before believing a study's data: simulated people, and stand-ins."""

from collections.abc import Sequence

from cochef.web.stand_ins import StandIn
from cochef.web.store import StudyStore

SIMULATED = "Simulated participants"


def stored_stand_ins(store: StudyStore) -> list[StandIn]:
    """The stand-ins of all configurations under which the study was run."""
    found = [
        StandIn(**one)
        for configuration in store.configurations().values()
        for one in configuration["stand_ins"]
    ]
    return list(dict.fromkeys(found))


def caveats(store: StudyStore) -> list[str]:
    """A sentence for each thing that a reader must know; empty where there is none."""
    found = []
    if store.is_simulated:
        found.append(f"{SIMULATED}: these are data of a rehearsal, nobody in them is a person.")
    stand_ins = stored_stand_ins(store)
    if stand_ins:
        found.append(
            "Stand-ins: nothing here is about the methods that these labels name, as "
            f"other agents stand in for theirs: {_listed(stand_ins)}."
        )
    return found


def _listed(stand_ins: Sequence[StandIn]) -> str:
    """The stand-ins in words, each with all its layouts."""
    layouts: dict[str, list[str]] = {}
    for one in stand_ins:
        layouts.setdefault(one.wrong, []).append(one.layout)
    return "; ".join(f"{wrong} (in {', '.join(where)})" for wrong, where in layouts.items())
