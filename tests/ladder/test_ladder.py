"""Learners climb a ladder: each member is rewarded for another kind of event of one tiny game."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.network_config import NetworkConfig, RecurrentKind
from cochef.agents.networks import ValueHead
from cochef.learning.config import Schedule, TrainingConfig
from cochef.learning.population import Algorithm, RewardWeights
from cochef.learning.roles import TWO_LEARNERS
from cochef.learning.trainer import Trainer
from tests.ladder.game import Ladder, Rung

LADDER = Ladder()
DISCOUNT = 0.8
TASK = len(Rung)  # the member with the task reward, after one for every rung
# A rollout of 10 steps breaks off in an episode of 4, and so do a recurrent learner's chunks of 5.
CONFIG = TrainingConfig(
    kitchens=64,
    rollout_steps=10,
    random_starts=0.0,
    epochs=4,
    minibatches=2,
    chunk=5,
    learning_rate=Schedule(5e-3, 5e-4, 60_000),
    entropy=Schedule(0.01, 0.01, 1),
    discount=DISCOUNT,
    network=NetworkConfig(hidden=(16,)),
)
# What each is rewarded for: a rung, or the task; the hardest rung often.
MEMBERS = (*range(len(Rung) + 1), *[Rung.MEMORY] * 7)
NETWORKS = {
    "feed-forward": NetworkConfig(hidden=(16,)),
    "GRU": NetworkConfig(hidden=(16,), recurrent=16),
    "minGRU, shared trunk": NetworkConfig(
        hidden=(16, 16), recurrent=16, recurrent_kind=RecurrentKind.MINGRU, shared_trunk=True
    ),
}


def train(config, algorithm, weights, iterations):
    """The population at the end, and the mean metrics of the last rollouts.

    Two rollouts have as many steps as whole episodes.
    """
    trainer = Trainer(LADDER, algorithm, config, weights, jax.random.key(0))
    state = trainer.begin()
    every = []
    for iteration in range(iterations):
        state, metrics = trainer.iterate(state, iteration)
        every.append(metrics)
    return state, jax.tree.map(lambda *leaves: np.mean(leaves, axis=0), *every[-4:])


@pytest.fixture(scope="module", params=NETWORKS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def climbed(kind):
    one_hot = jnp.eye(len(Rung) + 1)[jnp.array(MEMBERS)]
    both = jnp.broadcast_to(one_hot[:, None], (len(MEMBERS), 2, len(Rung) + 1))
    weights = RewardWeights(both[..., :-1], both[..., -1], jnp.zeros_like(both[..., :-1]))
    return train(replace(CONFIG, network=NETWORKS[kind]), Algorithm(), weights, 120)


@pytest.fixture(scope="module")
def values(climbed):
    """Of each member in episodes of all possible signals: [members, step, episode]; the signals."""
    every = jnp.meshgrid(*[jnp.arange(2)] * LADDER.horizon, indexing="ij")
    signals = jnp.stack(every).reshape(LADDER.horizon, -1)
    elapsed = jnp.broadcast_to(jnp.arange(LADDER.horizon)[:, None], signals.shape)
    observations = jnp.moveaxis(LADDER.observation(elapsed, signals[None])[0], 0, -1)

    def values(learner):
        if isinstance(learner.critic, ValueHead):
            carry = learner.actor.initial_carry(signals.shape[1])
            features, _ = learner.actor.features(observations, elapsed == 0, carry)
            found = learner.critic(features, None)
        else:
            carry = learner.critic.initial_carry(signals.shape[1])
            found, _ = learner.critic.unroll(observations, elapsed == 0, carry)
        return learner.value_normalizer.denormalize(found[..., 0])

    learners = jax.tree.map(lambda leaf: leaf[:, 0], climbed[0].learners)
    return np.asarray(jax.vmap(values)(learners)), np.asarray(signals)


def times(metrics, rung, member=None):
    """How often an episode has what its learner is rewarded for."""
    return metrics.events[rung if member is None else member, :, rung]


def test_the_value_of_a_constant_reward_is_learned(values):
    found, _ = values
    for step in range(LADDER.horizon):
        expected = sum(DISCOUNT**later for later in range(LADDER.horizon - step))
        assert np.allclose(found[Rung.STEP, step], expected, atol=0.1)


def test_the_value_depends_on_the_observation(values):
    found, signals = values
    for step in range(LADDER.horizon):
        later = sum(0.5 * DISCOUNT**later for later in range(1, LADDER.horizon - step))
        expected = signals[step] + later
        assert np.allclose(found[Rung.SIGNAL, step], expected, atol=0.15)


def test_a_late_reward_is_foreseen_and_discounted_by_every_step(values):
    found, signals = values
    wanted = DISCOUNT ** (LADDER.horizon - 1) * signals[0]
    assert np.allclose(found[Rung.LATE_SIGNAL, 0], wanted, atol=0.1)


def test_only_a_recurrent_critic_knows_at_the_last_step_what_was_shown_at_the_first(values, kind):
    found, signals = values
    last = found[Rung.LATE_SIGNAL, -1]
    assert np.allclose(last, 0.5 if kind == "feed-forward" else signals[0], atol=0.2)


def test_a_rewarded_action_is_taken(climbed):
    assert (times(climbed[1], Rung.ACTION) > 0.97 * LADDER.horizon).all()


def test_an_action_that_is_rewarded_later_is_taken(climbed):
    assert (times(climbed[1], Rung.LATE_ACTION) > 0.95).all()


def test_an_action_that_depends_on_the_observation_is_taken(climbed):
    assert (times(climbed[1], Rung.MATCH) > 0.95 * LADDER.horizon).all()


def test_what_the_task_pays_is_done_by_both_seats(climbed):
    assert (times(climbed[1], Rung.MATCH, member=TASK) > 0.95 * LADDER.horizon).all()
    assert climbed[1].task_return[TASK] > 0.95 * LADDER.horizon * 2


def test_what_is_not_rewarded_is_not_learned(climbed):
    share = times(climbed[1], Rung.MATCH, member=Rung.STEP) / LADDER.horizon
    assert (np.abs(share - 0.5) < 0.15).all()


def test_only_a_recurrent_learner_remembers_a_bit(climbed, kind):
    remembered = climbed[1].events[np.array(MEMBERS) == Rung.MEMORY][:, :, Rung.MEMORY]
    if kind == "feed-forward":
        assert (np.abs(remembered - 0.5) < 0.15).all()
    else:
        # Now and then one with a GRU never stops guessing; of 24 with a minGRU all remembered.
        assert (remembered > 0.95).all(axis=1).mean() >= (0.75 if kind == "GRU" else 1.0)


@pytest.fixture(scope="module")
def opposed():
    """Two learners a member: one is rewarded for action 1, the other for action 0.

    In the second member it is the other way round.
    """
    opposite = jnp.array([[1.0, -1.0], [-1.0, 1.0]])
    events = jnp.zeros((2, 2, len(Rung))).at[:, :, Rung.ACTION].set(opposite)
    weights = RewardWeights(events, jnp.zeros((2, 2)), jnp.zeros_like(events))
    return train(CONFIG, Algorithm(TWO_LEARNERS), weights, 60)


def test_two_learners_with_opposite_rewards_each_get_their_own(opposed):
    share = opposed[1].events[:, :, Rung.ACTION] / LADDER.horizon
    assert np.allclose(share, [[1, 0], [0, 1]], atol=0.05)


def test_each_of_two_learners_plays_in_either_seat_half_of_the_time(opposed):
    share = opposed[1].events[:, :, Rung.RIGHT] / LADDER.horizon
    assert np.allclose(share, 0.5, atol=0.1)
    assert np.allclose(share.sum(axis=1), 1)
