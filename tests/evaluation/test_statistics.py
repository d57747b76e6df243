"""Summaries against plain calculations."""

import itertools

import numpy as np
import pytest
from scipy import stats

from cochef.evaluation.statistics import (
    difference,
    event_difference,
    interquartile_mean,
    summarise,
)

CHANCE = np.random.default_rng(5)
SCORES = CHANCE.choice([0.0, 20.0, 40.0, 60.0, 200.0], size=120, p=[0.1, 0.3, 0.3, 0.2, 0.1])
SEEDS = np.repeat([0, 1, 2], 40)
STRATA = SEEDS * 2 + np.tile([0, 1], 60)


def plain_iqm(scores):
    cut = len(scores) // 4
    middle = sorted(scores)[cut : len(scores) - cut]
    return sum(middle) / len(middle)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 11, 120])
def test_the_interquartile_mean_is_the_mean_of_the_middle_half(count):
    assert interquartile_mean(SCORES[:count]) == pytest.approx(plain_iqm(SCORES[:count].tolist()))


def test_a_summary_gives_mean_deviation_of_seeds_and_error_of_episodes():
    summary = summarise(SCORES, SEEDS, STRATA)
    means = [SCORES[seed == SEEDS].mean() for seed in range(3)]
    assert summary.mean == pytest.approx(sum(SCORES) / 120)
    assert summary.seed_deviation == pytest.approx(
        (sum((m - sum(means) / 3) ** 2 for m in means) / 2) ** 0.5
    )
    assert summary.standard_error == pytest.approx(
        (((SCORES - SCORES.mean()) ** 2).sum() / 119 / 120) ** 0.5
    )
    assert summary.iqm == pytest.approx(plain_iqm(SCORES.tolist()))
    assert (summary.seeds, summary.episodes) == (3, 120)


def test_the_interval_is_that_of_a_plain_stratified_bootstrap():
    chance, estimates = np.random.default_rng(99), []
    for _ in range(4_000):
        drawn = [chance.choice(SCORES[stratum == STRATA], 20) for stratum in range(6)]
        estimates.append(plain_iqm(np.concatenate(drawn).tolist()))
    low, high = np.percentile(estimates, [2.5, 97.5])
    summary = summarise(SCORES, SEEDS, STRATA)
    assert summary.low == pytest.approx(low, abs=1.0)
    assert summary.high == pytest.approx(high, abs=1.0)
    assert summary.low < summary.iqm < summary.high


def test_strata_keep_their_weight_when_resampled():
    scores = np.repeat([0.0, 100.0], 50)
    apart = summarise(scores, np.zeros(100), strata=np.repeat([0, 1], 50))
    together = summarise(scores, np.zeros(100), strata=np.zeros(100))
    assert apart.low == apart.iqm == apart.high == 50.0
    assert together.low < 40.0
    assert together.high > 60.0


def test_the_same_scores_give_the_same_interval_every_time():
    assert summarise(SCORES, SEEDS, STRATA) == summarise(SCORES, SEEDS, STRATA)


def test_one_episode_has_no_error_and_one_seed_no_deviation():
    summary = summarise(np.array([40.0]), np.array([0]), np.array([0]))
    assert (summary.mean, summary.standard_error, summary.seed_deviation) == (40.0, 0.0, None)
    assert (summary.low, summary.iqm, summary.high) == (40.0, 40.0, 40.0)


def test_many_episodes_are_summarised_without_holding_all_resamples_at_once():
    scores = np.random.default_rng(7).normal(100, 10, size=2_000)
    summary = summarise(scores, np.zeros(2_000), np.zeros(2_000))
    # The interquartile mean of normal scores varies about a tenth more than their mean does.
    assert summary.high - summary.low == pytest.approx(3.92 * 10 * 1.1 / 2_000**0.5, rel=0.15)


def test_the_event_difference_is_the_normalised_distance_to_the_most_similar_policy():
    counts = CHANCE.integers(0, 50, size=(7, 9)).astype(float)
    counts[:, 4] = 0  # nobody ever does it
    counts[6] = counts[2]  # two that behave the same
    expected = []
    for i in range(7):
        distances = []
        for j in range(7):
            if i != j:
                scales = [max(counts[:, k]) or 1.0 for k in range(9)]
                distances.append(
                    sum(abs(counts[i, k] - counts[j, k]) / scales[k] for k in range(9))
                )
        expected.append(min(distances))
    assert event_difference(counts) == pytest.approx(expected)
    assert event_difference(counts)[[2, 6]].tolist() == [0.0, 0.0]


def test_the_event_difference_does_not_depend_on_the_order_or_the_unit_of_events():
    counts = CHANCE.integers(0, 50, size=(5, 4)).astype(float)
    for order in itertools.islice(itertools.permutations(range(4)), 5):
        assert event_difference(counts[:, order] * 3) == pytest.approx(event_difference(counts))


def by_seed(values):
    return dict(enumerate(values))


HSP = [212.0, 240.0, 199.0, 231.0, 225.0]
FCP = [180.0, 210.0, 190.0, 205.0, 188.0]


def test_seeds_that_both_methods_have_are_compared_one_by_one():
    found = difference(by_seed(HSP), by_seed(FCP))
    apart = np.array(HSP) - np.array(FCP)
    assert found.mean == pytest.approx(apart.mean())
    assert found.t_p == pytest.approx(stats.ttest_rel(HSP, FCP).pvalue)
    # All five are ahead: of 32 ways to exchange names, this one and its mirror are as extreme.
    assert found.permutation_p == pytest.approx(2 / 32)
    assert (found.paired, found.seeds, found.other_seeds) == (True, 5, 5)


def test_other_seeds_are_compared_as_two_groups_by_welch():
    found = difference(by_seed(HSP), by_seed(FCP[:3]))
    assert found.mean == pytest.approx(np.mean(HSP) - np.mean(FCP[:3]))
    assert found.t_p == pytest.approx(stats.ttest_ind(HSP, FCP[:3], equal_var=False).pvalue)
    assert (found.paired, found.seeds, found.other_seeds) == (False, 5, 3)
    assert not difference(by_seed(HSP), by_seed(FCP), paired=False).paired


def test_what_a_difference_is_does_not_depend_on_the_order_of_seeds():
    mixed = dict(sorted(by_seed(HSP).items(), reverse=True))
    assert difference(mixed, by_seed(FCP)) == difference(by_seed(HSP), by_seed(FCP))


def test_the_other_way_round_a_difference_has_the_other_sign_and_the_same_test():
    there = difference(by_seed(HSP), by_seed(FCP))
    back = difference(by_seed(FCP), by_seed(HSP))
    assert (back.mean, back.t_p) == (-there.mean, pytest.approx(there.t_p))
    assert back.low == pytest.approx(-there.high, abs=1.0)


def test_a_single_training_seed_has_a_difference_but_neither_interval_nor_test():
    found = difference({0: 30.0}, {0: 10.0})
    assert (found.mean, found.low, found.high) == (20.0, None, None)
    assert (found.t_p, found.permutation_p) == (None, None)


def test_methods_that_never_differ_are_not_told_apart():
    found = difference(by_seed([0.0] * 4), by_seed([0.0] * 4))
    assert (found.mean, found.low, found.high, found.t_p, found.permutation_p) == (0, 0, 0, 1, 1)


@pytest.mark.parametrize("seeds", [2, 3, 8])
@pytest.mark.parametrize("paired", [True, False])
def test_the_interval_over_seeds_holds_the_truth_as_often_as_it_says(seeds, paired):
    chance = np.random.default_rng(seeds)
    held = 0
    for _ in range(300):
        own = by_seed(chance.normal(105, 8, seeds))
        other = by_seed(chance.normal(100, 8, seeds))
        found = difference(own, other, paired=paired)
        held += found.low <= 5.0 <= found.high
    assert held / 300 > 0.92
