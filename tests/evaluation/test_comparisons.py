"""Differences between methods, what came out of them, and the files for a paper."""

import csv
import json

import numpy as np
import pytest

from cochef import provenance
from cochef.evaluation import comparisons, findings, plots, publication, tables
from cochef.evaluation.records import Records

HSP = {0: 200.0, 1: 230.0, 2: 215.0, 3: 222.0}
FCP = {0: 150.0, 1: 171.0, 2: 166.0, 3: 160.0}
PARTNERS = ("script:onion", "script:dish_50%")


def made(scores, unit="population_seed", partners=PARTNERS, drop=10):
    """Records with one episode a seat, by the mean of each method's training seeds.

    The second partner gives `drop` points less.
    """
    rows = []
    for agent, seeds in scores.items():
        for seed, mean in seeds.items():
            for number, partner in enumerate(partners):
                score = mean - drop * number
                rows += [(agent, seed, partner, 0, score - 1), (agent, seed, partner, 1, score + 1)]
    agents, seeds, with_whom, seats, values = map(np.array, zip(*rows, strict=True))
    zeros = np.zeros(len(rows), int)
    columns = {
        "agent": agents,
        "population_seed": zeros,
        "agent_seed": zeros,
        "partner": with_whom,
        "partner_seed": zeros,
        "seat": seats,
        "episode": zeros,
        "score": values,
        "agent_shaped": values / 4,
        "partner_potting_onion": zeros,
        "partner_potting_tomato": zeros,
    }
    for who in ("agent", "partner"):
        columns |= {f"{who}_placement_in_pot": zeros + 1, f"{who}_delivery": zeros + 1}
    return Records(columns | {unit: seeds})


RECORDS = made({"hsp": HSP, "fcp": FCP})
MANIFEST = {"layout": "narrow", "compared_events": ["delivery", "placement_in_pot"]}


def test_populations_are_the_unit_where_a_method_has_several_else_agents():
    assert RECORDS.unit == "population_seed"
    assert made({"hsp": HSP}, "agent_seed").unit == "agent_seed"
    assert made({"hsp": HSP, "stay": {0: 0.0}}).unit == "population_seed"


def test_methods_are_compared_over_all_partners_and_with_each():
    rows = comparisons.compare(RECORDS, "hsp", "fcp")
    assert [row.partner for row in rows] == ["all partners", *PARTNERS]
    lead = np.mean(list(HSP.values())) - np.mean(list(FCP.values()))
    assert [row.difference.mean for row in rows] == pytest.approx([lead] * 3)
    assert all(row.difference.paired and row.difference.seeds == 4 for row in rows)
    over_all, first, _ = rows
    assert over_all.corrected_p == over_all.difference.t_p
    assert first.corrected_p == pytest.approx(2 * first.difference.t_p)  # Holm, two partners
    assert first.is_significant


def test_agents_of_one_population_are_not_paired_by_their_number():
    rows = comparisons.compare(made({"hsp": HSP, "fcp": FCP}, "agent_seed"), "hsp", "fcp")
    assert not rows[0].difference.paired


def test_the_finding_says_how_far_ahead_with_its_statistic():
    sentence = findings.main_finding(RECORDS)
    assert sentence.startswith("hsp scores 55.0 more than fcp over 2 partners (95% interval +44.7")
    assert "p < 0.001, 4 populations" in sentence


def test_the_finding_names_the_strongest_of_several_others():
    records = made({"hsp": HSP, "sp": {seed: 20.0 + seed for seed in HSP}, "fcp": FCP})
    assert "more than fcp, the best of the others," in findings.main_finding(records)


def test_a_difference_that_seeds_may_explain_is_not_called_one():
    close = {seed: mean + (-1) ** seed * 9 for seed, mean in HSP.items()}
    sentence = findings.main_finding(made({"hsp": HSP, "mep": close}))
    assert "which training seeds alone may explain" in sentence


def test_equal_scores_are_not_said_to_range_from_one_partner_to_another():
    sentence = findings.main_finding(made({"hsp": {0: 0.0}}, drop=0))
    assert sentence == "hsp scores 0.0 with each of 2 partners (a single agent)."
    apart = findings.main_finding(made({"hsp": {0: 90.0}}))
    assert "85.0 over 2 partners, from 80.0 with script:dish_50% to 90.0 with script:on" in apart


def test_a_single_seed_is_said_to_be_one():
    sentence = findings.main_finding(made({"hsp": {0: 90.0}, "fcp": {0: 50.0}}))
    assert "40.0 more than fcp" in sentence
    assert "with a single agent on a side nobody knows" in sentence
    alone = findings.main_finding(made({"hsp": {0: 90.0}}))
    assert alone.endswith("(a single agent).")


@pytest.mark.parametrize(
    ("scores", "unit", "cell", "note"),
    [
        (HSP, "population_seed", "216.8 ± 12.7", "standard deviation over 4 populations."),
        (HSP, "agent_seed", "216.8 ± 12.7", "over 4 agents of one population."),
        ({0: 200.0}, "agent_seed", "200.0", "so no error over training is shown."),
    ],
)
def test_a_table_says_which_error_it_shows_and_none_with_one_seed(scores, unit, cell, note):
    table = tables.scores(made({"hsp": scores}, unit), "scores")
    assert table.rows[0][1] == cell
    assert table.note.endswith(note)


def test_latex_sets_names_as_they_are_and_numbers_to_the_right():
    text = tables.scores(RECORDS, "narrow_room: 100%").latex()
    assert r"\caption{narrow\_room: 100\%. $\pm$ is the standard deviation" in text
    assert r"script:dish\_50\% & \textbf{206.8 $\pm$ 12.7} & 151.8 $\pm$ 9.0 \\" in text
    assert r"\begin{tabular}{lrr}" in text


def test_everything_for_a_paper_is_written(tmp_path):
    names = publication.write(tmp_path, RECORDS, MANIFEST, ("svg",))
    assert {"tables.md", "tables.tex", "summary.csv", "differences.csv"} < set(names)
    assert {"crossplay.svg", "scores.svg", "differences.svg"} < set(names)
    assert sorted(names) == sorted(path.name for path in tmp_path.iterdir())
    with (tmp_path / "differences.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["partner"] == "all partners"
    assert float(rows[0]["mean"]) == pytest.approx(55.0)
    with (tmp_path / "summary.csv").open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 2 * 2 * 3  # agents, partners, seats


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_the_same_figure_has_the_same_bytes(tmp_path, ending):
    found = comparisons.compare_first(RECORDS)
    for name in ("a", "b"):
        plots.save(
            plots.method_differences(found, "agent_seed", "title"), tmp_path / f"{name}.{ending}"
        )
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_a_single_agent_has_no_differences(tmp_path):
    names = publication.write(tmp_path, made({"stay": {0: 0.0}}), MANIFEST, ("svg",))
    assert "differences.csv" not in names


def test_versions_and_commit_of_the_software_are_known():
    found = provenance.versions()
    assert {"cochef", "python", "jax", "jaxlib", "numpy"} < set(found)
    assert json.dumps(found)
    commit = provenance.commit()
    assert commit is None or len(commit.removesuffix("+")) == 40
