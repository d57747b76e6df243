"""The end of the results: the paper's claims, where we agree, where not, and why we think so."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cochef.evaluation.tables import ResultTable
from cochef.experiments.presets import PRESETS
from cochef.reproduction import paper
from cochef.reproduction.claims import AGREES, DISAGREES, NOT_COMPARABLE, OPEN, TOPICS, Claim
from cochef.reproduction.origin import together
from cochef.reproduction.scores import NOT_RUN, Entry

VERDICTS = (AGREES, DISAGREES, OPEN)


def topic_table(claims: Sequence[Claim]) -> ResultTable:
    """Every claim of the paper: in how many cases it holds here, does not, or is open."""
    rows = []
    for topic in TOPICS:
        cases = [claim for claim in claims if claim.topic == topic]
        times = Counter(claim.verdict for claim in cases)
        rows.append((topic, *(str(times[verdict]) for verdict in VERDICTS)))
    title = "The paper's claims, in how many cases"
    return ResultTable(title, ("claim", *VERDICTS), tuple(rows))


def distance_table(entries: Mapping[str, Sequence[Entry]]) -> ResultTable:
    """How far our means are from the paper's, by page and condition."""
    rows = []
    for page, found in entries.items():
        by_condition: dict[str, list[float]] = {}
        for entry in found:
            if entry.difference is not None:
                by_condition.setdefault(entry.condition, []).append(entry.difference)
        for condition, differences in by_condition.items():
            mean = float(np.mean(differences))
            size = float(np.abs(differences).mean())
            scores = [
                entry.score
                for entry in found
                if entry.condition == condition and entry.score is not None
            ]
            marks = together(score.origin for score in scores).marks
            numbers = (f"{len(differences)}{marks}", f"{mean:+.1f}", f"{size:.1f}")
            rows.append((page, condition, *numbers))
    header = ("page", "condition", "cells", "ours minus the paper's", "its size")
    note = "Means over cells that both have. They describe; they test nothing."
    return ResultTable("How near our means are to the paper's", header, tuple(rows), note=note)


def sections(claims: Sequence[Claim], preset: str) -> str:
    """The last section, as Markdown."""
    titles = {AGREES: "Where we agree with the paper", DISAGREES: "Where we do not"}
    parts = ["## Agreement with the paper\n"]
    for verdict, title in titles.items():
        lines = [
            f"- {claim.topic}: {claim.sentence}" for claim in claims if claim.verdict == verdict
        ]
        parts.append(f"### {title}\n\n" + ("\n".join(lines) or "Nothing.") + "\n")
    undecided = "\n".join(_undecided(claims)) or "Nothing.\n"
    parts.append(f"### What the runs so far do not decide\n\n{undecided}")
    reasons = "\n".join(f"- {reason}" for reason in _reasons(preset))
    parts.append(f"### Why numbers differ, as far as we know\n\n{reasons}\n")
    return "\n".join(parts)


def _undecided(claims: Sequence[Claim]) -> Iterator[str]:
    """The open cases of each claim of the paper: there are many, so they are folded."""
    for topic in TOPICS:
        cases = [claim for claim in claims if (claim.topic, claim.verdict) == (topic, OPEN)]
        if not cases:
            continue
        missing = sum(claim.statistic == NOT_RUN for claim in cases)
        mixed = sum(not claim.origin.is_current for claim in cases)
        how_many = f"{len(cases)} case" + "s" * (len(cases) > 1)
        summary = f"{topic}: {how_many}, {missing} of them not run"
        if mixed:
            summary += f", {mixed} {NOT_COMPARABLE}"
        lines = "\n".join(f"- {claim.sentence}" for claim in cases)
        yield folded(summary, lines)


def folded(summary: str, markdown: str) -> str:
    """Markdown that a reader unfolds, on the site and where repositories are shown."""
    return f'<details markdown="1">\n<summary>{summary}</summary>\n\n{markdown}\n\n</details>\n'


def _reasons(preset: str) -> Iterator[str]:
    """What is different about our runs, from the configuration."""
    settings = PRESETS[preset]
    published = paper.numbers()["training"]
    first, second = settings.first_stage, settings.second_stage
    theirs = [published[stage]["total_steps"] for stage in ("first_stage", "second_stage")]
    yield (
        f"Training: policies of a first stage learn for {first.total_steps:,} steps and adaptive "
        f"agents for {second.training.total_steps:,} (the paper: {theirs[0]:,} and {theirs[1]:,}). "
        "What is found late may be missed, for all methods alike."
    )
    network = second.training.network
    yield (
        f"Networks: observations are a {network.observation.value} encoding, the recurrent layer "
        f"is a {network.recurrent_kind.value} of {network.recurrent} (the paper: convolutions over "
        "the grid, and a GRU)."
    )
    if settings.begin == "transfer":
        yield (
            "Start: adaptive agents and most biased pairs begin as trained task policies, not with "
            "fresh weights."
        )
    yield (
        "Human models: the paper's are the networks published in 2019. Ours are trained anew, by "
        "the recipe of 2019 (human-2019) and by our own (human-proxy), which scores less with "
        "itself; so levels with them differ for all methods alike, and differences between methods "
        "compare better."
    )
    yield (
        "Scripts: they are written from the paper's description, so that a script of the same name "
        "may act otherwise in what the description leaves open."
    )
    yield (
        "Statistics: the paper's ± is over five seeds. Here a claim is decided over populations of "
        "the same seeds, and with a single population nothing is."
    )
