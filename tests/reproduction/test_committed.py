"""README, docs and the committed results agree, because one program wrote them."""

import re
from pathlib import Path

import pytest

from cochef import reproduction
from cochef.reproduction import pages, plan

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
MOST_BYTES = 20 * 1024**2

pytestmark = pytest.mark.skipif(not RESULTS.exists(), reason="no results are committed")


@pytest.fixture(scope="module")
def found():
    scope = plan.Scope(tuple(reproduction.chosen(["scripts"])))
    return pages.open_results(RESULTS, scope)


def test_the_table_of_the_readme_is_what_the_program_writes(found, tmp_path):
    copy = tmp_path / "README.md"
    copy.write_bytes((ROOT / "README.md").read_bytes())
    pages.write_readme(found, copy)
    assert copy.read_text() == (ROOT / "README.md").read_text()


def test_the_page_in_the_docs_has_the_same_numbers(found, tmp_path):
    pages.write(found, plan.Scope(tuple(reproduction.chosen(["scripts"]))), tmp_path)
    name = Path("scripts") / "report.md"
    assert (tmp_path / name).read_text() == (ROOT / "docs" / "results" / name).read_text()


def test_the_mean_of_a_cell_is_that_of_its_populations_and_theirs_of_their_episodes(found):
    table = (ROOT / "docs" / "results" / "scripts" / "scripts.csv").read_text()
    for layout in ("counter_circuit", "distant_tomato"):
        partner, mean = re.search(rf"{layout},(script:\w+),,hsp,([\d.]+),", table).groups()
        populations = found.results.select("evaluation", "hsp", layout)
        means = [mean_score(result, partner) for result in populations]
        assert means
        assert sum(means) / len(means) == pytest.approx(float(mean))


def mean_score(result, partner):
    """The mean score of all stored episodes of a population with a partner."""
    header, *rows = result.read("episodes.csv").decode().splitlines()
    place = header.split(",").index
    scores = [
        float(row.split(",")[place("score")])
        for row in rows
        if row.split(",")[place("partner")] == partner
    ]
    return sum(scores) / len(scores)


def test_the_committed_results_are_small():
    assert sum(path.stat().st_size for path in RESULTS.rglob("*")) < MOST_BYTES
