"""Summaries against plain calculations."""

import itertools

import numpy as np
import pytest

from cochef.evaluation.statistics import event_difference, interquartile_mean, summarise

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
    assert (summary.mean, summary.standard_error, summary.seed_deviation) == (40.0, 0.0, 0.0)
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
