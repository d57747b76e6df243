"""Theorem 5.1 of the HSP paper on small games: hidden rewards stand for people."""

import itertools

import numpy as np
import pytest

from cochef.methods.parts.theorem import (
    check_theorem,
    random_game,
    random_people,
    round_policies,
)

LEVELS = (4, 8, 64)


@pytest.fixture(scope="module", params=[0, 4])
def game(request):
    return random_game(request.param)


@pytest.fixture(scope="module")
def people(game):
    return random_people(game, 200, 4)


@pytest.fixture(scope="module")
def checks(game, people):
    return check_theorem(game, people, LEVELS)


def test_every_bound_of_the_proof_holds_and_tightens_with_finer_rounding(checks):
    assert all(check.holds for check in checks)
    for coarse, fine in itertools.pairwise(checks):
        assert fine.rounding < coarse.rounding
        assert fine.change < coarse.change
        assert fine.epsilon < coarse.epsilon
    assert checks[-1].gap < 1e-3


def test_every_rounded_policy_has_a_reward_of_its_own_that_leads_back_to_it(checks, people):
    for check in checks:
        rounded = np.unique(round_policies(people, check.levels), axis=0)
        assert check.hidden_rewards == len(rounded)
        assert check.recovery < 1e-9


def test_coarse_rounding_may_choose_another_policy_and_lose_with_people():
    game = random_game(4)
    check, _ = check_theorem(game, random_people(game, 200, 4), (4, 64))
    assert 0 < check.gap <= check.epsilon


def test_the_best_with_people_is_found_by_playing_it_out(game, people, checks):
    """Every deterministic policy with the mean person's return, summed up step by step."""
    best = -np.inf
    for choice in itertools.product(range(game.actions), repeat=len(game.start)):
        rows = np.arange(len(game.start))
        transitions = game.transitions[rows, :, choice]  # [states, person's actions, states]
        rewards = game.task_reward[rows, :, choice]
        total = 0.0
        where = np.tile(game.start, (len(people), 1))
        for step in range(60):
            total = total + game.discount**step * np.einsum("ps,psa,sa->p", where, people, rewards)
            where = np.einsum("ps,psa,san->pn", where, people, transitions)
        best = max(best, total.mean())
    assert checks[0].best_with_people == pytest.approx(best, abs=1e-9)


def test_rounding_takes_the_nearest_policy_that_takes_every_action():
    levels = 7
    policies = np.random.default_rng(0).dirichlet(np.full(3, 0.4), size=(40, 1))
    grid = [
        counts for counts in itertools.product(range(1, levels), repeat=3) if sum(counts) == levels
    ]
    distances = np.abs(policies - np.array(grid) / levels).sum(axis=-1)
    found = np.abs(policies - round_policies(policies, levels) / levels).sum(axis=-1)[:, 0]
    assert found == pytest.approx(distances.min(axis=1))


def test_as_few_levels_as_actions_are_refused():
    with pytest.raises(ValueError, match="levels is 3; it takes more than the 3 actions"):
        round_policies(np.full((1, 1, 3), 1 / 3), 3)
