"""The sentence that a page opens with."""

import pytest

from cochef.reproduction.claims import AGREES, Claim
from cochef.reproduction.findings import NOTHING, main_finding
from cochef.reproduction.page import Page
from cochef.reproduction.scores import Entry, Score


def entry(condition, mean, partner="script:delivery"):
    score = None if mean is None else Score({0: mean}, agents=1, episodes=2)
    return Entry("cramped_room", partner, None, condition, score)


@pytest.mark.parametrize("entries", [[], [entry("hsp", None), entry("fcp", None)]])
def test_a_page_of_which_nothing_was_run_says_so(entries):
    page = Page()
    page.entries += entries
    assert main_finding(page) == NOTHING


def test_the_best_of_every_row_is_counted_where_several_conditions_were_run():
    page = Page()
    page.entries += [entry("hsp", 3.0), entry("fcp", 2.0), entry("mep", None)]
    page.entries += [entry("hsp", 1.0, "stay"), entry("fcp", 2.0, "stay")]
    page.entries += [entry("hsp", 5.0, "random"), entry("mep", 4.0, "random")]
    page.entries += [entry("fcp", 5.0, "script:onion_placement")]
    assert main_finding(page) == "hsp has the highest mean in 2 of 3 rows, fcp in 1."


def test_claims_are_counted_by_their_verdicts_after_what_the_page_says_itself():
    page = Page()
    decided = Claim("larger pools help", "in counter_circuit", "+3", AGREES, 0.01, 0.02)
    page.claims += [decided, Claim("larger pools help", "in coordination_ring", "not run")]
    counted = "he paper's claims hold in 1 of 2 cases, do not hold in 0, and are open in 1, "
    counted += "by too few populations or too small a difference."
    assert main_finding(page) == f"T{counted}"
    page.finding = "hsp is ahead"
    assert main_finding(page) == f"hsp is ahead; t{counted}"
