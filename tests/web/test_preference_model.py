"""The Plackett-Luce model and the power of studies, on made-up data with known answers."""

import itertools

import numpy as np
import pytest
from scipy.special import expit

from cochef.errors import InputError
from cochef.web import analysis, power, preference_model
from tests.web.test_analysis import AGENTS, RANKED, made_up_games

NAMES = ("A", "B", "C", "D")


def ranks_of(worths, people, seed=0):
    return preference_model.draw_ranks(np.array(worths), people, np.random.default_rng(seed))


def test_drawn_rankings_follow_the_models_probabilities():
    worths = np.array([1.0, 0.0, -0.5])
    ranks = ranks_of(worths, 40_000)
    weights = np.exp(worths)
    for first, second, third in itertools.permutations(range(3)):
        wanted = weights[first] / weights.sum() * weights[second] / weights[[second, third]].sum()
        drawn = (ranks[:, first] == 1) & (ranks[:, second] == 2)
        assert drawn.mean() == pytest.approx(wanted, abs=0.01)


def test_the_model_finds_the_worths_that_are_there():
    worths = np.array([1.2, 0.3, -0.4, -1.1])
    found = preference_model.fit(ranks_of(worths, 4_000))
    errors = np.sqrt(np.diag(found.covariance))
    assert (np.abs(found.worths - worths) < 0.15).all()
    assert (errors < 1.6).all()  # the sum of all worths is known by the prior alone
    contrasts = {
        (one.agent, one.other): one for one in preference_model.contrasts("x", NAMES, found)
    }
    assert contrasts["A", "B"].probability == pytest.approx(expit(0.9), abs=0.03)
    assert contrasts["A", "B"].high - contrasts["A", "B"].low < 0.06
    assert all(one.corrected < 1e-3 and one.corrected >= one.p_value for one in contrasts.values())


def test_its_intervals_miss_the_truth_about_as_often_as_they_say():
    missed = 0
    for seed in range(200):
        found = preference_model.fit(ranks_of([0.5, 0.0, 0.0, -0.5], 40, seed))
        (first, *_) = preference_model.contrasts("x", NAMES, found)
        missed += not first.low < expit(0.5) < first.high
    assert 2 <= missed <= 22  # 10 are expected


def test_where_all_agree_the_worths_are_finite_and_in_order():
    found = preference_model.fit(np.tile([1, 2, 3, 4], (12, 1)))
    assert np.isfinite(found.worths).all()
    assert (np.diff(found.worths) < -1).all()


def test_every_layout_and_all_together_have_their_pairs():
    found = analysis.worths(AGENTS, RANKED)
    assert [(one.layout, one.people) for one in found[::3]] == [
        ("circuit", 2),
        ("ring", 4),
        ("all", 6),
    ]
    ring = next(one for one in found if (one.layout, one.agent) == ("ring", "HSP"))
    assert ring.probability > 0.5


def test_the_powers_test_of_scores_is_that_of_the_mixed_model():
    games = made_up_games(people=12)
    for name, column in games.items():
        games[name] = column[games["layout"] == "ring"] if name != "layout" else column
    games["layout"] = np.full(len(games["score"]), "ring")
    games["score"] = games["score"] - 10 * games["seat"]
    fit = analysis.fits(AGENTS, games)[-1]
    scores = np.stack(
        [
            power._scores_of(AGENTS, games, games["participant"] == person).reshape(3, -1)
            for person in np.unique(games["participant"])
        ]
    )
    own = power.score_tests(scores)
    assert own == pytest.approx([one.corrected for one in fit.contrasts], abs=0.02)


def test_more_people_and_larger_differences_give_more_power_and_false_alarms_stay_rare():
    games = made_up_games(people=24)
    supposed = power.Suppositions(0.03, 0.7, simulations=200)
    small, large = power.study_power(AGENTS, games, (4, 24), supposed)
    assert small.scores < large.scores > 0.9
    assert small.rankings < large.rankings > 0.6
    for found in (small, large):
        assert found.false_scores < 0.12 and found.false_rankings < 0.12
    none = power.study_power(AGENTS, games, (4,), power.Suppositions(0.0, 0.5, simulations=100))
    assert none[0].scores < 0.1 and none[0].rankings < 0.1


def test_what_cannot_be_simulated_is_refused():
    with pytest.raises(InputError, match=r"above is 0.4; it takes a number from 0.5 to 0.999"):
        power.Suppositions(0.1, 0.4)
    with pytest.raises(InputError, match="people is 1; it takes a whole number from 2"):
        power.study_power(AGENTS, made_up_games(4), (1,), power.Suppositions(0.1, 0.6))
    with pytest.raises(InputError, match="rehearse the study first"):
        power.deviations(AGENTS, {})
