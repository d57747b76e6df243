"""The sentence that a page opens with."""

from dataclasses import replace

from cochef.reproduction.claims import AGREES, Claim
from cochef.reproduction.findings import NOTHING, farthest, main_finding
from cochef.reproduction.origin import ResultOrigin
from cochef.reproduction.page import Page
from cochef.reproduction.scores import Entry, Score


def entry(condition, mean, partner="script:delivery", **origin):
    score = None
    if mean is not None:
        score = Score({0: mean}, agents=1, episodes=2, origin=ResultOrigin(**origin))
    return Entry("cramped_room", partner, None, condition, score)


def finding(*entries):
    page = Page()
    page.entries += entries
    return main_finding(page)


def test_a_page_of_which_nothing_was_run_says_so():
    assert finding() == NOTHING


def test_a_page_with_a_condition_that_was_not_run_names_it_and_compares_nothing():
    entries = [entry("hsp", 30.0), entry("fcp", 20.0), entry("mep", None)]
    assert finding(*entries) == "mep: not run yet."


def test_rows_are_counted_in_which_a_condition_is_clearly_ahead():
    entries = [entry("hsp", 30.0), entry("fcp", 20.0)]
    entries += [entry("hsp", 10.0, "stay"), entry("fcp", 20.0, "stay")]
    entries += [entry("hsp", 21.0, "random"), entry("fcp", 20.0, "random")]
    assert finding(*entries) == (
        "hsp is ahead by more than 5 in 1 of 3 rows, fcp in 1 (means of one population)."
    )
    assert finding(*entries[4:]) == (
        "nobody is ahead by more than 5 in any of 1 rows (means of one population)."
    )


def test_what_is_not_of_the_current_configuration_is_not_compared():
    old = [entry("hsp", 30.0, is_current=False), entry("fcp", 20.0)]
    new = [entry("hsp", 10.0, "stay"), entry("fcp", 20.0, "stay")]
    assert finding(*old, *new).startswith("fcp is ahead by more than 5 in 1 of 1 rows (")


def test_the_cell_that_is_farthest_from_the_papers_is_named():
    near, far = entry("hsp", 30.0), entry("fcp", 20.0)
    compared = [replace(near, published=(31.0, None)), replace(far, published=(50.0, 2.0))]
    sentence = "Farthest from the paper is fcp with script:delivery in cramped_room: 20.0 (1), "
    assert farthest(compared) == f"{sentence}the paper's 50.0 ± 2.0."
    assert farthest([near]) == "Nothing is compared with the paper yet."


def test_claims_are_counted_by_their_verdicts_after_what_the_page_says_itself():
    page = Page()
    decided = Claim("larger pools help", "in counter_circuit", "+3", AGREES, 0.01, 0.02)
    page.claims += [decided, Claim("larger pools help", "in coordination_ring", "not run")]
    counted = "he paper's claims hold in 1 of 2 cases, do not hold in 0, and are open in 1, "
    counted += "of which 1 cannot be compared yet."
    assert main_finding(page) == f"T{counted}"
    page.finding = "hsp is ahead"
    assert main_finding(page) == f"hsp is ahead; t{counted}"
