"""From stored results to pages: one for each experiment, an index, and the table of the README."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cochef import methods
from cochef.errors import InputError
from cochef.evaluation import tables
from cochef.evaluation.report import MARKDOWN, Lead
from cochef.evaluation.tables import ResultTable
from cochef.experiments.jobs import JobStore
from cochef.files import read_limited, write_whole
from cochef.reproduction import comparison, conclusions, findings, origin, plan, stored
from cochef.reproduction.claims import OPEN, Claim, corrected
from cochef.reproduction.declared import Experiment, Stored, no_goals
from cochef.reproduction.origin import SEVERAL_COMMITS
from cochef.reproduction.page import Page
from cochef.reproduction.plan import Plan, Scope
from cochef.reproduction.scores import (
    CLOSE,
    NOT_RUN,
    Entry,
    near_best,
)
from cochef.reproduction.stored import ResultKey, Results, StoredResult

INDEX = "index.md"
BEGIN = "<!-- results: written by `cochef reproduce`; do not edit -->"
END = "<!-- end of results -->"
_MAX_README = 1024**2
_COMMIT = 12  # digits that are shown


def collect(planned: Plan, store: JobStore, root: Path) -> int:
    """Copy the results of all goals that are done; how many there are."""
    done = 0
    scope = planned.scope
    for block, goal in planned.goals:
        key = {
            "condition": goal.condition,
            "layout": block.layout,
            "seed": block.seed,
            "preset": scope.preset,
            "agents": scope.agents_each,
        }
        done += stored.collect(root, store, goal.job, key) is not None
    return done


def open_results(root: Path, scope: Scope) -> Stored:
    """The stored results of a scope's preset, with what this program would run now."""
    # Configurations do not depend on the population, so one is enough.
    one = replace(scope, seeds=scope.seeds[:1])
    planned = plan.make(one)
    goals = [(goal.condition, block.layout, goal.job) for block, goal in planned.goals]
    results = Results(root, scope.preset, stored.current_configurations(goals))
    wanted: dict[str, frozenset[ResultKey]] = {}
    for block, goal in planned.goals:
        key = ResultKey(goal.job.stage.kind, goal.condition, block.layout)
        for name in block.experiments:
            wanted[name] = wanted.get(name, frozenset()) | {key}
    return Stored(results, scope.layouts, wanted)


@dataclass(frozen=True)
class _ShownExperiment:
    experiment: Experiment
    page: Page


def write(found: Stored, scope: Scope, directory: Path) -> list[Path]:
    """Write the pages of a scope's experiments and the index; the paths of the pages."""
    shown = []
    for experiment in scope.experiments:
        about = replace(found, layouts=scope.layouts_of(experiment) or scope.layouts)
        shown.append(_ShownExperiment(experiment, experiment.show(about)))
    paths = []
    for one in shown:
        name = one.experiment.name
        where = ", ".join(one.experiment.paper) or "beyond the paper"
        one.page.add_claim_table()
        marks = "".join(origin.key(block.markdown() for block in one.page.blocks))
        if one.experiment.goals is not no_goals:
            one.page.blocks.insert(0, _note(found, one.page))
        sentence = one.page.titled(findings.main_finding(one.page))
        one.page.blocks.insert(0, Lead(f"{sentence} {marks}".rstrip()))
        one.page.write(f"{one.experiment.title} ({where})", directory / name)
        paths.append(directory / name / MARKDOWN)
    write_whole(directory / INDEX, _index(found, shown).encode())
    state = [stored.as_row(result) for result in found.results.wanted]
    if state:
        write_whole(directory / "state.csv", tables.as_csv(state))
    return [directory / INDEX, *paths]


def _note(found: Stored, page: Page) -> ResultTable:
    """Where the numbers are from, how cells are to be read, and what marks mean that it has."""
    rows = [("preset", found.preset)]
    if any(isinstance(block, ResultTable) for block in page.blocks):
        rows += [
            ("ours", "mean ± standard deviation over populations (number of populations)"),
            ("one population", "has no deviation, and no statistic; its agents are averaged first"),
            ("bold", "within 5 of the best of the row, among current results"),
        ]
    rows += origin.key(block.markdown() for block in page.blocks).items()
    return ResultTable("How to read this page", ("", ""), tuple(rows))


def _index(found: Stored, shown: Sequence[_ShownExperiment]) -> str:
    every = found.results.wanted
    current = sum(map(found.results.is_current, every))
    parts = [
        "# Results\n",
        "Written by `cochef reproduce` from the results in `results/`; nothing is typed by hand.\n",
        f"Preset `{found.preset}`: {len(every)} results are stored, of "
        f"{_counted(len({result.seed for result in every}))}; this program would run {current} of "
        "them so now.\n",
        _experiment_table(found, shown).markdown(),
        "## What is stored\n",
        conclusions.folded(
            "Every cell, its steps and the code", _state_table(every, found).markdown()
        ),
    ]
    others = found.results.others()
    if others:
        parts.append(
            f"{len(others)} stored results are left out, as their cells show others: results of "
            "different configurations or versions are never mixed in a cell.\n"
        )
    claims = [claim for one in shown for claim in one.page.claims]
    entries = {one.experiment.name: one.page.entries for one in shown}
    parts += [
        "## Claims\n",
        conclusions.topic_table(claims).markdown(),
        conclusions.distance_table(entries).markdown(),
        f"{findings.farthest(itertools.chain(*entries.values()))}\n",
        conclusions.sections(claims, found.results),
    ]
    meanings = origin.key(parts).items()
    parts[3:3] = [f"{mark}: {meaning}.\n" for mark, meaning in meanings]
    return "\n".join(parts)


def _counted(populations: int) -> str:
    return "one population" if populations == 1 else f"{populations} populations"


def _experiment_table(found: Stored, shown: Sequence[_ShownExperiment]) -> ResultTable:
    every = found.results.every
    stored_keys = {result.key for result in every}
    current_keys = {result.key for result in every if found.results.is_current(result)}
    rows = []
    for one in shown:
        title = one.page.titled(one.experiment.title)
        link = f"[{title}]({one.experiment.name}/{MARKDOWN})"
        wanted = found.wanted.get(one.experiment.name, frozenset())
        state = "-"
        if wanted:
            current = len(wanted & current_keys)
            state = f"{current} / {len(wanted & stored_keys)} of {len(wanted)}"
        where = ", ".join(one.experiment.paper) or "-"
        rows.append((link, where, state, _verdicts(one.page.claims)))
    header = ("page", "in the paper", "current / stored of wanted", "claims")
    note = (
        "Current / stored of wanted: of how many conditions and layouts there are results as this "
        "program would run them now, of how many there are any, and how many the page shows; "
        "- needs none."
    )
    return ResultTable("Tables and figures", header, tuple(rows), note=note)


def _verdicts(claims: Sequence[Claim]) -> str:
    times = Counter(claim.verdict for claim in claims)
    return ", ".join(f"{times[verdict]} {verdict}" for verdict in times) or "-"


def _versions(results: Sequence[StoredResult]) -> str:
    """The commits of the code that made results and their inputs; versions where none is known."""
    found = [commit[:_COMMIT] for commit in stored.commits(results)]
    unknown = {str(one.code["cochef"]) for one in results if not one.commits}
    text = ", ".join(dict.fromkeys([*found, *sorted(unknown)]))
    return text if len(found) <= 1 else f"{text} {SEVERAL_COMMITS}"


def _state_table(every: Sequence[StoredResult], found: Stored) -> ResultTable:
    """The state of every cell: populations, agents, steps, when, and which code."""
    rows = []
    for key in dict.fromkeys(result.key for result in every):
        results = found.results.select(key.kind, key.condition, key.layout)
        first = results[0]
        steps = [f"{name} {number:,}" for name, number in first.steps.items()]
        state = {
            "kind": key.kind,
            "condition": key.condition,
            "layout": key.layout,
            "seeds": ", ".join(str(one.seed) for one in results),
            "agents": str(first.agents),
            "steps of a policy": ", ".join(steps) or "-",
            "last": max(one.finished for one in results),
            "commits": _versions(results),
            "configuration": first.configuration,
            "current": "yes" if all(map(found.results.is_current, results)) else "no",
        }
        rows.append(state)
    body = sorted(tuple(row.values()) for row in rows)
    note = (
        f"Commits are of the code that ran, or versions where none is known; {SEVERAL_COMMITS} "
        "marks cells of several: of their populations, or of what these are made of."
    )
    header = tuple(rows[0]) if rows else ("kind",)
    return ResultTable("State of every cell", header, tuple(body), note=note)


def readme_table(found: Stored) -> ResultTable:
    """The table of the README: all methods with the paper's scripts, and the paper's means.

    A cell has its number of populations and its marks, as on the pages.
    """
    rows: dict[tuple[str, str], list[Entry]] = {}
    for entry in comparison.script_entries(found):
        rows.setdefault((entry.layout, entry.partner), []).append(entry)
    body = []
    bold = set()
    for (layout, partner), entries in rows.items():
        if all(entry.score is None for entry in entries):
            continue
        best = near_best(entries)
        for column, entry in enumerate(entries, start=2):
            if entry.condition in best:
                bold.add((len(body), column))
        cells = [_readme_cell(entry) for entry in entries]
        body.append((layout, partner.removeprefix("script:"), *cells))
    title = (
        "Mean task return with scripted partners that nobody was trained with "
        "(number of populations) / the paper's"
    )
    return ResultTable(title, ("layout", "partner", *methods.names()), tuple(body), frozenset(bold))


def _readme_cell(entry: Entry) -> str:
    ours = NOT_RUN
    if entry.score is not None:
        score = entry.score
        ours = f"{score.mean:.0f} ({score.populations}){score.origin.marks}"
    return ours if entry.published is None else f"{ours} / {entry.published[0]:.0f}"


def write_readme(found: Stored, path: Path) -> None:
    """Write the table between the markers of a README."""
    text = read_limited(path, _MAX_README, "a README").decode()
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise InputError(f"{path}: no place for the results; it needs the lines {BEGIN} and {END}")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    lines = "\n".join(_readme_lines(found))
    write_whole(path, f"{before}{BEGIN}\n\n{lines}\n{END}{after}".encode())


def _readme_lines(found: Stored) -> Iterator[str]:
    table = readme_table(found)
    yield table.markdown()
    for mark, meaning in origin.key(itertools.chain(*table.rows)).items():
        yield f"{mark}: {meaning}.\n"
    done = {row[0] for row in table.rows}
    missing = [layout for layout in found.layouts if layout not in done]
    if missing:
        yield f"Not run yet with this preset: {', '.join(missing)}.\n"
    entries = comparison.script_entries(found)
    yield (
        f"Preset `{found.preset}`, means over populations and both seats; bold is within "
        f"{CLOSE:g} of the best of its row; sp is plain self-play without a second stage. "
        f"{findings.farthest(entries)} {_decided(comparison.script_claims(entries))} All tables "
        "and figures of the paper, with deviations: [results](docs/results/index.md).\n"
    )


def _decided(claims: Iterable[Claim]) -> str:
    """How many cases of the claim of a table are decided, in a sentence."""
    verdicts = [claim.verdict for claim in corrected(claims)]
    open_ones = verdicts.count(OPEN)
    if open_ones == len(verdicts):
        return f"None of {open_ones} cases of the paper's claim is decided by these populations."
    return f"Of {len(verdicts)} cases of the paper's claim {len(verdicts) - open_ones} are decided."
