"""Methods on a matrix game: what each is for, seen in what its population does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.learning.population import Algorithm, RewardWeights
from cochef.methods import hsp, sp
from cochef.methods.hsp import BIASED
from cochef.methods.mep import PopulationEntropy
from cochef.methods.trajdiv import TrajectoryDiversity, divergence
from tests.methods.convention import Convention
from tests.methods.populations import task_weights, train

MEMBERS = 4
EQUAL = Convention(payoffs=(1.0,) * MEMBERS)  # as many conventions, all as good
SEEDS = range(6)
ADAPTING = 1 - BIASED  # the role of pi_a


def conventions(metrics):
    """The option that each member chooses most."""
    return np.asarray(metrics.events).sum(axis=1).argmax(axis=-1)


def covered(algorithm):
    """How many conventions the populations of all seeds have in all, and the least return."""
    weights = task_weights(EQUAL, MEMBERS)
    found = [train(EQUAL, algorithm, weights, seed, 150)[1] for seed in SEEDS]
    different = sum(len(set(conventions(metrics))) for metrics in found)
    return different, min(metrics.task_return.min() for metrics in found)


def test_mep_covers_conventions_that_plain_self_play_misses():
    plain, plain_return = covered(sp.POPULATION.algorithm)
    diverse, diverse_return = covered(Algorithm(intrinsic_reward=PopulationEntropy(0.3)))
    everything = MEMBERS * len(SEEDS)
    assert plain <= 0.85 * everything
    assert diverse >= 0.95 * everything
    assert min(plain_return, diverse_return) > 0.8


@pytest.fixture(scope="module")
def biased():
    """Members with hidden rewards in a game whose task pays most for agreeing on option 0.

    The weights of a row are those of the three options and of the task reward.
    """
    environment = Convention(payoffs=(1.0, 0.5, 0.5))
    hidden = jnp.array(
        [
            [0.0, 0.0, 3.0, 0.0],
            [-3.0, 0.0, 0.0, 1.0],
            [0.0, 0.0, 0.0, 1.0],
            [0.0, 0.0, -3.0, 1.0],
        ]
    )
    plain = task_weights(environment, len(hidden))
    weights = RewardWeights(
        events=plain.events.at[:, BIASED].set(hidden[:, :-1]),
        task=plain.task.at[:, BIASED].set(hidden[:, -1]),
        shaping=plain.shaping,
    )
    algorithm = hsp.POPULATION.algorithm
    _, metrics = train(environment, algorithm, weights, seed=0, iterations=150)
    return np.asarray(metrics.events), np.asarray(metrics.task_return)


def test_a_hidden_reward_is_followed_although_the_task_rewards_another_option(biased):
    events, _ = biased
    assert events[0, BIASED, 2] > 0.95


def test_the_sign_of_a_hidden_weight_turns_the_behaviour_round(biased):
    events, _ = biased
    assert events[0, BIASED, 2] > 0.95
    assert events[3, BIASED, 2] < 0.05
    assert events[1, BIASED, 0] < 0.05


def test_without_hidden_weights_the_task_is_done(biased):
    events, returns = biased
    assert events[2, BIASED, 0] > 0.95
    assert returns[2] > 0.9


def test_the_partner_adapts_to_the_biased_policy(biased):
    events, returns = biased
    assert events[0, ADAPTING, 2] > 0.9
    assert returns[0] > 0.9 * 0.5
    assert events[1, ADAPTING].argmax() == events[1, BIASED].argmax()
    assert events[2, ADAPTING].argmax() == 0


LONGER = Convention(payoffs=(1.0, 1.0), horizon=3)


def diversity(state):
    """The divergence of the trajectories of a population in self-play, from many of them."""
    actors = jax.tree.map(lambda leaf: leaf[:, 0], state.learners.actor)
    observations = jnp.eye(LONGER.horizon, dtype=jnp.uint8)

    def log_policy(actor):
        return jax.nn.log_softmax(actor.step(observations, actor.initial_carry(LONGER.horizon))[0])

    policies = jax.vmap(log_policy)(actors)
    shape = (*policies.shape[:2], 500)
    actions = jax.random.categorical(jax.random.key(0), policies[..., None, :], shape=shape)
    log_probs = jnp.take_along_axis(policies[:, None, :, None], actions[None, ..., None], axis=-1)[
        ..., 0
    ]
    start = jnp.zeros(actions.shape, bool).at[:, 0].set(True)
    return float(divergence(log_probs, jnp.arange(len(actions)), start, 0.5))


def test_trajdiv_raises_the_diversity_of_trajectories_over_plain_self_play():
    def trained(algorithm):
        weights = task_weights(LONGER, MEMBERS)
        return [train(LONGER, algorithm, weights, seed, 100) for seed in SEEDS]

    def mean_diversity(populations):
        return np.mean([diversity(state) for state, _ in populations])

    plain = trained(sp.POPULATION.algorithm)
    diverse = trained(Algorithm(auxiliary_loss=TrajectoryDiversity(weight=4.0, rows=16)))
    assert mean_diversity(diverse) > mean_diversity(plain) + 0.15
    for _, metrics in (*plain, *diverse):
        assert metrics.task_return.min() > 0.8 * LONGER.horizon
