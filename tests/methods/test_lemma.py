"""Lemma 5.1 of the HSP paper on small games: every policy is soft-optimal for a hidden reward."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax, xlogy

from cochef.methods.parts import lemma
from cochef.methods.parts.lemma import with_fixed_partner

STATES = 5
ACTIONS = 3
DISCOUNT = 0.9
TEMPERATURE = 0.7


class MarkovGame:
    """Two players, a few states; random transitions [s, a_w, a_a, s'] and task rewards."""

    def __init__(self, seed):
        generator = np.random.default_rng(seed)
        concentration = np.full(STATES, 0.5)
        self.transitions = generator.dirichlet(concentration, size=(STATES, ACTIONS, ACTIONS))
        self.task = generator.normal(size=(STATES, ACTIONS, ACTIONS))
        self.policy = generator.dirichlet(np.ones(ACTIONS), size=STATES)  # pi_w, to be explained
        self.base_reward = generator.normal(size=STATES)  # the free choice b(s)


def soft_optimal(dynamics, rewards):
    """The policy that maximises reward and entropy, by soft value iteration."""
    values = np.zeros(STATES)
    for _ in range(400):
        action_values = rewards + DISCOUNT * dynamics @ values
        values = TEMPERATURE * logsumexp(action_values / TEMPERATURE, axis=1)
    return softmax(action_values / TEMPERATURE, axis=1)


def best_partner(game, policy):
    """pi_a, soft-optimal for the task against pi_w: the proof's first construction."""
    dynamics = np.einsum("sabn,sa->sbn", game.transitions, policy)
    return soft_optimal(dynamics, np.einsum("sab,sa->sb", game.task, policy))


def hidden_reward(dynamics, game):
    return lemma.hidden_reward(dynamics, game.policy, game.base_reward, DISCOUNT, TEMPERATURE)


@pytest.fixture(params=range(5))
def game(request):
    return MarkovGame(request.param)


@pytest.fixture
def partner(game):
    return best_partner(game, game.policy)


@pytest.fixture
def dynamics(game, partner):
    return with_fixed_partner(game.transitions, partner)


def test_a_fixed_partner_becomes_part_of_the_dynamics(game, partner, dynamics):
    for state in range(STATES):
        for action in range(ACTIONS):
            wanted = sum(
                partner[state, other] * game.transitions[state, action, other]
                for other in range(ACTIONS)
            )
            assert np.allclose(dynamics[state, action], wanted)


def test_the_hidden_reward_of_the_four_steps_makes_any_policy_soft_optimal(game, partner, dynamics):
    found = soft_optimal(dynamics, hidden_reward(dynamics, game))
    assert np.abs(found - game.policy).max() < 1e-5
    # The partner is at its best by construction: nobody gains by a change, an equilibrium.
    assert np.abs(best_partner(game, found) - partner).max() < 1e-5


def test_the_likeliest_action_is_paid_what_was_chosen(game, dynamics):
    rewards = hidden_reward(dynamics, game)
    likeliest = game.policy.argmax(axis=1)
    assert np.allclose(rewards[np.arange(STATES), likeliest], game.base_reward)


def test_no_other_policy_gets_more_reward_and_entropy(game, dynamics):
    rewards = hidden_reward(dynamics, game)

    def values(policy):
        gain = (policy * rewards).sum(axis=1) - TEMPERATURE * xlogy(policy, policy).sum(axis=1)
        following = np.einsum("sa,san->sn", policy, dynamics)
        return np.linalg.solve(np.eye(STATES) - DISCOUNT * following, gain)

    others = np.random.default_rng(9).dirichlet(np.ones(ACTIONS), size=(50, STATES))
    assert all((values(other) < values(game.policy)).all() for other in others)


def test_a_wrong_reward_gives_another_policy(game, dynamics):
    rewards = hidden_reward(dynamics, game)
    likeliest = game.policy.max(axis=1, keepdims=True)
    ignoring_the_future = TEMPERATURE * np.log(game.policy / likeliest) + game.base_reward[:, None]
    uniform = np.full((STATES, ACTIONS), 1 / ACTIONS)
    against_another_partner = hidden_reward(with_fixed_partner(game.transitions, uniform), game)
    for wrong in (
        ignoring_the_future,
        against_another_partner,
        -rewards,
        rewards + np.arange(ACTIONS) / 10,
    ):
        assert np.abs(soft_optimal(dynamics, wrong) - game.policy).max() > 1e-2


def test_a_policy_that_never_takes_some_action_is_refused(game, dynamics):
    never = np.eye(ACTIONS)[np.zeros(STATES, int)]
    with pytest.raises(ValueError, match="it takes probabilities above 0"):
        lemma.hidden_reward(dynamics, never, game.base_reward, DISCOUNT, TEMPERATURE)
