"""What came out of an evaluation, in one sentence with its statistic."""

import numpy as np

from cochef.evaluation.comparisons import ALL_PARTNERS, Comparison, compare, seed_means
from cochef.evaluation.records import Records
from cochef.evaluation.tables import mean_text, p_text


def main_finding(records: Records) -> str:
    """How the first method compares with the best of the others, or how a single one does."""
    first, *others = records.labels("agent")
    if not others:
        return _single(records, first)
    rivals = [compare(records, first, other)[0] for other in others]
    # The others' strongest: where the first is least ahead.
    return _versus(min(rivals, key=_lead), records, len(others))


def _lead(comparison: Comparison) -> float:
    return comparison.difference.mean


def _single(records: Records, agent: str) -> str:
    means = {}
    for partner, seeds in seed_means(records, agent).items():
        means[partner] = float(np.mean(list(seeds.values())))
    worst = min(means, key=means.__getitem__)
    best = max(means, key=means.__getitem__)
    summary = records.summary()
    score = mean_text(float(np.mean(list(means.values()))), None)
    lowest = f"{means[worst]:.1f}"
    highest = f"{means[best]:.1f}"
    with_whom = f"over {len(means)} partners, from {lowest} with {worst} to {highest} with {best}"
    if lowest == highest:
        with_whom = f"with each of {len(means)} partners"
    if len(means) == 1:
        with_whom = f"with {worst}"
    of_seeds = _deviation(summary.seed_deviation, summary.seeds, records)
    return f"{agent} scores {score} {with_whom}{of_seeds}."


def _deviation(deviation: float | None, seeds: int, records: Records) -> str:
    if deviation is None:
        return " (a single agent)"
    return f" (standard deviation {deviation:.1f} over {seeds} {_seeds_word(records)})"


def _versus(row: Comparison, records: Records, others: int) -> str:
    found = row.difference
    with_whom = f"over {len(records.labels('partner'))} partners"
    if row.partner != ALL_PARTNERS:
        with_whom = f"with {row.partner}"
    best = ", the best of the others," if others > 1 else ""
    direction = "more" if found.mean > 0 else "less"
    amount = f"{abs(found.mean):.1f} {direction} than {row.second}"
    if found.mean == 0:
        amount = f"as much as {row.second}"
    if found.low is None or found.high is None:
        return (
            f"{row.first} scores {amount}{best} {with_whom}; with a single agent on a side nobody "
            "knows how far another training seed would differ."
        )
    seeds = f"{found.seeds} {_seeds_word(records)}"
    if not found.paired:
        seeds = f"{found.seeds} and {found.other_seeds} {_seeds_word(records)}"
    statistic = (
        f"95% interval {found.low:+.1f} to {found.high:+.1f}, "
        f"p = {p_text(row.corrected_p)}, {seeds}"
    ).replace("= <", "< ")
    if row.is_significant:
        return f"{row.first} scores {amount}{best} {with_whom} ({statistic})."
    return (
        f"{row.first} scores {amount}{best} {with_whom}, "
        f"which training seeds alone may explain ({statistic})."
    )


def _seeds_word(records: Records) -> str:
    return "populations" if records.unit == "population_seed" else "agents"
