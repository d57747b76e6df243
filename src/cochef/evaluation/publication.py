"""From the records of an evaluation to a paper: tables, summaries and figures as files.

tables.md, tables.tex   the tables for a document and for LaTeX (package booktabs)
summary.csv             statistics of every agent, partner and seat, in full
differences.csv         differences between methods over training seeds, in full
crossplay, scores, differences   figures, as .svg, .pdf or .png
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from cochef.evaluation import comparisons, findings, plots, tables
from cochef.evaluation.records import Records
from cochef.evaluation.tables import ResultTable
from cochef.files import write_whole

DOCUMENT = "tables.md"
LATEX = "tables.tex"
SUMMARY = "summary.csv"
DIFFERENCES = "differences.csv"
_COMPARED = (DIFFERENCES, *(f"differences{ending}" for ending in plots.ENDINGS))

FILES = (
    *(DOCUMENT, LATEX, SUMMARY, *_COMPARED),
    *(f"{name}{ending}" for name in ("crossplay", "scores") for ending in plots.ENDINGS),
)


def score_table(records: Records, layout: str) -> ResultTable:
    """The mean score with every partner."""
    return tables.scores(records, f"{layout}: mean score of an episode")


def difference_table(records: Records, layout: str) -> ResultTable | None:
    """How far the first method is ahead of the others; None if there is only one."""
    found = comparisons.compare_first(records)
    return tables.differences(found, f"{layout}: differences in mean score") if found else None


def detail_tables(records: Records, manifest: Mapping[str, Any]) -> list[ResultTable]:
    """Statistics by seat, and how partners differ and share the work."""
    layout = manifest["layout"]
    compared = manifest["compared_events"]
    return [
        tables.details(records, f"{layout}: details"),
        tables.partners(records, compared, f"{layout}: partners"),
    ]


def write(
    directory: Path, records: Records, manifest: Mapping[str, Any], endings: Sequence[str]
) -> list[str]:
    """Write all tables, summaries and figures; the names of the files."""
    layout = manifest["layout"]
    found = comparisons.compare_first(records)
    overview = [score_table(records, layout)]
    if found:
        overview.append(tables.differences(found, f"{layout}: differences in mean score"))
    details = detail_tables(records, manifest)
    counted = [
        name
        for name in records.columns
        if name.startswith(("agent_", "partner_")) and not name.endswith("_seed")
    ]
    happened = [name for name in counted if records[name].any()]
    behaviour = tables.behaviour(records, f"{layout}: mean of an episode", happened)
    document = [table.markdown() for table in (*overview, *details, behaviour)]
    sentence = findings.main_finding(records)
    contents = {
        DOCUMENT: "\n".join([f"{sentence}\n", *document]).encode(),
        LATEX: "\n".join(table.latex() for table in (*overview, *details)).encode(),
        SUMMARY: tables.as_csv(tables.summary_rows(records)),
    }
    if found:
        contents[DIFFERENCES] = tables.as_csv(tables.difference_rows(found))
    else:
        remove(directory, _COMPARED)
    for name, content in contents.items():
        write_whole(directory / name, content)
    files = list(contents)
    for name, figure in figures(records, layout).items():
        paths = [directory / f"{name}.{ending}" for ending in endings]
        plots.save(figure, *paths)
        files += [path.name for path in paths]
    return files


def remove(directory: Path, names: Sequence[str] = FILES) -> None:
    """Remove the tables and figures of another evaluation."""
    for name in names:
        (directory / name).unlink(missing_ok=True)


def figures(records: Records, layout: str) -> dict[str, Figure]:
    """The figures of an evaluation, by name."""
    drawn = {
        "crossplay": plots.heat_map(records, f"{layout}: mean score"),
        "scores": plots.seed_scores(records, f"{layout}: mean score"),
    }
    found = comparisons.compare_first(records)
    if found:
        drawn["differences"] = plots.method_differences(
            found, records.unit, f"{layout}: differences"
        )
    return drawn
