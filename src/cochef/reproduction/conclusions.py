"""The end of the results: the paper's claims, where we agree, where not, and why we think so."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cochef.evaluation.tables import ResultTable
from cochef.reproduction import paper, trained
from cochef.reproduction.claims import (
    AGREES,
    DISAGREES,
    LEAST_POPULATIONS,
    NOT_COMPARABLE,
    NOT_COMPARED,
    OPEN,
    TOPICS,
    Claim,
)
from cochef.reproduction.origin import together
from cochef.reproduction.scores import Entry
from cochef.reproduction.stored import Results
from cochef.reproduction.trained import Settings, Trained

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


def sections(claims: Sequence[Claim], results: Results) -> str:
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
    reasons = "\n".join(f"- {reason}" for reason in _reasons(results))
    parts.append(f"### Why numbers differ, as far as we know\n\n{reasons}\n")
    return "\n".join(parts)


def _undecided(claims: Sequence[Claim]) -> Iterator[str]:
    """The open cases of each claim of the paper: there are many, so they are folded."""
    for topic in TOPICS:
        cases = [claim for claim in claims if (claim.topic, claim.verdict) == (topic, OPEN)]
        if not cases:
            continue
        missing = sum(claim.statistic in NOT_COMPARED for claim in cases)
        mixed = sum(not claim.origin.is_current for claim in cases)
        how_many = f"{len(cases)} case" + "s" * (len(cases) > 1)
        summary = f"{topic}: {how_many}, {missing} of them not run by the same populations"
        if mixed:
            summary += f", {mixed} {NOT_COMPARABLE}"
        lines = "\n".join(f"- {claim.sentence}" for claim in cases)
        yield folded(summary, lines)


def folded(summary: str, markdown: str) -> str:
    """Markdown that a reader unfolds, on the site and where repositories are shown."""
    return f'<details markdown="1">\n<summary>{summary}</summary>\n\n{markdown}\n\n</details>\n'


def _reasons(results: Results) -> Iterator[str]:
    """What is different about our runs, from the settings that are stored with them."""
    found = trained.read(results)
    if found.first and found.second:
        yield from _training_reasons(found)
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
    populations = trained.range_text(sorted(found.populations)) if found.populations else "no"
    yield (
        f"Populations: the paper's ± is over five seeds; cells of the main comparison have "
        f"{populations} here. A claim is decided over populations of the same seeds, and by at "
        f"least {LEAST_POPULATIONS}."
    )


def _training_reasons(found: Trained) -> Iterator[str]:
    """How training differs from the paper's."""
    published = paper.numbers()["training"]
    both, first, second = (published[name] for name in ("both", "first_stage", "second_stage"))
    steps = [
        trained.range_text(trained.values(o, "total_steps")) for o in (found.first, found.second)
    ]
    yield (
        f"Training: policies of a first stage learned for {steps[0]} steps and adaptive agents for "
        f"{steps[1]} (the paper: {first['total_steps']:,} and {second['total_steps']:,}). What is "
        f"found late may be missed, for all methods alike.{found.origin.marks}"
    )
    yield (
        f"Batch size: a policy of a first stage is updated after {_batches(found.first)}, an "
        f"adaptive agent after {_batches(found.second)} (the paper: {_batch(first | both)} and "
        f"{_batch(second | both)}). The paper finds larger batches more stable."
    )
    sampling = " or ".join(sorted({one["sampling"] for one in found.second}))
    stratified = (
        " Stratified gives every partner of the pool as many kitchens, where that adds few."
    )
    yield (
        f"Sampling of partners: {sampling} (the paper: {second['sampling']})."
        f"{stratified if 'stratified' in sampling else ''}"
    )
    networks = {_network(one["training"]["network"]) for one in found.second}
    yield (
        f"Networks: {' or '.join(sorted(networks))} (the paper: convolutions over the grid, and a "
        "GRU)."
    )
    if "transfer" in found.begins:
        yield (
            "Start: adaptive agents begin as final policies of a population with the task reward "
            "(FCP's as self-play's, HSP's and MEP's as MEP's, TrajDiv's as its own), and most "
            "biased pairs so, too, where the paper has fresh weights; what that changes is "
            "measured in [transfer](transfer/report.md)."
        )
    yield (
        "Tuning: the second stage was chosen by the returns of HSP's agents in distant_tomato, "
        "with their own pool and with held-out biased policies, and some of these choices followed "
        "evaluations in which HSP was weak; baselines have the same settings and were not tuned by "
        "themselves ([tuning log](../appendix/tuning.md))."
    )


def _batches(found: Sequence[Settings]) -> str:
    return " or ".join(sorted({_batch(one["training"]) for one in found}))


def _batch(training: Settings) -> str:
    """Of an update: kitchens, steps in each, and passes."""
    kitchens, steps = training["kitchens"], training["rollout_steps"]
    return (
        f"{kitchens * steps:,} steps ({kitchens} kitchens x {steps}, {training['epochs']} epochs)"
    )


def _network(network: Settings) -> str:
    observation, kind = network["observation"], network["recurrent_kind"]
    return (
        f"observations are a {observation} encoding, the recurrent layer is a {kind} of "
        f"{network['recurrent']}"
    )
