"""The last section says of every claim what the cases say, and nothing more."""

from dataclasses import replace

from cochef.reproduction import claims, conclusions
from cochef.reproduction.origin import Origin
from cochef.reproduction.scores import Entry, Score

HELD = claims.Claim(claims.SCRIPTED, "ahead of fcp", "+10.00", claims.AGREES, 0.01, 0.02)
BARELY = claims.Claim(claims.SCRIPTED, "ahead of mep", "+4.00", claims.AGREES, 0.04, 0.08)
REFUTED = claims.Claim(claims.SCRIPTED, "ahead of trajdiv", "-9.00", claims.DISAGREES, 0.01, 0.02)
UNTESTED = claims.Claim(claims.UNLIKE, "in a layout", "one population: +1, no test")
MIXED = replace(UNTESTED, origin=Origin(is_current=False))


def test_cases_are_counted_by_claim_and_claims_without_a_case_have_none():
    table = conclusions.topic_table([HELD, BARELY, REFUTED, UNTESTED])
    rows = {row[0]: row[1:] for row in table.rows}
    assert list(rows) == list(claims.TOPICS)
    assert rows[claims.SCRIPTED] == ("1", "1", "1")
    assert rows[claims.UNLIKE] == ("0", "0", "1")
    assert rows[claims.SAMPLING] == ("0", "0", "0")


def test_every_case_stands_in_the_section_of_its_verdict_with_its_statistic():
    text = conclusions.sections([HELD, REFUTED, UNTESTED, MIXED], "laptop")
    agree, rest = text.split("### Where we do not")
    disagree, rest = rest.split("### What the runs so far do not decide")
    undecided, reasons = rest.split("### Why numbers differ")
    assert f"{claims.SCRIPTED}: ahead of fcp: +10.00, p = 0.010 (0.020)" in agree
    assert "ahead of trajdiv: -9.00" in disagree
    assert "one population: +1, no test" in undecided
    counted = "2 cases, 0 of them not run, 1 † not of one current configuration"
    assert f"<summary>{claims.UNLIKE}: {counted}</summary>" in undecided
    assert "Training:" in reasons


def test_without_any_case_nothing_is_agreed_on():
    text = conclusions.sections([], "laptop")
    assert text.count("Nothing.") == 3


def test_distances_are_over_cells_that_both_have():
    def entry(ours, papers):
        score = None if ours is None else Score({0: ours}, 1, 1)
        return Entry("many_orders", "script:delivery", None, "hsp", score, papers)

    entries = [entry(10.0, (20.0, 1.0)), entry(50.0, (20.0, None)), entry(None, (1.0, 1.0))]
    table = conclusions.distance_table({"scripts": [*entries, entry(3.0, None)]})
    assert table.rows == (("scripts", "hsp", "2", "+10.0", "20.0"),)
