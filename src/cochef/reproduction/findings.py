"""What came out of an experiment, in the sentence that its page opens with."""

from collections import Counter
from collections.abc import Iterable, Sequence

from cochef.reproduction.claims import AGREES, DISAGREES, OPEN, Claim
from cochef.reproduction.page import Page
from cochef.reproduction.scores import Entry

NOTHING = "Nothing of this has been run yet."


def main_finding(page: Page) -> str:
    """The page's own sentence, or what its scores and claims say."""
    parts = [page.finding, *_best(page.entries), *_decided(page.claims)]
    said = "; ".join(part for part in parts if part)
    if not said:
        return NOTHING
    # A method's name stays as it is written everywhere.
    return f"T{said[1:]}." if said.startswith("the ") else f"{said}."


def _best(entries: Iterable[Entry]) -> Iterable[str]:
    """In how many rows which condition has the highest mean, where several were run."""
    rows: dict[tuple[object, ...], list[Entry]] = {}
    for entry in entries:
        if entry.score is not None:
            rows.setdefault((entry.layout, entry.partner, entry.seat), []).append(entry)
    compared = [row for row in rows.values() if len(row) > 1]
    best = Counter(max(row, key=_mean).condition for row in compared)
    if best:
        (first, number), *others = best.most_common()
        also = "".join(f", {name} in {times}" for name, times in others)
        yield f"{first} has the highest mean in {number} of {len(compared)} rows{also}"


def _mean(entry: Entry) -> float:
    return float("-inf") if entry.score is None else entry.score.mean


def _decided(claims: Sequence[Claim]) -> Iterable[str]:
    """How many cases of the paper's claims hold."""
    if not claims:
        return
    times = Counter(claim.verdict for claim in claims)
    yield (
        f"the paper's claims hold in {times[AGREES]} of {len(claims)} cases, do not hold in "
        f"{times[DISAGREES]}, and are open in {times[OPEN]}, by too few populations or too small "
        "a difference"
    )
