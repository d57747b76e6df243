"""Lemma 5.1 of the paper on a small game: for any policy there is a hidden reward that makes it soft-optimal."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax, xlogy

STATES, ACTIONS = 5, 3
DISCOUNT, TEMPERATURE = 0.9, 0.7


class MarkovGame:
    """Two players, a few states; random chances [s, a_w, a_a, s'] and task rewards [s, a_w, a_a]."""

    def __init__(self, seed):
        generator = np.random.default_rng(seed)
        self.chances = generator.dirichlet(np.full(STATES, 0.5), size=(STATES, ACTIONS, ACTIONS))
        self.task = generator.normal(size=(STATES, ACTIONS, ACTIONS))
        self.policy = generator.dirichlet(np.ones(ACTIONS), size=STATES)  # the pi_w to be explained
        self.offsets = generator.normal(size=STATES)  # the free choice b(s)

    def alone(self, partner):
        """The chances [s, a, s'] for pi_w once its partner is part of the world (P')."""
        return np.einsum("sabn,sb->san", self.chances, partner)


def soft_optimal(chances, rewards):
    """The policy that maximises reward and entropy, by soft value iteration, and its values."""
    values = np.zeros(STATES)
    for _ in range(400):
        worth = rewards + DISCOUNT * chances @ values
        values = TEMPERATURE * logsumexp(worth / TEMPERATURE, axis=1)
    return softmax(worth / TEMPERATURE, axis=1), values


def best_partner(game, policy):
    """pi_a, soft-optimal for the task against pi_w: the proof's first construction."""
    chances = np.einsum("sabn,sa->sbn", game.chances, policy)
    return soft_optimal(chances, np.einsum("sab,sa->sb", game.task, policy))[0]


def hidden_reward(chances, policy, offsets):
    """R_w(s, a) by the four steps of the proof; `offsets` is step 1, the choice of b."""
    favourite = policy.argmax(axis=1)
    states = np.arange(STATES)
    # Step 2: A(s, a) = alpha (log pi_w(a|s) - log pi_w(favourite|s)).
    advantage = TEMPERATURE * (np.log(policy) - np.log(policy[states, favourite])[:, None])
    # Step 3: V by walking with the favourite actions; V* = b + discount * E V along them.
    entropy = -xlogy(policy, policy).sum(axis=1)
    income = (policy * advantage).sum(axis=1) + offsets + TEMPERATURE * entropy
    walk = chances[states, favourite]
    values = np.linalg.solve(np.eye(STATES) - DISCOUNT * walk, income)
    peak = offsets + DISCOUNT * walk @ values
    # Step 4: R_w(s, a) = A(s, a) - discount * E[V(s') | s, a] + V*(s), which is b(s) for the favourite.
    return advantage - DISCOUNT * chances @ values + peak[:, None]


@pytest.fixture(params=range(5))
def game(request):
    return MarkovGame(request.param)


def test_the_hidden_reward_of_the_four_steps_makes_any_policy_soft_optimal(game):
    partner = best_partner(game, game.policy)
    chances = game.alone(partner)
    rewards = hidden_reward(chances, game.policy, game.offsets)
    found, _ = soft_optimal(chances, rewards)
    assert np.abs(found - game.policy).max() < 1e-5
    # The partner is at its best by construction: nobody wants to change, an equilibrium.
    assert np.abs(best_partner(game, found) - partner).max() < 1e-5


def test_the_favourite_action_is_paid_what_was_chosen(game):
    rewards = hidden_reward(game.alone(best_partner(game, game.policy)), game.policy, game.offsets)
    assert np.allclose(rewards[np.arange(STATES), game.policy.argmax(axis=1)], game.offsets)


def test_no_other_policy_earns_more_reward_and_entropy(game):
    chances = game.alone(best_partner(game, game.policy))
    rewards = hidden_reward(chances, game.policy, game.offsets)

    def earned(policy):
        income = (policy * rewards).sum(axis=1) - TEMPERATURE * xlogy(policy, policy).sum(axis=1)
        return np.linalg.solve(
            np.eye(STATES) - DISCOUNT * np.einsum("sa,san->sn", policy, chances), income
        )

    others = np.random.default_rng(9).dirichlet(np.ones(ACTIONS), size=(50, STATES))
    assert all((earned(other) < earned(game.policy)).all() for other in others)


def test_a_wrong_reward_gives_another_policy(game):
    chances = game.alone(best_partner(game, game.policy))
    rewards = hidden_reward(chances, game.policy, game.offsets)
    favourite = game.policy.max(axis=1, keepdims=True)
    ignoring_the_future = TEMPERATURE * np.log(game.policy / favourite) + game.offsets[:, None]
    against_another_partner = hidden_reward(
        game.alone(np.full((STATES, ACTIONS), 1 / ACTIONS)), game.policy, game.offsets
    )
    for wrong in (
        ignoring_the_future,
        against_another_partner,
        -rewards,
        rewards + np.arange(ACTIONS) / 10,
    ):
        assert np.abs(soft_optimal(chances, wrong)[0] - game.policy).max() > 1e-2
