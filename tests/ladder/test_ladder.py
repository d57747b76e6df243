"""Learners climb a ladder of tiny games: each member of a population wants another kind of event of the same game."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.network_config import NetworkConfig
from cochef.learning.collect import Seating
from cochef.learning.config import Schedule, TrainingConfig
from cochef.learning.trainer import Recipe, Trainer, Utility
from tests.ladder.game import Ladder, Rung

GAME = Ladder()
DISCOUNT = 0.8
TASK = len(Rung)  # the member that wants the task's reward, after one for every rung
# A turn of 10 steps breaks off in an episode of 4, and so do a recurrent learner's chunks of 5.
CONFIG = TrainingConfig(
    kitchens=64,
    steps=10,
    scattered=0.0,
    epochs=4,
    minibatches=2,
    chunk=5,
    learning_rate=Schedule(5e-3, 5e-4, 60_000),
    entropy=Schedule(0.01, 0.01, 1),
    discount=DISCOUNT,
    network=NetworkConfig(hidden=(16,)),
)
MEMBERS = (*range(len(Rung) + 1), *[Rung.MEMORY] * 7)  # what each wants: a rung, or the task; the last one often
NETWORKS = {"feed-forward": NetworkConfig(hidden=(16,)), "recurrent": NetworkConfig(hidden=(16,), memory=16)}


def train(config, recipe, utility, iterations):
    """The population at the end, and the mean progress of the last turns (two have as many steps as whole episodes)."""
    trainer = Trainer(GAME, recipe, config, utility, jax.random.key(0))
    training, reports = trainer.begin(), []
    for iteration in range(iterations):
        training, progress = trainer.iterate(training, iteration)
        reports.append(progress)
    return training, jax.tree.map(lambda *leaves: np.mean(leaves, axis=0), *reports[-4:])


@pytest.fixture(scope="module", params=NETWORKS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def climbed(kind):
    wants = jnp.broadcast_to(jnp.eye(len(Rung) + 1)[jnp.array(MEMBERS)][:, None], (len(MEMBERS), 2, len(Rung) + 1))
    utility = Utility(wants[..., :-1], wants[..., -1], jnp.zeros_like(wants[..., :-1]))
    return train(replace(CONFIG, network=NETWORKS[kind]), Recipe(), utility, 120)


@pytest.fixture(scope="module")
def values(climbed):
    """Of each member, for episodes of all possible signals: [members, step, episode], and the signals of them."""
    signals = jnp.stack(jnp.meshgrid(*[jnp.arange(2)] * GAME.horizon, indexing="ij")).reshape(GAME.horizon, -1)
    elapsed = jnp.broadcast_to(jnp.arange(GAME.horizon)[:, None], signals.shape)
    views = jnp.moveaxis(GAME.view(elapsed, signals[None])[0], 0, -1)
    begins = elapsed == 0

    def judge(learner):
        found, _ = learner.critic.unroll(views, begins, learner.critic.begin(signals.shape[1]))
        return learner.normaliser.denormalise(found[..., 0])

    learners = jax.tree.map(lambda leaf: leaf[:, 0], climbed[0].learners)
    return np.asarray(jax.vmap(judge)(learners)), np.asarray(signals)


def times(progress, rung, member=None):
    """How often an episode has what its learner wants."""
    return progress.events[rung if member is None else member, :, rung]


def test_the_value_of_a_constant_reward_is_learnt(values):
    found, _ = values
    wanted = [sum(DISCOUNT**later for later in range(GAME.horizon - step)) for step in range(GAME.horizon)]
    assert np.allclose(found[Rung.STEP], np.array(wanted)[:, None], atol=0.1)


def test_the_value_depends_on_the_observation(values):
    found, signals = values
    for step in range(GAME.horizon):
        expected = signals[step] + sum(0.5 * DISCOUNT**later for later in range(1, GAME.horizon - step))
        assert np.allclose(found[Rung.SIGNAL, step], expected, atol=0.15)


def test_a_late_reward_is_foreseen_and_discounted_by_every_step(values):
    found, signals = values
    wanted = DISCOUNT ** (GAME.horizon - 1) * signals[0]
    assert np.allclose(found[Rung.LATE_SIGNAL, 0], wanted, atol=0.1)


def test_only_a_critic_with_a_memory_knows_at_the_last_step_what_was_shown_at_the_first(values, kind):
    found, signals = values
    last = found[Rung.LATE_SIGNAL, -1]
    assert np.allclose(last, signals[0] if kind == "recurrent" else 0.5, atol=0.2)


def test_a_rewarded_action_is_taken(climbed):
    assert (times(climbed[1], Rung.ACTION) > 0.97 * GAME.horizon).all()


def test_an_action_that_is_rewarded_later_is_taken(climbed):
    assert (times(climbed[1], Rung.LATE_ACTION) > 0.95).all()


def test_an_action_that_depends_on_the_observation_is_taken(climbed):
    assert (times(climbed[1], Rung.MATCH) > 0.95 * GAME.horizon).all()


def test_what_the_task_pays_is_done_by_both_seats(climbed):
    assert (times(climbed[1], Rung.MATCH, member=TASK) > 0.95 * GAME.horizon).all()
    assert climbed[1].task[TASK] > 0.95 * GAME.horizon * 2


def test_what_is_not_rewarded_is_not_learnt(climbed):
    assert (np.abs(times(climbed[1], Rung.MATCH, member=Rung.STEP) / GAME.horizon - 0.5) < 0.15).all()


def test_only_a_learner_with_a_memory_remembers_a_bit(climbed, kind):
    remembered = climbed[1].events[np.array(MEMBERS) == Rung.MEMORY][:, :, Rung.MEMORY]
    if kind == "recurrent":
        assert (remembered > 0.95).all(axis=1).mean() >= 0.75  # now and then one never stops guessing
    else:
        assert (np.abs(remembered - 0.5) < 0.15).all()


@pytest.fixture(scope="module")
def opposed():
    """Two learners a member: in one, role 0 wants action 1 and role 1 action 0; in the other it is the other way."""
    wants = jnp.zeros((2, 2, len(Rung))).at[:, :, Rung.ACTION].set(jnp.array([[1.0, -1.0], [-1.0, 1.0]]))
    utility = Utility(wants, jnp.zeros((2, 2)), jnp.zeros_like(wants))
    return train(CONFIG, Recipe(Seating.PAIR), utility, 60)


def test_two_learners_with_opposite_wishes_each_get_their_own(opposed):
    share = opposed[1].events[:, :, Rung.ACTION] / GAME.horizon
    assert np.allclose(share, [[1, 0], [0, 1]], atol=0.05)


def test_each_of_two_learners_plays_in_either_seat_half_of_the_time(opposed):
    share = opposed[1].events[:, :, Rung.RIGHT] / GAME.horizon
    assert np.allclose(share, 0.5, atol=0.1)
    assert np.allclose(share.sum(axis=1), 1)
