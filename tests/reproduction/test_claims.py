"""Claims are decided by tests over populations, with made-up numbers whose answer is known."""

import pytest
from scipy import stats

from cochef.reproduction import claims
from cochef.reproduction.claims import PopulationMeans
from cochef.reproduction.origin import ResultOrigin
from cochef.reproduction.scores import Score

CLEAR = {0: 10.0, 1: 11.0, 2: 9.0}
NEAR_ZERO = {0: -1.0, 1: 1.0, 2: 0.0}


OURS = ResultOrigin(commits=frozenset({"new"}))
OLD = ResultOrigin(is_current=False, commits=frozenset({"old"}))


def case(claim, *layouts, origin=OURS):
    """The only tested case of its topic."""
    leads = [PopulationMeans(layout, origin) for layout in layouts]
    (found,) = claims.corrected([claim(claims.SCRIPTED, "a case", *leads)])
    return found


def test_a_lead_is_over_the_populations_that_both_have():
    ours = PopulationMeans({0: 5.0, 1: 7.0, 3: 1.0})
    found = claims.lead(ours, PopulationMeans({1: 4.0, 3: 2.0, 4: 9.0}))
    assert found.by_population == {1: 3.0, 3: -1.0}


def test_means_are_over_populations_that_every_score_has_and_missing_scores_leave_none():
    one = Score({0: 10.0, 1: 20.0}, 1, 1)
    two = Score({1: 40.0, 2: 0.0}, 1, 1)
    assert claims.averaged([one, two]).by_population == {1: 30.0}
    assert claims.averaged([one, None]).by_population == {}
    assert claims.averaged([]).by_population == {}


def test_a_case_whose_sides_are_not_all_current_is_open_and_says_so():
    ours = claims.averaged([Score(CLEAR, 1, 1, OURS), Score(CLEAR, 1, 1, OURS)])
    for leads in (
        [claims.lead(ours, claims.averaged([Score(NEAR_ZERO, 1, 1, OLD)]))],
        [claims.lead(claims.averaged([Score(CLEAR, 1, 1, OLD)]), ours)],
        [PopulationMeans(CLEAR, OURS), PopulationMeans(CLEAR, OLD)],
    ):
        (found,) = claims.corrected([claims.ahead(claims.SCRIPTED, "a case", *leads)])
        assert (found.verdict, found.p, found.corrected_p) == (claims.OPEN, None, None)
        assert found.statistic == "† not of one current configuration"


def test_sides_without_a_population_in_common_are_not_compared():
    apart = claims.lead(PopulationMeans({0: 1.0}), PopulationMeans({1: 1.0}))
    assert claims.ahead(claims.SCRIPTED, "a case", apart).statistic == claims.NO_COMMON
    missing = claims.lead(PopulationMeans({0: 1.0}), PopulationMeans({}))
    assert claims.ahead(claims.SCRIPTED, "a case", missing).statistic == "not run"


def test_a_case_of_several_commits_is_decided_and_marked():
    newer = ResultOrigin(commits=frozenset({"newer"}))
    means = [Score({0: 90.0, 1: 95.0, 2: 85.0}, 1, 1, OURS), Score(NEAR_ZERO, 1, 1, newer)]
    leads = claims.lead(*(claims.averaged([score]) for score in means))
    (found,) = claims.corrected([claims.ahead(claims.SCRIPTED, "a case", leads)])
    assert found.verdict == claims.AGREES
    assert found.origin.marks == " ‡"
    assert found.sentence.endswith(" ‡")
    assert "‡" not in case(claims.ahead, CLEAR).sentence


def test_in_one_layout_the_test_is_the_paired_t_test():
    found = claims.lead_test([CLEAR], against=5.0)
    same = stats.ttest_1samp(list(CLEAR.values()), 5.0)
    interval = same.confidence_interval(0.95)
    assert (found.mean, found.freedom) == pytest.approx((10.0, 2.0))
    assert (found.low, found.high, found.p) == pytest.approx(
        (interval.low, interval.high, same.pvalue)
    )


def test_over_two_layouts_it_is_welchs_test_of_both_with_its_degrees_of_freedom():
    first = [10.0, 12.0, 9.0, 11.0]
    second = [1.0, 5.0, -3.0]
    found = claims.lead_test([dict(enumerate(first)), dict(enumerate(second))])
    # The mean of two means is 0 exactly if the first equals the negated second.
    same = stats.ttest_ind(first, [-value for value in second], equal_var=False)
    assert found.mean == pytest.approx((10.5 + 1.0) / 2)
    assert (found.p, found.freedom) == pytest.approx((same.pvalue, same.df))
    assert (found.populations, found.layouts) == (3, 2)


def test_many_layouts_have_more_degrees_of_freedom_than_their_average_would():
    found = claims.lead_test([CLEAR] * 5)
    assert found.freedom == pytest.approx(10.0)
    assert found.high - found.low < 2.5  # of one layout alone: 4.97


@pytest.mark.parametrize(
    ("claim", "leads", "verdict"),
    [
        (claims.ahead, CLEAR, claims.AGREES),
        (claims.ahead, NEAR_ZERO, claims.OPEN),
        (claims.ahead, {seed: -lead for seed, lead in CLEAR.items()}, claims.DISAGREES),
        (claims.not_below, NEAR_ZERO, claims.AGREES),
        (claims.not_below, {0: -6.0, 1: -4.0, 2: -5.0}, claims.OPEN),
        (claims.not_below, {seed: -lead for seed, lead in CLEAR.items()}, claims.DISAGREES),
    ],
)
def test_the_corrected_p_decides_and_with_one_case_so_does_the_interval(claim, leads, verdict):
    found = case(claim, leads)
    assert found.verdict == verdict
    assert (found.p < claims.LEVEL) == (verdict != claims.OPEN)


def test_not_below_is_tested_against_the_margin():
    found = case(claims.not_below, NEAR_ZERO)
    assert found.p == pytest.approx(stats.ttest_1samp([-1.0, 1.0, 0.0], -5.0).pvalue)
    assert "against -5" in found.statistic


@pytest.mark.parametrize(
    ("layouts", "said"),
    [
        ([{}], "not run"),
        ([CLEAR, {}], "not run"),
        ([{0: 50.0}], "one population: +50.00, no test with fewer than 3"),
        ([CLEAR, {0: 20.0}], "one population: +15.00, no test with fewer than 3"),
        ([{0: 50.0, 1: 51.0}], "2 populations: +50.50, no test with fewer than 3"),
        ([{0: 0.0, 1: 0.0, 2: 0.0}], "3 populations that do not differ: +0.00, no test"),
        ([{0: 0.1 + 0.2, 1: 0.3, 2: 0.3}], "3 populations that do not differ: +0.30, no test"),
    ],
)
@pytest.mark.parametrize("claim", [claims.ahead, claims.not_below])
def test_what_cannot_be_tested_is_open(claim, layouts, said):
    found = case(claim, *layouts)
    assert (found.verdict, found.p, found.p_text) == (claims.OPEN, None, "-")
    assert found.statistic == said


def test_cases_are_corrected_within_their_topic_and_untested_ones_do_not_count():
    cases = [
        claims.Claim("one", "a", "", claims.AGREES, 0.01),
        claims.Claim("two", "b", "", claims.AGREES, 0.04),
        claims.Claim("one", "c", "not run"),
        claims.Claim("one", "d", "", claims.AGREES, 0.03),
        claims.Claim("one", "e", "", claims.DISAGREES, 0.2),
    ]
    found = claims.corrected(cases)
    assert [claim.corrected_p for claim in found] == pytest.approx([0.03, 0.04, None, 0.06, 0.2])
    assert [claim.verdict for claim in found] == [claims.AGREES] * 2 + [claims.OPEN] * 3
    assert found[3].p_text == "0.030 (0.060)"


def test_what_holds_alone_is_open_beside_many_other_cases():
    leads = PopulationMeans({0: 6.0, 1: 10.0, 2: 8.0})
    one = claims.ahead(claims.SCRIPTED, "a case", leads)
    assert one.p < claims.LEVEL
    assert claims.corrected([one])[0].verdict == claims.AGREES
    assert {case.verdict for case in claims.corrected([one] * 10)} == {claims.OPEN}
