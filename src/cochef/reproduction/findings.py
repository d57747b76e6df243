"""What came out of an experiment, in the sentence that its page opens with."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from cochef.reproduction.claims import AGREES, DISAGREES, NOT_COMPARED, OPEN, Claim
from cochef.reproduction.page import Page
from cochef.reproduction.scores import CLOSE, Entry, near_best

NOTHING = "What this page compares has not all been run yet."


def main_finding(page: Page) -> str:
    """The page's own sentence, or what its scores and claims say."""
    parts = [page.finding, *_best(page.entries), *_decided(page.claims)]
    said = "; ".join(part for part in parts if part)
    if not said:
        return NOTHING
    # A method's name stays as it is written everywhere.
    return f"T{said[1:]}." if said.startswith("the ") else f"{said}."


def farthest(entries: Iterable[Entry]) -> str:
    """Where our mean is farthest from the paper's, in a sentence."""
    compared = [entry for entry in entries if entry.difference is not None]
    if not compared:
        return "Nothing is compared with the paper yet."
    most = max(compared, key=lambda entry: abs(entry.difference or 0.0))
    where = f"{most.condition} with {most.partner} in {most.layout}"
    return f"Farthest from the paper is {where}: {most.ours()}, the paper's {most.papers()}."


def _best(entries: Sequence[Entry]) -> Iterator[str]:
    """In how many rows which condition is ahead, if all conditions were run."""
    run = {entry.condition for entry in entries if entry.score is not None}
    wanted = dict.fromkeys(entry.condition for entry in entries if not entry.is_papers_alone)
    absent = [name for name in wanted if name not in run]
    if absent:
        yield f"{', '.join(absent)}: not run yet"
        return
    rows: dict[tuple[object, ...], list[Entry]] = {}
    for entry in entries:
        rows.setdefault((entry.layout, entry.partner, entry.seat), []).append(entry)
    best = [near_best(row) for row in rows.values()]
    compared = [near for near in best if near]
    ahead = Counter(next(iter(near)) for near in compared if len(near) == 1)
    if not compared:
        return
    populations = {entry.score.populations for entry in entries if entry.score is not None}
    of = "some means are of" if len(populations) > 1 else "means of"
    note = f" ({of} one population)" if 1 in populations else ""
    if not ahead:
        yield f"nobody is ahead by more than {CLOSE:g} in any of {len(compared)} rows{note}"
        return
    (first, times), *others = ahead.most_common()
    also = "".join(f", {name} in {number}" for name, number in others)
    yield f"{first} is ahead by more than {CLOSE:g} in {times} of {len(compared)} rows{also}{note}"


def _decided(claims: Sequence[Claim]) -> Iterator[str]:
    """How many cases of the paper's claims hold."""
    if not claims:
        return
    times = Counter(claim.verdict for claim in claims)
    missing = sum(claim.statistic in NOT_COMPARED for claim in claims)
    yield (
        f"the paper's claims hold in {times[AGREES]} of {len(claims)} cases, do not hold in "
        f"{times[DISAGREES]}, and are open in {times[OPEN]}, of which {missing} cannot be compared "
        "yet"
    )
